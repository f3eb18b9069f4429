package kerneltest

import (
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/memory"
)

// tally wraps an allocator: it counts what is live, fills blocks with garbage
// when they are given out and when they come back, and fails on demand.
type tally struct {
	memory.Allocator
	live   atomic.Int64 // blocks given out and not yet back
	calls  atomic.Int64 // allocations so far
	failAt atomic.Int64 // the call that fails, counting from 1; 0 for none
	mu     sync.Mutex
	peak   int64
	bytes  int64
}

// Allocate gives out a block full of garbage, or fails if its turn has come.
func (a *tally) Allocate(size int64) (memory.Block, error) {
	if n := a.calls.Add(1); n == a.failAt.Load() {
		return memory.Block{}, &memory.OutOfMemory{Place: a.Place(), Requested: size, InUse: -1, Limit: -1}
	}
	b, err := a.Allocator.Allocate(size)
	if err != nil {
		return b, err
	}
	garbage(b.Bytes, 0xA5)
	a.live.Add(1)
	a.mu.Lock()
	a.bytes += size
	a.peak = max(a.peak, a.bytes)
	a.mu.Unlock()
	return b, nil
}

// Free takes a block back and fills it with other garbage.
func (a *tally) Free(b memory.Block) {
	garbage(b.Bytes, 0xDD)
	a.live.Add(-1)
	a.mu.Lock()
	a.bytes -= b.Size
	a.mu.Unlock()
	a.Allocator.Free(b)
}

func garbage(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// testDevice is a device whose memory is counted.
type testDevice struct {
	device.Device
	memory *tally
}

// newTestDevice counts the memory of a device; guarded, a host device gets
// memory whose every block ends against unmapped memory.
func newTestDevice(d device.Device, guarded bool) *testDevice {
	m := d.Memory()
	if guarded && d.Place() == memory.Host {
		m = guard.New(guard.Tail)
	}
	return &testDevice{Device: d, memory: &tally{Allocator: m}}
}

// close tells what went wrong round the blocks of guarded memory.
func (a *tally) close() error {
	if g, guarded := a.Allocator.(*guard.Allocator); guarded {
		return g.Close()
	}
	return nil
}

// Memory is the counted allocator.
func (d *testDevice) Memory() memory.Allocator { return d.memory }

// NewStream makes a stream that belongs to the counted device.
func (d *testDevice) NewStream() (device.Stream, error) {
	s, err := d.Device.NewStream()
	if err != nil {
		return nil, err
	}
	return &testStream{s, d}, nil
}

type testStream struct {
	device.Stream
	device *testDevice
}

// Device is the counted device.
func (s *testStream) Device() device.Device { return s.device }
