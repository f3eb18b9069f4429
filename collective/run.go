package collective

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/device"
)

// errHalt interrupts the endpoint while the ranks agree on a Fault.
var errHalt = errors.New("a fault is being settled")

// work is what has its turn: a request, or a group of transfers.
type work interface {
	op() algorithm.Op
	run(c *Comm) error
}

// turn runs w when the Comm's earlier operations are done, watches ctx meanwhile,
// and turns what goes wrong into the Fault that all ranks get.
func (c *Comm) turn(ctx context.Context, ticket uint64, w work) error {
	if !c.turns.mine(ticket) {
		c.turns.wait(ctx, ticket, func() { c.cancel(ctx) })
	}
	return c.hold(ctx, w)
}

// hold is turn where the turn has come.
func (c *Comm) hold(ctx context.Context, w work) error {
	op := w.op()
	defer c.turns.done()
	if err := c.ready(opName(op)); err != nil {
		return c.explain(ctx, err)
	}
	watched := ctx.Done() != nil
	if watched {
		c.watching.begin(c, ctx)
	}
	began := sinceStart()
	c.again.took = 0
	c.now.begin(op, c.seq+1, -1, watched, began)
	defer c.now.end()
	if ctx.Err() != nil {
		c.now.end()
		c.cancel(ctx)
		return c.explain(ctx, c.watch.settled())
	}
	c.seq++
	clear(c.steps)
	err := c.guarded(ctx, w)
	c.account(op, began, err)
	if err != nil {
		return c.failed(ctx, op, err)
	}
	return nil
}

// guarded runs w, in which a reduction of the user's may panic, or end the goroutine: the
// other ranks are told then too.
func (c *Comm) guarded(ctx context.Context, w work) (err error) {
	ended := false
	defer func() {
		x := recover()
		switch {
		case ended:
			return
		case x != nil:
			err = &ownFailure{fmt.Sprintf("the reduction panicked: %v", x)}
		default: // Goexit: nobody takes err
			_ = c.failed(ctx, w.op(), &ownFailure{"the reduction ended its goroutine"})
		}
		c.mover.forget()
	}()
	err = w.run(c)
	ended = true
	return err
}

// ownFailure is what a function of the user's did.
type ownFailure struct{ text string }

func (f *ownFailure) Error() string { return f.text }

// repeat is hold for the call that repeats knows. Nothing in it is the user's code, so
// there is nothing to put right after a panic, and what a short operation need not do is
// left out.
func (c *Comm) repeat(ctx context.Context) error {
	a, done := &c.again, ctx.Done()
	if c.Fault() != nil || c.closed.Load() || done != nil && done != c.watching.latest {
		return c.hold(ctx, a)
	}
	var began time.Duration
	if a.clock(c) {
		began = sinceStart()
	}
	c.now.begin(a.what, c.seq+1, a.program.first, done != nil, began)
	if ended(done) {
		c.now.end()
		return c.hold(ctx, a)
	}
	c.seq++
	clear(c.steps)
	err := a.run(c)
	c.account(a.what, began, err)
	if err != nil {
		err = c.failed(ctx, a.what, err)
	}
	c.now.end()
	c.turns.done()
	return err
}

// ended says whether the channel is closed.
func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// failed settles with the other ranks what the operation ended with.
func (c *Comm) failed(ctx context.Context, op algorithm.Op, err error) error {
	if c.closed.Load() {
		c.takeBack()
		return &device.Error{Call: opName(op), Kind: device.ErrClosed, Cause: errClosed}
	}
	if !errors.Is(err, errHalt) {
		c.watch.report(c.blame(err))
	}
	err = c.watch.settled()
	c.takeBack()
	return c.explain(ctx, err)
}

func (c *Comm) cancel(ctx context.Context) {
	c.watch.report(&Fault{Cause: Canceled, Ranks: []int{c.Rank()}, Text: causeText(ctx)})
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
	peer := c.now.waiting()
	f := &Fault{Cause: Lost, Text: err.Error()}
	var m *transport.Mismatch
	var bad *transport.Corrupt
	var other *disagreement
	var own *ownFailure
	switch {
	case errors.As(err, &own), errors.Is(err, shm.ErrRoom):
		f.Cause, f.Ranks = Canceled, []int{c.Rank()}
	case errors.As(err, &other):
		f.Cause, f.Ranks = Mismatch, other.ranks
	case errors.As(err, &m) && m.Got.Call == m.Want.Call && m.Got.Seq == m.Want.Seq && m.Got.Len == m.Want.Len:
		f.Cause, f.Ranks = Corrupt, []int{m.From}
		f.Text = fmt.Sprintf("message %d comes in the place of %d: messages were lost or doubled", m.Got.Step, m.Want.Step)
	case errors.As(err, &m):
		f.Cause, f.Ranks = Mismatch, []int{min(m.From, c.Rank()), max(m.From, c.Rank())}
		f.Text = describe(m.From, &m.Got) + " meets " + describe(c.Rank(), &m.Want)
	case errors.As(err, &bad):
		f.Cause, f.Ranks = Corrupt, []int{bad.From}
	case errors.Is(err, transport.ErrLeft):
		f.Cause, f.Text = Left, "it has closed its Comm"
	}
	if f.Ranks == nil {
		f.Ranks = []int{max(peer, 0)}
	}
	return f
}

// pause is how long a rank that is lost may still have messages on their way.
const pause = 50 * time.Millisecond
