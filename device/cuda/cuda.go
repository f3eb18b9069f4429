package cuda

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// lostDevice is the ErrLost of a context once it is lost.
type lostDevice = atomic.Pointer[device.Error]

// errorTornDown stands for a driver call that was not made, since the device is
// closed and given back. It is no CUresult.
const errorTornDown code = -1

// Device is an NVIDIA GPU as a device.Device. All methods may be called from
// any goroutine. Two of the same GPU share its context: when one loses it, so
// has the other.
type Device struct {
	lib     *library
	context *sharedContext
	name    string
	limits  limits
	options options

	memory  memory.Allocator
	pinned  memory.Allocator
	blocks  deviceMemory         // what memory allocates from in the end
	keepers []keeper             // caches among the allocators
	kept    func() (int64, code) // device memory that is kept for reuse; the context is current
	timed   events               // for events
	marks   events               // for waiting
	free    freeMemory

	closed atomic.Bool
	refs   atomic.Int64 // of Open, of blocks that are out, of calls that run; the last gives the context back

	mu      sync.Mutex
	streams map[*stream]struct{}
	modules map[*module]struct{}
	peers   map[int32]bool // GPUs whose memory kernels may use
	atClose []func()
}

var _ device.Device = (*Device)(nil)

// keeper is a cache that can be emptied.
type keeper interface{ Trim() int64 }

// options are what Open can be told.
type options struct {
	library string
	nvrtc   string
	limit   int64
	compile func() (*compiler, error) // in place of the machine's NVRTC, for tests
}

// Option changes how Open and List find a device or what Open makes.
type Option func(*options)

// WithLibrary makes the driver be loaded from path and from nowhere else, as the
// environment variable VOLLEY_CUDA_LIBRARY does.
func WithLibrary(path string) Option { return func(o *options) { o.library = path } }

// WithNVRTC makes the run-time compiler be loaded from path and from nowhere
// else, as the environment variable VOLLEY_NVRTC_LIBRARY does.
func WithNVRTC(path string) Option { return func(o *options) { o.nvrtc = path } }

// WithMemoryLimit lets callers hold up to so many bytes of the device's memory
// at a time; beyond it an allocation is an ErrOutOfMemory.
func WithMemoryLimit(bytes int64) Option { return func(o *options) { o.limit = bytes } }

func collect(opts []Option) options {
	o := options{limit: -1, library: os.Getenv("VOLLEY_CUDA_LIBRARY"), nvrtc: os.Getenv("VOLLEY_NVRTC_LIBRARY")}
	for _, set := range opts {
		set(&o)
	}
	return o
}

// Ordinal is the number in a name: 1 for "cuda:1", 0 for "cuda".
func Ordinal(name string) (int, error) {
	if name == "cuda" {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(name, "cuda:")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || strconv.Itoa(n) != digits {
		return 0, device.Errorf(device.ErrUnavailable, name, "open", "the name of a CUDA device is cuda:0, cuda:1 and so on")
	}
	return n, nil
}

// Open opens the GPU with that number, as the driver counts them
// (CUDA_VISIBLE_DEVICES hides and orders them). Where there is no driver, a
// driver that is too old, or no such GPU, the error is an ErrUnavailable that
// says which.
func Open(ordinal int, opts ...Option) (*Device, error) {
	o := collect(opts)
	lib, err := load(o.library)
	if err != nil {
		return nil, err
	}
	return lib.open(ordinal, o)
}

func (l *library) open(ordinal int, o options) (*Device, error) {
	name := fmt.Sprintf("cuda:%d", ordinal)
	count, err := l.count()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= count {
		return nil, device.Errorf(device.ErrUnavailable, name, "open", "there are %d CUDA devices, numbered from 0", count)
	}
	context, err := l.retain(name, ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{lib: l, context: context, name: name, options: o,
		streams: map[*stream]struct{}{}, modules: map[*module]struct{}{}, peers: map[int32]bool{}}
	d.timed.flags, d.marks.flags = eventBlocking, eventBlocking|eventUntimed
	d.refs.Store(1)
	if d.limits, err = l.limits(name, context.dev); err == nil {
		err = d.openMemory()
	}
	if err != nil {
		l.release(context)
		return nil, err
	}
	l.mu.Lock()
	l.devices[d] = struct{}{}
	l.mu.Unlock()
	return d, nil
}

// count is the number of GPUs; none is an ErrUnavailable.
func (l *library) count() (int, error) {
	n, c := l.driver.deviceCount()
	if c == errorNoDevice || c == success && n == 0 {
		return 0, &device.Error{Device: "cuda", Call: "cuDeviceGetCount", Code: int(c), Kind: device.ErrUnavailable,
			Text: fmt.Sprintf("%s finds no CUDA device", l.driver.library)}
	}
	return n, l.driver.failure("cuda", "cuDeviceGetCount", c)
}

// Name is "cuda:0" for the first GPU.
func (d *Device) Name() string { return d.name }

// Place is the GPU's memory.
func (d *Device) Place() memory.Place {
	return memory.Place{Type: memory.CUDA, ID: int32(d.context.ordinal)}
}

// acquire keeps the context for a while; false once the device is given back.
func (d *Device) acquire() bool {
	for {
		n := d.refs.Load()
		if n == 0 {
			return false
		}
		if d.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release undoes acquire.
func (d *Device) release() {
	if d.refs.Add(-1) == 0 {
		d.tearDown()
	}
}

// in runs f, which calls the driver, with the device's context on the thread.
// On a lost device nothing is called.
func (d *Device) in(f func() code) code {
	if e := d.context.lost.Load(); e != nil {
		return code(e.Code)
	}
	if !d.acquire() {
		return errorTornDown
	}
	defer d.release()
	return d.enter(f)
}

// enter is in for a caller that keeps the context.
func (d *Device) enter(f func() code) code {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c := d.lib.driver.ctxPush(d.context.handle); c != success {
		return c
	}
	c := f()
	if popped := d.lib.driver.ctxPop(); c == success {
		c = popped
	}
	return c
}

// alive is an ErrClosed once the device is closed, and an ErrLost once it is lost.
func (d *Device) alive(call string) error {
	if d.closed.Load() {
		return d.closedError(call)
	}
	return d.lostError()
}

// lostError is the loss of the device, or nil.
func (d *Device) lostError() error {
	if e := d.context.lost.Load(); e != nil {
		return e
	}
	return nil
}

// Close waits for the work of all streams, closes them, unloads the modules and
// gives memory back that was kept. Buffers that are still held stay valid until
// their Release; the context is given up with the last. Closing twice is
// allowed; the error is always nil, as failures belong to streams.
func (d *Device) Close() error {
	d.mu.Lock()
	if !d.closed.CompareAndSwap(false, true) {
		d.mu.Unlock()
		return nil
	}
	var streams []*stream
	for s := range d.streams {
		streams = append(streams, s)
	}
	var modules []*module
	for m := range d.modules {
		modules = append(modules, m)
	}
	d.mu.Unlock()
	for _, s := range streams {
		_ = s.Close() // its failure is the stream's
	}
	for _, m := range modules {
		_ = m.Close()
	}
	for _, f := range d.atClose { // nobody adds to it once the device is closed
		_ = d.in(func() code { f(); return success })
	}
	d.trim()
	d.lib.mu.Lock()
	delete(d.lib.devices, d)
	d.lib.mu.Unlock()
	d.release()
	return nil
}

// trim empties the caches of device and pinned memory.
func (d *Device) trim() {
	for _, k := range d.keepers {
		k.Trim()
	}
}

// tearDown gives back what is left and then the context.
func (d *Device) tearDown() {
	_ = d.enter(func() code { // nobody is left to tell; on a lost device the driver frees what is on the host
		d.timed.destroy(d.lib.driver)
		d.marks.destroy(d.lib.driver)
		d.blocks.destroy()
		return success
	})
	d.lib.release(d.context)
}
