package host

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// name is what the host device is called in options, errors and reports.
const name = "cpu"

// Device is the host as a device.Device. All methods may be called from any
// goroutine.
type Device struct {
	ctx    context.Context // ends launches when the opener's context ends
	memory allocator
	closed atomic.Bool

	mu      sync.Mutex
	streams map[*stream]struct{}
}

var _ device.Device = (*Device)(nil)

// Option changes how New makes a device.
type Option func(*Device)

// WithAllocator makes the device allocate from a, which must give out host
// memory. Closing the device does not close a.
func WithAllocator(a memory.Allocator) Option {
	return func(d *Device) { d.memory.inner = a }
}

// WithContext makes launches on the device end with ctx: their functions get a
// context that ends with it, and the stream's failure is then an ErrCanceled.
// Copies and calls are not cut short.
func WithContext(ctx context.Context) Option {
	return func(d *Device) { d.ctx = ctx }
}

// New makes a host device. It costs nothing but memory for its bookkeeping, so
// that a program may have many.
func New(opts ...Option) *Device {
	d := &Device{ctx: context.Background(), streams: make(map[*stream]struct{})}
	d.memory.device = d
	for _, o := range opts {
		o(d)
	}
	if d.memory.inner == nil {
		d.memory.inner = newPool()
	}
	return d
}

// Name is "cpu".
func (d *Device) Name() string { return name }

// Place is memory.Host.
func (d *Device) Place() memory.Place { return memory.Host }

// Close waits for the work of all streams, closes them and gives cached memory
// back. Buffers that are still held stay valid until their Release. Closing
// twice is allowed; the error is always nil, as failures belong to streams.
func (d *Device) Close() error {
	d.closed.Store(true)
	d.mu.Lock()
	open := make([]*stream, 0, len(d.streams))
	for s := range d.streams {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		_ = s.Close()
	}
	d.memory.Trim()
	return nil
}

// alive is an ErrClosed once the device is closed.
func (d *Device) alive(call string) error {
	if d.closed.Load() {
		return device.Errorf(device.ErrClosed, name, call, "the device is closed")
	}
	return nil
}

// mismatch is an ErrMismatch of a call on the device.
func mismatch(call, format string, args ...any) error {
	return device.Errorf(device.ErrMismatch, name, call, format, args...)
}
