package devicetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Fake is a device that does its work on another and fails on request: out of
// memory, lost for good, slow. Without faults it behaves as the other does.
// Faults may be set at any time, from any goroutine.
//
// To reach every failure of an operation, run it once, read Allocations and
// Calls, and run it again for each number below.
type Fake struct {
	inner device.Device

	allocations, calls atomic.Int64
	failAfter          atomic.Int64 // allocations; -1: never
	loseAfter          atomic.Int64 // calls; -1: never
	limit              atomic.Int64 // bytes; -1: none
	inUse              atomic.Int64
	delay              atomic.Int64 // of a copy, in nanoseconds
	lost               atomic.Pointer[device.Error]
}

var _ device.Device = (*Fake)(nil)

// NewFake puts a Fake without faults round inner, which it closes when it is
// closed.
func NewFake(inner device.Device) *Fake {
	f := &Fake{inner: inner}
	f.failAfter.Store(-1)
	f.loseAfter.Store(-1)
	f.limit.Store(-1)
	return f
}

// FailAllocations lets n more allocations succeed, of device and pinned memory
// together; every one after them is an ErrOutOfMemory. A negative n ends that.
func (f *Fake) FailAllocations(n int64) {
	if n >= 0 {
		n += f.allocations.Load()
	}
	f.failAfter.Store(n)
}

// LimitMemory makes allocations beyond that many bytes in use, of device and
// pinned memory together, an ErrOutOfMemory. A negative number ends that.
func (f *Fake) LimitMemory(bytes int64) { f.limit.Store(bytes) }

// LoseAfter lets n more pieces of work (copies, fills, launches, calls of any
// stream) run. The next one loses the device: it and everything later fails
// with an ErrLost that names it. A device stays lost.
func (f *Fake) LoseAfter(n int64) {
	if n >= 0 {
		n += f.calls.Load()
	}
	f.loseAfter.Store(n)
}

// DelayCopies makes every copy take that much longer. Waiting for one still
// ends with the waiter's context.
func (f *Fake) DelayCopies(d time.Duration) { f.delay.Store(int64(d)) }

// Allocations is how many blocks were asked for since the beginning, refused
// ones included.
func (f *Fake) Allocations() int64 { return f.allocations.Load() }

// Calls is how many pieces of work were given to streams since the beginning.
func (f *Fake) Calls() int64 { return f.calls.Load() }

// InUse is the bytes of the blocks that are out.
func (f *Fake) InUse() int64 { return f.inUse.Load() }

// Name is the inner device's.
func (f *Fake) Name() string { return f.inner.Name() }

// Place is the inner device's.
func (f *Fake) Place() memory.Place { return f.inner.Place() }

// Info is the inner device's.
func (f *Fake) Info() device.Info { return f.inner.Info() }

// Memory is the inner device's, with the faults that were asked for.
func (f *Fake) Memory() memory.Allocator { return &allocator{f, f.inner.Memory()} }

// Pinned is the inner device's, with the faults that were asked for.
func (f *Fake) Pinned() memory.Allocator { return &allocator{f, f.inner.Pinned()} }

// NewStream makes a stream; on a lost device it is an ErrLost.
func (f *Fake) NewStream() (device.Stream, error) {
	if err := f.failure(); err != nil {
		return nil, err
	}
	s, err := f.inner.NewStream()
	if err != nil {
		return nil, err
	}
	return &stream{f, s}, nil
}

// NewEvent makes an event; on a lost device it is an ErrLost.
func (f *Fake) NewEvent() (device.Event, error) {
	if err := f.failure(); err != nil {
		return nil, err
	}
	return f.inner.NewEvent()
}

// LoadModule loads code on the inner device; on a lost device it is an ErrLost.
func (f *Fake) LoadModule(ctx context.Context, src device.Source) (device.Module, error) {
	if err := f.failure(); err != nil {
		return nil, err
	}
	m, err := f.inner.LoadModule(ctx, src)
	if err != nil {
		return nil, err
	}
	return &module{m, f}, nil
}

// Close closes the inner device. It works on a lost device too.
func (f *Fake) Close() error { return f.inner.Close() }

// failure is the ErrLost of a lost device, else nil.
func (f *Fake) failure() error {
	if e := f.lost.Load(); e != nil {
		return e
	}
	return nil
}

// allocator is memory with faults.
type allocator struct {
	fake  *Fake
	inner memory.Allocator
}

func (a *allocator) Place() memory.Place { return a.inner.Place() }

func (a *allocator) Allocate(size int64) (memory.Block, error) {
	f := a.fake
	n := f.allocations.Add(1)
	if err := f.failure(); err != nil {
		return memory.Block{}, err
	}
	if after := f.failAfter.Load(); after >= 0 && n > after {
		return memory.Block{}, &memory.OutOfMemory{Place: a.Place(), Requested: size, InUse: f.InUse(), Limit: -1}
	}
	used := f.inUse.Add(max(0, size))
	if limit := f.limit.Load(); limit >= 0 && used > limit {
		f.inUse.Add(-size)
		return memory.Block{}, &memory.OutOfMemory{Place: a.Place(), Requested: size, InUse: used - size, Limit: limit}
	}
	b, err := a.inner.Allocate(size)
	if err != nil {
		f.inUse.Add(-max(0, size))
	}
	return b, err
}

func (a *allocator) Free(b memory.Block) {
	a.fake.inUse.Add(-b.Size)
	a.inner.Free(b)
}
