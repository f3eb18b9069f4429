package cuda

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/volley-go/volley/device"
)

// Flags of cuEventCreate and cuStreamCreate.
const (
	eventBlocking     = 1 // who waits sleeps
	eventUntimed      = 2
	streamNonBlocking = 1 // runs beside the default stream of other libraries
)

// events keeps CUevents for reuse. They are all destroyed with the device.
type events struct {
	flags uint32

	mu   sync.Mutex
	free []handle
	all  []handle
}

// get gives an event; the device's context must be current.
func (p *events) get(drv *driver) (handle, code) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		e := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return e, success
	}
	p.mu.Unlock()
	e, c := drv.eventCreate(p.flags)
	if c != success {
		return 0, c
	}
	p.mu.Lock()
	p.all = append(p.all, e)
	p.mu.Unlock()
	return e, success
}

// put takes an event back.
func (p *events) put(e handle) {
	if e == 0 {
		return
	}
	p.mu.Lock()
	p.free = append(p.free, e)
	p.mu.Unlock()
}

// destroy destroys all events; the device's context must be current.
func (p *events) destroy(drv *driver) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.all {
		_ = drv.eventDestroy(e) // nobody waits for it any more
	}
	p.all, p.free = nil, nil
}

// spin is how long waiting asks again and again before it sleeps. A sleeper is
// woken some 50 µs late, as long as many a kernel takes; where there are
// processors to spare one of them may ask for longer than most calls last. Those
// that this process may use count: GOMAXPROCS follows its affinity and its cgroup.
var spin = func() time.Duration {
	if runtime.GOMAXPROCS(0) < 8 {
		return 30 * time.Microsecond
	}
	return 2 * time.Millisecond
}()

// await waits until the GPU has reached an event.
func (d *Device) await(e handle) code {
	return d.in(func() code {
		if c := d.poll(e); c != errorNotReady {
			return c
		}
		return d.lib.driver.eventSynchronize(e)
	})
}

// poll asks for an event for a short while.
func (d *Device) poll(e handle) code {
	for begin := time.Now(); ; {
		c := d.lib.driver.eventQuery(e)
		if c != errorNotReady || time.Since(begin) > spin {
			return c
		}
	}
}

// awaitContext is await until ctx ends. done is called once, when nothing waits
// for the event any more, which may be after the return.
func (d *Device) awaitContext(ctx context.Context, call string, e handle, done func()) error {
	if ctx.Done() == nil {
		defer done()
		return d.check(call, d.await(e))
	}
	if c := d.in(func() code { return d.poll(e) }); c != errorNotReady {
		defer done()
		return d.check(call, c)
	}
	reached := make(chan code, 1)
	go func() {
		defer done()
		reached <- d.await(e)
	}()
	select {
	case c := <-reached:
		return d.check(call, c)
	case <-ctx.Done():
		return device.Canceled(ctx, d.name, call)
	}
}
