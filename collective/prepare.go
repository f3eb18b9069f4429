package collective

import (
	"context"
	"hash/fnv"
	"math"
	"sync"
	"unsafe"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/float16"
)

// request is a checked call: the schedule's call, the vectors, and the reduction.
type request struct {
	call    algorithm.Call
	in, out Vector
	reduce  Op   // the zero Op where nothing is reduced
	latest  bool // it is the call that the Comm's again has
}

// requests are those of calls that have ended, for the next ones.
var requests = sync.Pool{New: func() any { return new(request) }}

// do runs a request, or returns what was wrong with it. held says that repeats got the
// turn for it.
func (c *Comm) do(ctx context.Context, held bool, r *request, err error) error {
	switch {
	case err != nil && held:
		c.turns.done()
		return err
	case err != nil:
		return err
	case held:
		r.latest = true
		err = c.hold(ctx, r)
	default:
		err = c.turn(ctx, c.turns.take(), r)
	}
	*r = request{} // nothing of the caller's is kept
	requests.Put(r)
	return err
}

// Handle is an operation that was started.
type Handle struct {
	done chan struct{}
	err  error
}

// begin starts a request; its place among the Comm's operations is that of the call.
func (c *Comm) begin(ctx context.Context, r *request, err error) *Handle {
	h := &Handle{done: make(chan struct{}), err: err}
	if err != nil {
		close(h.done)
		return h
	}
	ticket := c.turns.take()
	go func() {
		defer close(h.done)
		h.err = errEnded // should nobody return
		h.err = c.turn(ctx, ticket, r)
	}()
	return h
}

// Wait returns when the operation is done, with its error, or when ctx ends, with
// an ErrCanceled: the operation then goes on under the context that it was started
// with, and its vectors still belong to it.
func (h *Handle) Wait(ctx context.Context) error {
	select {
	case <-h.done:
		return h.err
	default:
	}
	select {
	case <-h.done:
		return h.err
	case <-ctx.Done():
		return device.Canceled(ctx, "", "wait for a collective operation")
	}
}

// Done is closed when the operation is done.
func (h *Handle) Done() <-chan struct{} { return h.done }

// request checks the arguments that all operations share. sized says which of the
// vectors this rank must give.
func (c *Comm) request(op algorithm.Op, in, out Vector, reduce Op, root int, counts []int64) (*request, error) {
	if root < 0 || root >= c.Size() {
		return nil, wrong(op, "root %d is not one of %d ranks", root, c.Size())
	}
	if counts != nil && len(counts) != c.Size() {
		return nil, wrong(op, "%d counts for %d ranks", len(counts), c.Size())
	}
	if err := checkCounts(op, "the count of rank %d is %d", counts); err != nil {
		return nil, err
	}
	switch op {
	case algorithm.Reduce, algorithm.AllReduce, algorithm.ReduceScatter:
		if reduce.fold == nil {
			return nil, wrong(op, "the zero Op is no reduction")
		}
	}
	if in.typ != 0 && out.typ != 0 && in.typ != out.typ {
		return nil, wrong(op, "input is %s, output %s", in.typ, out.typ)
	}
	r := requests.Get().(*request)
	r.in, r.out, r.reduce = in, out, reduce
	// The rest of a call that was not used yet is zero.
	call := &r.call
	call.Op, call.Rank, call.Size, call.Root, call.Counts, call.Deterministic = op, c.Rank(), c.Size(), root, counts, c.options.Deterministic
	call.Nodes = c.nodes
	if reduce.fold != nil && reduce.of(r.typ()) == nil {
		return nil, device.Errorf(device.ErrUnsupported, "", op.String(), "%s of %s", reduce.name, r.typ())
	}
	if counts != nil {
		r.call.Count = digest(counts)
	}
	return r, nil
}

// checkCounts refuses counts that cannot be: below none, or more in all than memory has.
func checkCounts(op algorithm.Op, text string, counts []int64) error {
	room := int64(math.MaxInt64 / 8) // elements of the widest type
	for r, n := range counts {
		if n < 0 || n > room {
			return wrong(op, text, r, n)
		}
		room -= n
	}
	return nil
}

func (r *request) typ() Type { return max(r.in.typ, r.out.typ) }

// lengths checks both vectors against what the call needs of them, and how they lie
// in memory. A vector that the rank need not give may be the zero Vector.
func (r *request) lengths() error {
	if r.typ() == 0 && (r.call.InputLen() > 0 || r.call.OutputLen() > 0) {
		return wrong(r.call.Op, "no vector is given")
	}
	if want := r.call.InputLen(); r.in.Len() != want && !(want == 0 && r.call.Rank != r.call.Root) {
		return wrong(r.call.Op, "the input has %d elements, must have %d", r.in.Len(), want)
	}
	if want := r.call.OutputLen(); r.out.Len() != want && !(want == 0 && r.call.Rank != r.call.Root) {
		return wrong(r.call.Op, "the output has %d elements, must have %d", r.out.Len(), want)
	}
	return r.aliases()
}

// aliases finds out whether the call is in place, and refuses other overlaps.
func (r *request) aliases() error {
	a, b := r.in.bytes, r.out.bytes
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	from, to := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	if from+uintptr(len(a)) <= to || to+uintptr(len(b)) <= from {
		return nil
	}
	w := uintptr(r.typ().Width())
	before := uintptr(0) // bytes of lower ranks' blocks
	for q := range r.call.Rank {
		n := r.call.Count
		if r.call.Counts != nil {
			n = r.call.Counts[q]
		}
		before += uintptr(n) * w
	}
	switch r.call.Op {
	case algorithm.AllReduce, algorithm.Reduce, algorithm.Broadcast:
		r.call.InPlace = from == to
	case algorithm.AllGather, algorithm.Gather:
		r.call.InPlace = from == to+before
	case algorithm.ReduceScatter, algorithm.Scatter:
		r.call.InPlace = to == from+before
	}
	if !r.call.InPlace {
		return wrong(r.call.Op, "input and output overlap, and not as in-place calls do")
	}
	return nil
}

func digest(counts []int64) int64 {
	h := fnv.New64a()
	h.Write(unsafe.Slice((*byte)(unsafe.Pointer(&counts[0])), 8*len(counts)))
	return int64(h.Sum64() >> 1)
}

func (r *request) op() algorithm.Op { return r.call.Op }

// run picks the type on the wire and runs the schedule.
func (r *request) run(c *Comm) error {
	t := &c.task
	t.call, t.typ, t.reduce, t.fold, t.in, t.out = &r.call, r.typ(), &r.reduce, nil, r.in.bytes, r.out.bytes
	defer t.forget()
	if t.untyped = t.typ == 0 && r.call.Op != algorithm.Barrier; t.typ == 0 {
		t.typ = Uint8
	}
	var after func()
	if r.reduce.fold != nil {
		after = c.convert(t)
		t.fold = r.reduce.of(t.typ)
	}
	t.width = int64(t.typ.Width())
	t.call.Chunk = int64(c.options.Chunk) / t.width
	call, err := c.perform(t)
	if err == nil && r.call.Recvs == nil && unheard(&call) {
		err = c.confirm(&call)
	}
	if err != nil {
		return err
	}
	if r.reduce.average && len(t.out) > 0 {
		divide(t.typ, t.out, c.Size())
	}
	if after != nil {
		after()
	} else if r.latest {
		c.again.learn(c, r, t)
	}
	return nil
}

// forget drops the caller's memory.
func (t *task) forget() { t.call, t.reduce, t.in, t.out = nil, nil, nil, nil }

// convert puts a reduction's vectors into the type in which it runs: 16-bit floats
// as float32, float32 as Options.Wire. The function returned, nil where nothing
// changes, brings the result back.
func (c *Comm) convert(t *task) func() {
	from, to := t.typ, t.typ
	switch {
	case t.typ == Float16 || t.typ == BFloat16:
		to = Float32
	case t.typ == Float32 && c.options.Wire != 0:
		to = c.options.Wire
	}
	if from == to {
		return nil
	}
	inPlace := t.call.InPlace && t.call.Op != algorithm.ReduceScatter
	given, result := t.in, t.out
	resize := func(i int, b []byte) []byte {
		n := len(b) / from.Width() * to.Width()
		if cap(c.wide[i]) < n {
			c.wide[i] = make([]byte, n)
		}
		return c.wide[i][:n]
	}
	t.typ, t.in = to, resize(0, given)
	change(t.in, to, given, from)
	if inPlace {
		t.out = t.in
	} else {
		t.call.InPlace = false
		t.out = resize(1, result)
	}
	return func() { change(result, from, t.out, to) }
}

// change converts whole vectors between float32 and a 16-bit float.
func change(into []byte, to Type, from []byte, of Type) {
	switch {
	case to == Float32 && of == Float16:
		mapTo(as[float32](into), as[uint16](from), float16.Widen)
	case to == Float32 && of == BFloat16:
		mapTo(as[float32](into), as[uint16](from), float16.WidenBrain)
	case to == Float16:
		mapTo(as[uint16](into), as[float32](from), float16.Round)
	case to == BFloat16:
		mapTo(as[uint16](into), as[float32](from), float16.RoundBrain)
	}
}

func mapTo[A, B any](into []A, from []B, f func(B) A) {
	for i := range into {
		into[i] = f(from[i])
	}
}
