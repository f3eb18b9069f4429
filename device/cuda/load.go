package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/dl"
)

// oldest is the driver version that is needed: the first whose entry points
// are all those of required, and the first that runs on compute capability 8.0.
const oldest = 11000

// library is a driver with the contexts that are in use of it.
type library struct {
	driver  *driver
	version int

	mu       sync.Mutex
	contexts map[int]*sharedContext // by ordinal
	devices  map[*Device]struct{}   // open ones
}

// newLibrary initialises a driver and looks whether it will do.
func newLibrary(d *driver) (*library, error) {
	v, c := d.version()
	if err := d.failure("cuda", "cuDriverGetVersion", c); err != nil {
		return nil, err
	}
	if v < oldest {
		return nil, device.Errorf(device.ErrUnavailable, "cuda", "load", "%s is the driver of CUDA %s, and CUDA %s or later is needed",
			d.library, versionText(v), versionText(oldest))
	}
	if c := d.init(); c != success {
		return nil, &device.Error{Device: "cuda", Call: "cuInit", Code: int(c), Text: d.library + ": " + d.text(c), Kind: device.ErrUnavailable}
	}
	return &library{driver: d, version: v, contexts: map[int]*sharedContext{}, devices: map[*Device]struct{}{}}, nil
}

// loaded are the libraries of this process by the paths asked for: a driver is
// initialised once and never unloaded.
var loaded struct {
	sync.Mutex
	libraries map[string]*library
}

// load finds the driver of this machine, or the one at path if that is not "".
// A failure is not kept: a driver may come while a program runs.
func load(path string) (*library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.libraries[path]; l != nil {
		return l, nil
	}
	d, err := provide(path)
	if err != nil {
		return nil, err
	}
	l, err := newLibrary(d)
	if err != nil {
		return nil, err
	}
	if loaded.libraries == nil {
		loaded.libraries = map[string]*library{}
	}
	loaded.libraries[path] = l
	return l, nil
}

// loadDriver loads the driver's shared library.
func loadDriver(path string) (*driver, error) {
	names := dl.CUDA(runtime.GOOS)
	if path != "" {
		names = []string{path}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, &device.Error{Device: "cuda", Call: "load", Kind: device.ErrUnavailable, Cause: err,
			Text: fmt.Sprintf("no CUDA driver here: %v", err)}
	}
	d, err := bind(lib)
	if err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return d, nil
}

// versionText is a version as people write it: 12090 is 12.9.
func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// sharedContext is the primary context of a GPU, retained while anything here
// uses it.
type sharedContext struct {
	ordinal int
	dev     int32
	handle  handle
	users   int // guarded by library.mu
	lost    lostDevice
}

// retain gives the primary context of a GPU.
func (l *library) retain(name string, ordinal int) (*sharedContext, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx := l.contexts[ordinal]; ctx != nil {
		if e := ctx.lost.Load(); e != nil {
			return nil, e
		}
		ctx.users++
		return ctx, nil
	}
	dev, c := l.driver.deviceGet(ordinal)
	if c != success {
		return nil, l.driver.failure(name, "cuDeviceGet", c)
	}
	h, c := l.driver.primaryRetain(dev)
	if c != success {
		return nil, l.driver.failure(name, "cuDevicePrimaryCtxRetain", c)
	}
	ctx := &sharedContext{ordinal: ordinal, dev: dev, handle: h, users: 1}
	l.contexts[ordinal] = ctx
	return ctx, nil
}

// release undoes retain. A lost context is reset with its last user, so that
// the GPU can be opened again where the driver still lets it.
func (l *library) release(ctx *sharedContext) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.users--; ctx.users > 0 {
		return
	}
	delete(l.contexts, ctx.ordinal)
	if ctx.lost.Load() != nil && l.driver.primaryReset != nil {
		_ = l.driver.primaryReset(ctx.dev) // of a lost GPU: what it returns is the loss
	}
	_ = l.driver.primaryRelease(ctx.dev)
}

// context is the context of a GPU if it is in use, for copies between two.
func (l *library) context(ordinal int) (*sharedContext, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, ok := l.contexts[ordinal]
	return ctx, ok
}

// inFlight names the launches on a context that are not known to be done, the
// oldest of each stream first.
func (l *library) inFlight(ctx *sharedContext) []string {
	l.mu.Lock()
	devices := make([]*Device, 0, len(l.devices))
	for d := range l.devices {
		if d.context == ctx {
			devices = append(devices, d)
		}
	}
	l.mu.Unlock()
	var all []launched
	for _, d := range devices {
		all = append(all, d.launches()...)
	}
	slices.SortFunc(all, func(a, b launched) int { return int(a.number - b.number) })
	var names []string
	for _, x := range all {
		names = append(names, x.name)
	}
	return names
}
