package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// errHalt interrupts the endpoint while the ranks agree on a Fault.
var errHalt = errors.New("a fault is being settled")

// task is an operation on bytes.
type task struct {
	call    algorithm.Call
	with    *algorithm.Algorithm
	number  uint8 // of the algorithm, for the header
	typ     Type  // on the wire
	reduce  Op
	fold    foldFunc
	in, out []byte
	width   int64
}

// turn runs f when the Comm's earlier operations are done, watches ctx meanwhile,
// and turns what goes wrong into the Fault that all ranks get.
func (c *Comm) turn(ctx context.Context, op algorithm.Op, ticket uint64, f func() error) error {
	cancel := func() { c.watch.report(&Fault{Cause: Canceled, Ranks: []int{c.Rank()}, Text: causeText(ctx)}) }
	c.turns.wait(ctx, ticket, cancel)
	defer c.turns.done()
	if err := c.ready(op.String()); err != nil {
		return c.explain(ctx, err)
	}
	if ctx.Err() != nil {
		cancel()
		return c.explain(ctx, c.watch.settled())
	}
	c.seq++
	c.now.begin(op, c.seq)
	defer c.now.end()
	clear(c.sent)
	clear(c.taken)
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
	}
	err := f()
	if err == nil {
		return nil
	}
	if c.closed.Load() {
		return &device.Error{Call: op.String(), Kind: device.ErrClosed, Cause: errClosed}
	}
	if !errors.Is(err, errHalt) {
		c.watch.report(c.blame(err))
	}
	return c.explain(ctx, c.watch.settled())
}

// explain puts the context's own error beside the Fault on the rank that canceled.
func (c *Comm) explain(ctx context.Context, err error) error {
	var f *Fault
	if errors.As(err, &f) && f.Cause == Canceled && f.By == c.Rank() && ctx.Err() != nil {
		return &device.Error{Call: "collective", Kind: device.ErrCanceled, Text: f.Error(), Cause: errors.Join(f, context.Cause(ctx))}
	}
	return err
}

func causeText(ctx context.Context) string {
	if err := context.Cause(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// blame makes a Fault of what the transport returned.
func (c *Comm) blame(err error) *Fault {
	peer := int(c.now.waiting.Load()) - 1
	f := &Fault{Cause: Lost, Text: err.Error()}
	var m *transport.Mismatch
	var bad *transport.Corrupt
	switch {
	case errors.As(err, &m) && m.Got.Call == m.Want.Call && m.Got.Seq == m.Want.Seq && m.Got.Len == m.Want.Len:
		f.Cause, f.Ranks = Corrupt, []int{m.From}
		f.Text = fmt.Sprintf("message %d comes in the place of %d: messages were lost or doubled", m.Got.Step, m.Want.Step)
	case errors.As(err, &m):
		f.Cause, f.Ranks = Mismatch, []int{min(m.From, c.Rank()), max(m.From, c.Rank())}
		f.Text = describe(m.From, &m.Got) + " meets " + describe(c.Rank(), &m.Want)
	case errors.As(err, &bad):
		f.Cause, f.Ranks = Corrupt, []int{bad.From}
	case errors.Is(err, transport.ErrLeft):
		f.Cause = Left
	}
	if f.Ranks == nil {
		f.Ranks = []int{max(peer, 0)}
	}
	return f
}

// perform runs a schedule.
func (c *Comm) perform(t *task) error {
	p := t.with.Plan(t.call)
	if need := p.Scratch * t.width; int64(len(c.scratch)) < need {
		c.scratch = make([]byte, need)
	}
	spaces := [3][]byte{t.in, t.out, c.scratch}
	at := func(r algorithm.Range) []byte {
		return spaces[r.Space][r.Off*t.width : (r.Off+r.Len)*t.width]
	}
	h := transport.Header{Seq: c.seq, Call: transport.Call{
		Op: uint8(t.call.Op), Type: uint8(t.typ), Reduce: t.reduce.code, Algorithm: t.number, Root: int32(t.call.Root), Count: t.call.Count,
	}}
	for r := range p.Rounds {
		for _, l := range r.Local {
			if l.Fold {
				t.fold(at(l.Into), at(l.A), at(l.B))
			} else {
				copy(at(l.Into), at(l.A))
			}
		}
		for _, s := range r.Sends {
			h.Step = c.sent[s.To]
			c.sent[s.To]++
			if err := c.post(s.To, &h, at(s.From)); err != nil {
				return err
			}
		}
		for i := range r.Recvs {
			if err := c.receive(&r.Recvs[i], t, &h, at); err != nil {
				return err
			}
		}
		if err := c.flush(); err != nil {
			return err
		}
		c.now.rounds.Add(1)
	}
	return nil
}

func (c *Comm) post(to int, h *transport.Header, payload []byte) error {
	h.Len = int64(len(payload))
	c.now.on(to)
	err := c.ends.Post(to, h, payload)
	if err == nil {
		c.now.moved()
		if !slices.Contains(c.flushed, to) {
			c.flushed = append(c.flushed, to)
		}
	}
	return err
}

func (c *Comm) receive(v *algorithm.Recv, t *task, h *transport.Header, at func(algorithm.Range) []byte) error {
	into := at(v.Into)
	h.Step, h.Len = c.taken[v.From], int64(len(into))
	c.taken[v.From]++
	sink := transport.Sink{Into: into}
	if v.Side != algorithm.Plain {
		with := at(v.With)
		right := v.Side == algorithm.Right
		sink.Combine = func(off int, part []byte) {
			end := off + len(part)
			if right {
				t.fold(into[off:end], with[off:end], part)
			} else {
				t.fold(into[off:end], part, with[off:end])
			}
		}
	}
	c.now.on(v.From)
	err := c.ends.Recv(v.From, h, &sink)
	if err == nil {
		c.now.moved()
	}
	return err
}

// flush waits until all payloads posted in this round may change.
func (c *Comm) flush() error {
	for _, to := range c.flushed {
		c.now.on(to)
		if err := c.ends.Flush(to); err != nil {
			c.flushed = c.flushed[:0]
			return err
		}
		c.now.moved()
	}
	c.flushed = c.flushed[:0]
	return nil
}

// pause is how long a rank that is gone may still have messages on their way.
const pause = 50 * time.Millisecond
