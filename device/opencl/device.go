package opencl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Device is one opening of an OpenCL device. All methods may be called from
// any goroutine.
type Device struct {
	core   *core
	ctx    context.Context
	memory allocator
	pinned allocator
	closed atomic.Bool

	mu      sync.Mutex
	streams map[*stream]struct{}
	modules map[*module]struct{}
}

var _ device.Device = (*Device)(nil)

// Option changes how Open opens a device.
type Option func(*options)

type options struct {
	ctx   context.Context
	limit int64
	svm   bool
}

// WithContext makes launches on the device end with ctx: those that have not
// begun fail, and the stream's failure is then an ErrCanceled. What runs is
// not cut short, and neither are copies and calls.
func WithContext(ctx context.Context) Option {
	return func(o *options) { o.ctx = ctx }
}

// WithMemoryLimit lets the device's buffers take up to that many bytes; a
// request beyond them is an ErrOutOfMemory.
func WithMemoryLimit(bytes int64) Option {
	return func(o *options) { o.limit = bytes }
}

// List describes the devices, in the order of their numbers. Without any the
// error is an ErrUnavailable that says what was tried.
func List() ([]device.Info, error) {
	s, err := here()
	if err != nil {
		return nil, err
	}
	return s.list(), nil
}

func (s *system) list() []device.Info {
	infos := make([]device.Info, len(s.processors))
	for i, p := range s.processors {
		infos[i] = p.info
		infos[i].Features = slices.Clone(p.info.Features)
		infos[i].MemoryFree = p.info.Memory
	}
	return infos
}

// Open opens the device with a number, as List orders them: "opencl:1" is
// number 1. Without such a device the error is an ErrUnavailable that says why.
// A device may be opened several times; buffers are good on all openings of it,
// streams, events and modules belong to one.
func Open(index int, opts ...Option) (*Device, error) {
	s, err := here()
	if err != nil {
		return nil, err
	}
	return s.open(index, opts...)
}

func (s *system) open(index int, opts ...Option) (*Device, error) {
	if index < 0 || index >= len(s.processors) {
		text := fmt.Sprintf("there are %d OpenCL devices", len(s.processors))
		if len(s.refused) > 0 {
			text += "; not usable: " + strings.Join(s.refused, "; ")
		}
		return nil, device.Errorf(device.ErrUnavailable, fmt.Sprintf("opencl:%d", index), "open", "%s", text)
	}
	o := options{ctx: context.Background(), limit: -1}
	for _, opt := range opts {
		opt(&o)
	}
	if o.svm && s.processors[index].svm&svmFineGrainBuffer == 0 {
		return nil, device.Errorf(device.ErrUnsupported, s.processors[index].name, "open", "the device has no fine-grained shared virtual memory")
	}
	c, err := openCore(s.processors[index])
	if err != nil {
		return nil, err
	}
	d := &Device{core: c, ctx: o.ctx, streams: make(map[*stream]struct{}), modules: make(map[*module]struct{})}
	d.memory = allocator{c.pool, d}
	if o.limit >= 0 {
		d.memory.inner = memory.NewLimited(c.pool, o.limit)
	}
	d.pinned = allocator{c.pinned, d}
	if o.svm {
		d.pinned.inner = c.svm
	}
	return d, nil
}

// Name is "opencl:0" and so on.
func (d *Device) Name() string { return d.core.proc.name }

// Place is where the device's memory is.
func (d *Device) Place() memory.Place { return d.core.proc.place() }

// Close waits for the work of all streams, closes them and the modules, and
// gives back what is kept for reuse when no other opening of the device is
// left. Buffers that are still held stay valid until their Release. Closing
// twice is allowed; the error is always nil, as failures belong to streams.
func (d *Device) Close() error {
	if !d.closed.CompareAndSwap(false, true) {
		return nil
	}
	d.mu.Lock()
	streams, modules := slices.Collect(maps.Keys(d.streams)), slices.Collect(maps.Keys(d.modules))
	d.mu.Unlock()
	for _, s := range streams {
		_ = s.Close()
	}
	for _, m := range modules {
		_ = m.Close()
	}
	d.core.closeDevice()
	return nil
}

// alive is an ErrClosed once the device is closed, and an ErrLost once it is
// lost.
func (d *Device) alive(call string) error {
	if d.closed.Load() {
		return device.Errorf(device.ErrClosed, d.Name(), call, "the device is closed")
	}
	return d.core.alive()
}

// mismatch is an ErrMismatch of a call on the device.
func (d *Device) mismatch(call, format string, args ...any) error {
	return device.Errorf(device.ErrMismatch, d.Name(), call, format, args...)
}
