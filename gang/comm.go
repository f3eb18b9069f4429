package gang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/device"
)

// Comm is the Comm of all workers, which they make together when each of them asks for it first. It is closed with the worker's place. After a call that
// failed on some worker it is closed too, and the next Comm gives a new one.
func (w *Worker) Comm(ctx context.Context) (*collective.Comm, error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, w.named(ctx, "Comm", context.Cause(ctx))
	}
	defer func() { <-w.turn }()
	if err := w.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.open.Lock()
	epoch, made := w.open.epoch, w.open.world
	if err := w.late(ctx, "Comm"); err != nil {
		w.open.Unlock()
		return nil, err
	}
	w.open.joining = cancel
	w.open.Unlock()
	if made != nil {
		return made, nil
	}
	defer context.AfterFunc(doneContext{w.node.Done()}, func() { cancel(w.node.Err()) })()
	c, err := w.join(ctx, epoch)
	if err != nil {
		return nil, w.missed(ctx, err)
	}
	w.open.Lock()
	w.open.joining = nil
	late := w.open.epoch != epoch || w.Err() != nil
	if !late {
		w.open.world = c
	}
	w.open.Unlock()
	if late {
		return nil, errors.Join(errFailed, c.Close())
	}
	return c, nil
}

// late is the error of a call that has failed elsewhere and still runs here: what it makes would be that of the next call, which comes after
// the end of this one's context.
func (w *Worker) late(ctx context.Context, call string) error {
	if w.taken.Load().ended() {
		return errFailed
	}
	if ctx.Err() != nil {
		return w.named(ctx, call, context.Cause(ctx))
	}
	return nil
}

// errFailed is the error of who makes a Comm for a call that has failed.
var errFailed = &device.Error{Call: "gang.Comm", Kind: device.ErrCanceled, Text: "the call has failed on another worker, or was canceled"}

// missed is the error of a meeting: where a worker has gone a Fault that names it. Rank 0 may hear of that, and end the meeting, a moment before
// this worker does.
func (w *Worker) missed(ctx context.Context, err error) error {
	for waited := time.Duration(0); ; waited += 5 * time.Millisecond {
		for r := range w.Size() {
			if g := w.node.Gone(r); g != nil {
				return w.named(context.Background(), "Comm", g)
			}
		}
		if !errors.Is(err, device.ErrUnavailable) || waited >= patience {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (w *Worker) join(ctx context.Context, epoch uint64) (*collective.Comm, error) {
	name := fmt.Sprintf("%s.%d", w.Name(), epoch)
	all := make([]int, w.Size())
	for r := range all {
		all[r] = r
	}
	if w.allNear(all) {
		return w.joinNear(name, all)
	}
	first, at, err := w.firstCard()
	if err != nil {
		return nil, err
	}
	world := rendezvous.World{Rank: w.Rank(), Size: w.Size(), LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Node: rendezvous.Unknown,
		Address: "tcp://" + net.JoinHostPort(at, strconv.Itoa(first.Meeting)), ID: name}
	if w.meeting != nil {
		world.Listener = w.meeting
	}
	watched, stop := w.whileAll(ctx)
	defer stop()
	return collective.Join(watched, world, w.invitation.secret(), w.options.Comm)
}

// firstCard is rank 0's, and where it is.
func (w *Worker) firstCard() (c card, host string, err error) {
	if err := json.Unmarshal(w.node.Card(0), &c); err != nil || c.Meeting == 0 {
		return c, "", device.Errorf(device.ErrMismatch, "", "gang.Comm", "rank 0 says not where the workers meet")
	}
	host, _, err = net.SplitHostPort(w.node.Address(0))
	return c, host, err
}

// Group is a Comm of some workers, numbered in the order given; they alone call it, with the same ranks and an id that no other group of the generation
// has. It costs no connection and no message, and does not wait for the others, so that a task may have its own. Its messages go over the gang's
// connections; between workers of one process, through memory.
func (w *Worker) Group(ctx context.Context, id string, ranks []int) (*collective.Comm, error) {
	if err := ctx.Err(); err != nil {
		return nil, w.named(ctx, "Group", err)
	}
	w.open.Lock()
	epoch, err := w.open.epoch, w.late(ctx, "Group")
	w.open.Unlock()
	if err != nil {
		return nil, err
	}
	c, err := w.group(id, ranks)
	if err != nil {
		return nil, w.named(ctx, "Group", err)
	}
	w.open.Lock()
	late := w.open.epoch != epoch
	if !late {
		w.open.groups = append(w.open.groups, c)
	}
	w.open.Unlock()
	if late {
		return nil, errors.Join(errFailed, c.Close())
	}
	return c, nil
}

func (w *Worker) group(id string, ranks []int) (*collective.Comm, error) {
	ends, err := w.node.Group(id, ranks) // checks them, and that the id is new
	if err != nil {
		return nil, err
	}
	if w.allNear(ranks) {
		if err := ends.Close(); err != nil {
			return nil, err
		}
		return w.joinNear(fmt.Sprintf("%s/%s %v", w.Name(), id, ranks), ranks)
	}
	return collective.New(ends, w.options.Comm)
}

// opened is what is open of a worker's Comms.
type opened struct {
	sync.Mutex
	epoch   uint64 // how many calls have failed, as far as this worker knows
	world   *collective.Comm
	joining context.CancelCauseFunc // of the Comm that is being made
	groups  []*collective.Comm
}

// reach closes the Comms of the epochs before, so that nothing waits in them, where the worker has not reached the epoch
// already. A Comm that is still being made sees that it is of another epoch than the worker.
func (w *Worker) reach(epoch uint64) {
	w.open.Lock()
	if w.open.epoch >= epoch {
		w.open.Unlock()
		return
	}
	w.open.epoch = epoch
	open := w.open.groups
	if w.open.world != nil {
		open = append(open, w.open.world)
	}
	if w.open.joining != nil {
		w.open.joining(errFailed)
	}
	w.open.groups, w.open.world, w.open.joining = nil, nil, nil
	w.open.Unlock()
	for _, c := range open {
		_ = c.Close() // who has it sees that it is closed
	}
}

// whileAll is a context that ends too when a worker has gone.
func (w *Worker) whileAll(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := w.node.OnGone(func(rank int) { cancel(w.named(ctx, "Comm", w.node.Gone(rank))) })
	for r := range w.Size() {
		if g := w.node.Gone(r); g != nil {
			cancel(w.named(ctx, "Comm", g))
		}
	}
	return ctx, func() { stop(); cancel(nil) }
}
