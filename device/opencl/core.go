package opencl

import (
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// core is what all openings of one device share: a context, a queue for the
// allocators' own commands, and the memory that is kept for reuse. It lives
// until the last opening is closed and the last block given back.
type core struct {
	drv     *driver
	proc    *processor
	context handle
	queue   handle
	lost    atomic.Pointer[device.Error]
	inUse   atomic.Int64 // bytes of the device's memory, those kept for reuse included

	pool   *memory.Caching // of device memory
	pinned *memory.Caching // of host memory
	svm    *memory.Caching // of shared virtual memory
	shared *sharedMemory   // what svm takes from

	refs, devices int // guarded by cores.mu; blocks and openings, and openings alone
}

// cores are the contexts of this process, one for each device of a system.
var cores = struct {
	mu   sync.Mutex
	live map[coreKey]*core
}{live: make(map[coreKey]*core)}

type coreKey struct {
	system *system
	index  int
}

func (c *core) key() coreKey { return coreKey{c.proc.system, c.proc.index} }

// openCore finds the core of a device or makes it, and counts an opening.
func openCore(p *processor) (*core, error) {
	cores.mu.Lock()
	defer cores.mu.Unlock()
	c := cores.live[coreKey{p.system, p.index}]
	if c == nil {
		var err error
		if c, err = newCore(p); err != nil {
			return nil, err
		}
		cores.live[c.key()] = c
	}
	c.refs++
	c.devices++
	return c, nil
}

func newCore(p *processor) (*core, error) {
	c := &core{drv: p.drv, proc: p}
	defer restoreSignals(p.drv)()
	var st status
	if c.context, st = p.drv.createContext(p.id); st != success {
		return nil, c.failed("clCreateContext", st)
	}
	if c.queue, st = p.drv.createCommandQueue(c.context, p.id, 0); st != success {
		p.drv.releaseContext(c.context)
		return nil, c.failed("clCreateCommandQueue", st)
	}
	keep := p.info.Memory / 2
	if p.info.Emulated {
		keep = hostCache(p.info.Memory)
	}
	kept := hostCache(p.info.Memory)
	if p.platformText == oclgrind { // which is to see every access to what was freed, and after each kernel goes over all memory there is
		keep, kept = 0, 0
	}
	c.pool = memory.NewCaching(&deviceMemory{c}, keep)
	c.shared = &sharedMemory{core: c}
	c.svm = memory.NewCaching(c.shared, kept)
	c.pinned = memory.NewCaching(&pinnedMemory{c}, kept)
	return c, nil
}

// find is the core of a place, if there is one of this driver.
func (c *core) find(place memory.Place) *core {
	if place.Type != memory.OpenCL {
		return nil
	}
	if int(place.ID) == c.proc.index {
		return c
	}
	cores.mu.Lock()
	defer cores.mu.Unlock()
	return cores.live[coreKey{c.proc.system, int(place.ID)}]
}

// closeDevice ends an opening.
func (c *core) closeDevice() {
	cores.mu.Lock()
	c.devices--
	last := c.devices == 0
	cores.mu.Unlock()
	if last {
		c.trim()
	}
	c.release()
}

func (c *core) trim() int64 { return c.pool.Trim() + c.pinned.Trim() + c.svm.Trim() }

func (c *core) retain() {
	cores.mu.Lock()
	c.refs++
	cores.mu.Unlock()
}

// release ends the core with its last reference.
func (c *core) release() {
	cores.mu.Lock()
	c.refs--
	last := c.refs == 0
	if last && cores.live[c.key()] == c {
		delete(cores.live, c.key())
	}
	cores.mu.Unlock()
	if last {
		c.drv.releaseCommandQueue(c.queue)
		c.drv.releaseContext(c.context)
	}
}

// unused reports that nobody has the device open.
func (c *core) unused() bool {
	cores.mu.Lock()
	defer cores.mu.Unlock()
	return c.devices == 0
}

// failed is the error of a call of the driver.
func (c *core) failed(call string, st status) error {
	return c.failedAs(call, st, st.kind())
}

// failedAs is failed with the kind given. An ErrLost is kept: from then on
// every call on the device returns it, and the next opening of the device gets
// a context of its own.
func (c *core) failedAs(call string, st status, kind error) error {
	e := &device.Error{Device: c.proc.name, Call: call, Code: int(st), Text: st.String(), Kind: kind}
	if kind == device.ErrLost {
		c.lost.CompareAndSwap(nil, e)
		go c.forget()
	}
	return e
}

// forget takes a lost core out of those that an opening may share.
func (c *core) forget() {
	cores.mu.Lock()
	defer cores.mu.Unlock()
	if cores.live[c.key()] == c {
		delete(cores.live, c.key())
	}
}

// alive is the ErrLost of a lost device, else nil.
func (c *core) alive() error {
	if e := c.lost.Load(); e != nil {
		return e
	}
	return nil
}

// wait waits for an event, calls done, if it is not nil, and gives the event
// back.
func (c *core) wait(call string, event handle, done func()) error {
	st := c.await(event, done)
	if st == success {
		return nil
	}
	if st == waitListFailed { // what it waited for has failed, and tells why
		return c.failedAs(call, st, nil)
	}
	return c.failedAs(call, st, st.runKind())
}

// await is wait with the code that the work ended with.
func (c *core) await(event handle, done func()) status {
	st := c.drv.waitForEvent(event)
	if st != success {
		if ran, asked := c.drv.getEventStatus(event); asked == success && ran < 0 {
			st = status(ran)
		}
	}
	if done != nil {
		done()
	}
	c.drv.releaseEvent(event)
	return st
}
