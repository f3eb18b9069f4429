package collective

import (
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
)

// again is the latest call and what it took to run it. Programs repeat their calls, and
// one of the same operation, vectors, reduction and root is neither checked nor planned
// anew: that is most of what a short operation costs its rank. Guarded by the turn.
type again struct {
	// The call as its caller made it. The vectors are addresses, which keep nothing alive:
	// what follows from where they lie holds for whatever lies there.
	what            algorithm.Op
	reduce          uint8
	types           [2]Type
	root            int
	vectors         [2]uintptr
	lengths         [2]int
	program         *program // nil where that call cannot be repeated
	header          transport.Call
	fold            foldFunc
	width           int64
	unheard         bool   // see there
	kind            kind   // of the call, for kinds
	given, received []byte // only while it runs
	// When it is brief not each time is taken: see clock.
	took    time.Duration
	untimed int
}

// Two readings of a clock are a fifth of a short operation. So of calls in a row that take
// less than brief one in seldom is timed and stands for the others.
const (
	brief  = 2 * time.Microsecond
	seldom = 16
)

// clock says whether this call is timed.
func (a *again) clock(c *Comm) bool {
	if a.took == 0 || a.took > brief || a.untimed == seldom-1 || c.track != nil {
		a.untimed = 0
		return true
	}
	a.untimed++
	return false
}

// duration is how long the operation took that began then, or, where nobody took the time,
// when it was looked at.
func (c *Comm) duration(began time.Duration) time.Duration {
	if began == 0 {
		began = c.now.since()
	}
	if began == 0 {
		return c.again.took
	}
	c.again.took = max(1, sinceStart()-began)
	return c.again.took
}

// repeats takes the turn where nobody else has it or waits for it, and says whether the
// call is the one before.
func (c *Comm) repeats(what algorithm.Op, in, out Vector, reduce uint8, root int) (held, same bool) {
	if !c.turns.grab() {
		return false, false
	}
	a := &c.again
	from, to := uintptr(unsafe.Pointer(unsafe.SliceData(in.bytes))), uintptr(unsafe.Pointer(unsafe.SliceData(out.bytes)))
	if a.program != nil && a.what == what && a.vectors[0] == from && a.vectors[1] == to && a.lengths[0] == len(in.bytes) && a.lengths[1] == len(out.bytes) &&
		a.reduce == reduce && a.root == root && a.types[0] == in.typ && a.types[1] == out.typ {
		a.given, a.received = in.bytes, out.bytes
		return true, true
	}
	a.program, a.took = nil, 0
	a.what, a.reduce, a.root, a.types = what, reduce, root, [2]Type{in.typ, out.typ}
	a.vectors, a.lengths = [2]uintptr{from, to}, [2]int{len(in.bytes), len(out.bytes)}
	return true, false
}

// learn takes in how the call ran that repeats saw last, if that is all there is to do.
func (a *again) learn(c *Comm, r *request, t *task) {
	if t.untyped || r.call.Counts != nil || r.call.Recvs != nil || isUser(r.reduce.code) || r.reduce.average || c.latest == nil || !c.latest.written {
		return
	}
	a.program, a.header, a.fold, a.width = c.latest, c.mover.header.Call, t.fold, t.width
	a.unheard, a.kind = unheard(&a.header), kindOf(&a.header)
}

func (a *again) op() algorithm.Op { return a.what }

// run is the call once more.
func (a *again) run(c *Comm) error {
	in, out := a.given, a.received
	a.given, a.received = nil, nil
	c.now.calls.put(c.seq, &a.header)
	err := c.execute(a.program, in, out, a.width, a.fold, a.header)
	if err == nil && a.unheard && !c.kinds.repeats(a.kind) {
		err = c.confirm(&a.header)
	}
	return err
}
