package kerneltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest/internal/remote"
	"github.com/volley-go/volley/memory"
)

// newTally counts the memory of a device. Guarded, a host device gets
// memory whose every block ends against unmapped memory, another device blocks
// of garbage with a fence behind them.
func newTally(d device.Device, guarded bool) (*tally, error) {
	m := d.Memory()
	switch {
	case guarded && d.Place() == memory.Host:
		m = guard.New(guard.Tail)
	case guarded && !d.Place().HostAccessible():
		s, err := d.NewStream()
		if err != nil {
			return nil, err
		}
		m = &fenced{inner: m, stream: s}
	}
	return &tally{Allocator: m}, nil
}

// fence is how many bytes lie behind the padding of a fenced block.
const fence = 128

// fenced is device memory that the host cannot address: its blocks are garbage
// when they are given out, and bytes behind their padding must be so when they
// are given back. The device holds a block until settle looks at it, as whoever
// frees it may be a driver's own thread, which must not wait for copies.
type fenced struct {
	inner  memory.Allocator
	stream device.Stream // of its own: what runs on others has nothing to do with it
	mu     sync.Mutex
	freed  []fencedBlock
}

// fencedBlock is the block inside, and what was given out of it.
type fencedBlock struct {
	whole memory.Block
	size  int64
}

// Place is the inner allocator's.
func (a *fenced) Place() memory.Place { return a.inner.Place() }

// Allocate gives out a block of garbage.
func (a *fenced) Allocate(size int64) (memory.Block, error) {
	if size <= 0 {
		return a.inner.Allocate(size)
	}
	b, err := a.inner.Allocate(memory.Padded(size) + fence)
	if err != nil {
		return b, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	whole := memory.WrapBlock(a.Place(), b, nil)
	defer whole.Release()
	if err := errors.Join(a.stream.Fill(whole, 0, b.Size, 0xA5), a.stream.Wait(context.Background())); err != nil {
		a.inner.Free(b)
		return memory.Block{}, err
	}
	return memory.Block{Handle: b.Handle, Size: size, Tag: fencedBlock{b, size}}, nil
}

// Free keeps the block for settle.
func (a *fenced) Free(b memory.Block) {
	f, fencedIn := b.Tag.(fencedBlock)
	if !fencedIn {
		a.inner.Free(b)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.freed = append(a.freed, f)
}

// settle looks behind the blocks that were freed and hands them on.
func (a *fenced) settle() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []error
	behind := make([]byte, len(a.freed)*fence)
	host := memory.Wrap(behind, nil)
	for i, f := range a.freed {
		whole := memory.WrapBlock(a.Place(), f.whole, nil)
		all = append(all, a.stream.Copy(host, int64(i)*fence, whole, f.whole.Size-fence, fence))
		whole.Release()
	}
	all = append(all, a.stream.Wait(context.Background()))
	host.Release()
	untouched := bytes.Repeat([]byte{0xA5}, fence)
	for i, f := range a.freed {
		if !bytes.Equal(behind[i*fence:(i+1)*fence], untouched) {
			all = append(all, fmt.Errorf("bytes behind a block of %d bytes were written", f.size))
		}
		a.inner.Free(f.whole)
	}
	a.freed = a.freed[:0]
	return errors.Join(all...)
}

// Remote makes a backend on a devicetest.Remote, whose memory the host cannot
// address, of kernels for the host: each of its entries copies the arguments to
// the host, makes the call there, and copies the results back. What is built on
// kernels is tested on it as on a graphics card. Options are those of the
// Remote.
func Remote(place memory.Place, set *kernels.Set, o ...host.Option) *kernels.Backend {
	return remote.New(place, set, o...)
}
