package collective

import (
	"slices"
	"unsafe"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
	"github.com/volley-go/volley/collective/transport"
)

// task is an operation on bytes.
type task struct {
	call    *algorithm.Call
	typ     Type // on the wire
	reduce  *Op
	fold    foldFunc
	in, out []byte
	width   int64
	untyped bool // neither vector is given, which others' may be
}

// program is a schedule ready to run: what the calls of one shape have in common.
type program struct {
	with    *algorithm.Algorithm
	number  uint8 // of the algorithm, for the header
	plan    algorithm.Plan
	rounds  []algorithm.Round // the plan's, where they are few
	written bool              // rounds are there
	first   int               // the rank of the first message, -1 where there is none
	most    int64             // elements of the longest message that is sent, of rounds
	mutual  bool              // it is one round, in which all ranks send a message to each other
	merges  bool              // the endpoint does it where the reduction is none of the user's
}

// shape tells calls of a Comm apart whose programs differ. Calls with counts have none.
type shape struct {
	op            algorithm.Op
	root          int
	count, width  int64
	inPlace, sort bool
}

const (
	fewMessages  = 256 // of a program that is kept
	keptPrograms = 512
)

// program finds the schedule of a call, from an earlier one of its shape if there
// was one: walking an iterator and weighing the algorithms costs a microsecond.
func (c *Comm) program(t *task) *program {
	key := shape{t.call.Op, t.call.Root, t.call.Count, t.width, t.call.InPlace, t.reduce.orders}
	if t.call.Counts == nil {
		if c.latest != nil && key == c.shape {
			return c.latest
		}
		if p := c.programs[key]; p != nil {
			c.shape, c.latest = key, p
			return p
		}
	}
	p := &program{first: -1}
	p.with, _, p.merges = c.chooseOrMerge(t.call, t.width, t.reduce.orders)
	p.number = uint8(1 + slices.Index(algorithm.All, p.with))
	p.plan = p.with.Plan(*t.call)
	if t.call.Counts == nil {
		p.write(t.call.Size)
		if len(c.programs) >= keptPrograms {
			clear(c.programs)
		}
		c.programs[key] = p
		c.shape, c.latest = key, p
	}
	return p
}

func (p *program) write(size int) {
	messages := 0
	for r := range p.plan.Rounds {
		messages += len(r.Sends) + len(r.Recvs) + len(r.Local) + len(r.Late)
		if messages > fewMessages {
			p.rounds = nil
			return
		}
		for i := range r.Sends {
			p.most = max(p.most, r.Sends[i].From.Len)
		}
		switch {
		case p.first >= 0:
		case len(r.Sends) > 0:
			p.first = r.Sends[0].To
		case len(r.Recvs) > 0:
			p.first = r.Recvs[0].From
		}
		p.rounds = append(p.rounds, algorithm.Round{Local: slices.Clone(r.Local), Late: slices.Clone(r.Late), Sends: slices.Clone(r.Sends), Recvs: slices.Clone(r.Recvs)})
	}
	p.written = true
	p.mutual = len(p.rounds) == 1 && mutual(&p.rounds[0], size)
}

// mutual says whether a rank sends to all others in a round, and takes from all without combining.
func mutual(r *algorithm.Round, size int) bool {
	return size > 1 && len(r.Sends) == size-1 && len(r.Recvs) == size-1 &&
		!slices.ContainsFunc(r.Recvs, func(v algorithm.Recv) bool { return v.Side != algorithm.Plain })
}

// perform runs a schedule.
func (c *Comm) perform(t *task) (transport.Call, error) {
	p := c.program(t)
	call := transport.Call{Count: t.call.Count, Root: int32(t.call.Root), Op: uint8(t.call.Op), Type: uint8(t.typ), Reduce: t.reduce.code, Algorithm: p.number}
	if p.merges && !isUser(call.Reduce) {
		call.Algorithm = merging
	}
	told := call
	if t.untyped {
		told.Type, told.Algorithm = 0, 0 // it chose for itself, and the others need not
	}
	c.now.calls.put(c.seq, &told)
	return call, c.execute(p, t.in, t.out, t.width, t.fold, call)
}

// execute runs a program.
func (c *Comm) execute(p *program, in, out []byte, width int64, fold foldFunc, call transport.Call) error {
	if need := p.plan.Scratch * width; int64(len(c.scratch)) < need {
		c.scratch = make([]byte, need)
	}
	m := &c.mover
	m.width, m.fold = width, fold
	if call.Algorithm == merging {
		m.header.Seq, m.header.Step, m.header.Sum, m.header.Call = c.seq, 0, 0, call
		return c.doMerge(in, out)
	}
	// Field by field: what is built first and copied then is read before it is written.
	m.spaces[algorithm.Input], m.spaces[algorithm.Output], m.spaces[algorithm.Scratch] = in, out, c.scratch
	h := &m.header
	h.Seq, h.Sum, h.Call = c.seq, 0, call
	m.eager = p.written && p.most*width <= c.eager
	err := c.rounds(p)
	m.forget()
	return err
}

func (c *Comm) rounds(p *program) error {
	if !p.written {
		return c.walk(&p.plan)
	}
	if p.mutual && c.exchanger != nil && p.most*c.mover.width >= exchangeLeast {
		return c.exchange(p)
	}
	for i := range p.rounds {
		if i > 0 {
			c.now.round()
		}
		if err := c.round(&p.rounds[i]); err != nil {
			return err
		}
	}
	return nil
}

// exchangeLeast is the bytes of the shortest message that a transport may have a choice for.
const exchangeLeast = 1 << 10

// exchange runs a program of one round in which all ranks send to each other.
func (c *Comm) exchange(p *program) error {
	if c.exchanger.Exchange(int(p.most * c.mover.width)) {
		c.mover.eager = false
	}
	if err := c.round(&p.rounds[0]); err != nil {
		return err
	}
	c.exchanger.Exchanged()
	return nil
}

// walk runs a plan of many rounds; a function of its own, since walking needs memory.
func (c *Comm) walk(p *algorithm.Plan) error {
	for r := range p.Rounds {
		if err := c.round(r); err != nil {
			return err
		}
		c.now.round()
	}
	return nil
}

// mover is what the rounds of the operation that runs work on.
type mover struct {
	spaces [3][]byte
	width  int64
	fold   foldFunc
	header transport.Header
	sink   transport.Sink
	eager  bool // no message needs a flush
	// Of the message that is being combined.
	into, with []byte
	right      bool
	other      []byte // of a local step, with with; nil where it copies
}

func (m *mover) at(r algorithm.Range) []byte {
	return m.spaces[r.Space][r.Off*m.width : (r.Off+r.Len)*m.width]
}

func (m *mover) combine(off int, part []byte) {
	into, with := m.into[off:off+len(part)], m.with[off:off+len(part)]
	if m.right {
		m.fold(into, with, part)
	} else {
		m.fold(into, part, with)
	}
}

// local does a part of a local step.
func (m *mover) local(from, to int) {
	if m.other == nil {
		copy(m.into[from:to], m.with[from:to])
		return
	}
	m.fold(m.into[from:to], m.with[from:to], m.other[from:to])
}

// forget drops the caller's memory.
func (m *mover) forget() {
	m.eager = false
	m.spaces[algorithm.Input], m.spaces[algorithm.Output] = nil, nil // one by one: short operations are many
	m.into, m.with, m.other, m.sink.Into, m.sink.Combine = nil, nil, nil, nil, nil
}

func (c *Comm) round(r *algorithm.Round) error {
	m := &c.mover
	if c.expecter != nil {
		c.expect(r)
	}
	for i := range r.Local {
		c.local(&r.Local[i])
	}
	for i := range r.Sends {
		s := &r.Sends[i]
		m.header.Step = c.sent[s.To]
		c.sent[s.To]++
		if err := c.post(s.To, &m.header, m.at(s.From)); err != nil {
			return err
		}
	}
	for i := range r.Late {
		c.local(&r.Late[i])
	}
	for i := range r.Recvs {
		if err := c.receive(&r.Recvs[i]); err != nil {
			return err
		}
	}
	if m.eager {
		return nil
	}
	return c.flush()
}

// expect lets long messages of the round come before they are asked for: the first of each rank
// that is not combined, where no step of the round's own works on what it replaces.
func (c *Comm) expect(r *algorithm.Round) {
	m := &c.mover
	for i := range r.Recvs {
		v := &r.Recvs[i]
		if v.Side != algorithm.Plain || v.Into.Len*m.width <= c.eager || slices.ContainsFunc(r.Recvs[:i], func(before algorithm.Recv) bool { return before.From == v.From }) {
			continue
		}
		into := m.at(v.Into)
		if m.touched(r.Local, into) || m.touched(r.Late, into) {
			continue
		}
		m.header.Step, m.header.Len = c.taken[v.From], int64(len(into))
		c.expecter.Expect(v.From, &m.header, into)
	}
}

// touched says whether a step reads or writes bytes of the vector.
func (m *mover) touched(steps []algorithm.Local, v []byte) bool {
	for i := range steps {
		l := &steps[i]
		if overlap(m.at(l.Into), v) || overlap(m.at(l.A), v) || l.Fold && overlap(m.at(l.B), v) {
			return true
		}
	}
	return false
}

func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	from, to := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return from < to+uintptr(len(b)) && to < from+uintptr(len(a))
}

func (c *Comm) local(l *algorithm.Local) {
	m, from := &c.mover, c.lap()
	into, a := m.at(l.Into), m.at(l.A)
	switch {
	case l.Fold && c.sharer != nil && !isUser(m.header.Call.Reduce):
		m.into, m.with, m.other = into, a, m.at(l.B)
		c.sharer.Share(len(into), false, c.localPart)
		c.traceLocal(timeline.Reduce, from, l.Into.Len)
	case l.Fold:
		m.fold(into, a, m.at(l.B))
		c.traceLocal(timeline.Reduce, from, l.Into.Len)
	case &into[0] == &a[0]: // in place there is nothing to do, and others may be reading
	case c.sharer != nil:
		m.into, m.with, m.other = into, a, nil
		c.sharer.Share(len(into), true, c.localPart)
		c.traceLocal(timeline.Copy, from, l.Into.Len)
	case c.expecter != nil:
		c.expecter.Copy(into, a)
		c.traceLocal(timeline.Copy, from, l.Into.Len)
	default:
		copy(into, a)
		c.traceLocal(timeline.Copy, from, l.Into.Len)
	}
}

func (c *Comm) post(to int, h *transport.Header, payload []byte) error {
	h.Len = int64(len(payload))
	c.now.on(to)
	err := c.ends.Post(to, h, payload)
	if err == nil {
		c.tally.sent.add(h.Len)
		if !c.mover.eager && !slices.Contains(c.flushed, to) {
			c.flushed = append(c.flushed, to)
		}
	}
	return err
}

func (c *Comm) receive(v *algorithm.Recv) error {
	m := &c.mover
	m.into = m.at(v.Into)
	m.header.Step, m.header.Len = c.taken[v.From], int64(len(m.into))
	c.taken[v.From]++
	m.sink.Into, m.sink.Combine, m.sink.Foreign, m.sink.Apart = m.into, nil, false, false
	if v.Side != algorithm.Plain {
		m.with, m.right = m.at(v.With), v.Side == algorithm.Right
		m.sink.Combine, m.sink.Foreign = c.combine, isUser(m.header.Call.Reduce)
		m.sink.Apart = !m.sink.Foreign
	}
	c.now.on(v.From)
	err := c.ends.Recv(v.From, &m.header, &m.sink)
	if err == nil {
		c.tally.received.add(m.header.Len)
	}
	return err
}

// flush waits until all payloads posted in this round may change.
func (c *Comm) flush() error {
	for _, to := range c.flushed {
		c.now.on(to)
		if err := c.ends.Flush(to); err != nil {
			return err
		}
	}
	c.flushed = c.flushed[:0]
	return nil
}

// takeBack is called when an operation has failed and the endpoint is interrupted:
// of what was posted and not flushed nothing arrives any more, and nothing is written where
// messages were expected, so that the caller may have its memory back.
func (c *Comm) takeBack() {
	for _, to := range c.flushed {
		_ = c.ends.Flush(to) // the interruption; the operation has its error
	}
	if c.expecter != nil {
		c.expecter.Forget()
	}
	c.flushed = c.flushed[:0]
}
