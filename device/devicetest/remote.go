package devicetest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/memory"
)

// Remote is a host device that hides its memory as a graphics card does: its
// buffers have handles and no Bytes, and only its streams reach what is in
// them. Handles are close together and say nothing of addresses at a place of
// OpenCL, and are addresses at others. It runs host functions, which see the buffers among their arguments as
// host memory.
type Remote struct {
	inner *host.Device
	place memory.Place

	mu     sync.RWMutex
	blocks map[uintptr]memory.Block
	next   uintptr
	inUse  atomic.Int64
	limit  atomic.Int64 // bytes; 0: none
}

var _ device.Device = (*Remote)(nil)

// NewRemote makes a device at a place that the host does not reach, such as
// {memory.OpenCL, 0}. Options are those of the host device inside.
func NewRemote(place memory.Place, o ...host.Option) *Remote {
	return &Remote{inner: host.New(o...), place: place, blocks: make(map[uintptr]memory.Block), next: 1 << 20}
}

// LimitMemory makes allocations beyond that many bytes in use an
// ErrOutOfMemory; 0 ends that.
func (r *Remote) LimitMemory(bytes int64) { r.limit.Store(bytes) }

// InUse is the bytes of the device's blocks that are out.
func (r *Remote) InUse() int64 { return r.inUse.Load() }

// Name is the place's.
func (r *Remote) Name() string { return r.place.String() }

// Place is the one that the device was made with.
func (r *Remote) Place() memory.Place { return r.place }

// Info is the host's under the device's name.
func (r *Remote) Info() device.Info {
	i := r.inner.Info()
	i.Name, i.Model, i.Emulated = r.Name(), "pretended device on "+i.Model, true
	return i
}

// Memory is memory without Bytes.
func (r *Remote) Memory() memory.Allocator { return remoteMemory{r} }

// Pinned is host memory.
func (r *Remote) Pinned() memory.Allocator { return r.inner.Pinned() }

// NewStream makes a stream, which is all that reaches the device's memory.
func (r *Remote) NewStream() (device.Stream, error) {
	s, err := r.inner.NewStream()
	if err != nil {
		return nil, r.own(err)
	}
	return &remoteStream{s, r}, nil
}

// NewEvent makes an event of the host.
func (r *Remote) NewEvent() (device.Event, error) {
	e, err := r.inner.NewEvent()
	return e, r.own(err)
}

// LoadModule takes host functions.
func (r *Remote) LoadModule(ctx context.Context, src device.Source) (device.Module, error) {
	m, err := r.inner.LoadModule(ctx, src)
	if err != nil {
		return nil, r.own(err)
	}
	return &remoteModule{m, r}, nil
}

// Close closes the device. Blocks that are out stay valid until they are freed.
func (r *Remote) Close() error { return r.own(r.inner.Close()) }

// own puts the device's name on an error of the host.
func (r *Remote) own(err error) error {
	if e, ok := err.(*device.Error); ok && e != nil {
		named := *e
		named.Device = r.Name()
		return &named
	}
	return err
}

// bytes is the host's view of a block, nil for a handle that is not out.
func (r *Remote) bytes(handle uintptr) []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.blocks[handle].Bytes
}

type remoteMemory struct{ device *Remote }

func (m remoteMemory) Place() memory.Place { return m.device.place }

func (m remoteMemory) Allocate(size int64) (memory.Block, error) {
	r := m.device
	used := r.inUse.Add(max(0, size))
	if limit := r.limit.Load(); limit > 0 && used > limit {
		r.inUse.Add(-max(0, size))
		return memory.Block{}, &memory.OutOfMemory{Place: r.place, Requested: size, InUse: used - size, Limit: limit}
	}
	b, err := r.inner.Memory().Allocate(size)
	if err != nil {
		r.inUse.Add(-max(0, size))
		return memory.Block{}, r.own(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	handle := r.next
	r.next += 16
	if r.place.Type != memory.OpenCL { // handles are addresses
		r.next = handle + uintptr(memory.Padded(size+1))
	}
	r.blocks[handle] = b
	return memory.Block{Handle: handle, Size: size}, nil
}

func (m remoteMemory) Free(b memory.Block) {
	r := m.device
	r.mu.Lock()
	inner, out := r.blocks[b.Handle]
	delete(r.blocks, b.Handle)
	r.mu.Unlock()
	if out {
		r.inUse.Add(-b.Size)
		r.inner.Memory().Free(inner)
	}
}
