package gang

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"sync/atomic"

	"github.com/volley-go/volley/collective/transport/mesh"
	"github.com/volley-go/volley/collective/transport/secret"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
)

// Worker is one worker's place in a gang.
type Worker struct {
	member
	options EnterOptions
	meeting net.Listener // of rank 0, for the Comms of all workers
	lift    func()       // of the limit of this process's loops

	calls queue
	taken atomic.Pointer[Call] // the last one

	open opened
	turn chan struct{} // of who makes the Comm of all
}

// process tells this process from all others.
var process = rand.Text()

// card is what members know of a worker.
type card struct {
	Process    string // workers of one process have the same
	Meeting    int    // rank 0's port for the Comms of all
	Machine    string
	Processors string // those that it may run on
}

// place is where the worker of a card runs.
func (c *card) place() processors.Place {
	return processors.Place{Machine: c.Machine, Process: c.Process, Processors: c.Processors}
}

// Enter takes the place that the environment's VOLLEY_GANG names, and returns when all workers have. It is an error that wraps ErrStale where the
// gang has a newer generation, and another one where it has ended, or is given up because workers do not come.
func Enter(ctx context.Context, options ...EnterOptions) (*Worker, error) {
	text := os.Getenv(Variable)
	if text == "" {
		return nil, device.Errorf(device.ErrUnavailable, "", "gang.Enter", "%s is not set: a gang starts its workers with it", Variable)
	}
	return EnterAs(ctx, text, options...)
}

// EnterAs is Enter with the text of the variable, as Gang.Invitation gives it: for engines that hand it over by other means.
//
// Workers of one machine share its processors: loops of a process take its part of those that several workers' processes may run on, while the worker is
// there, unless VOLLEY_THREADS says how many.
func EnterAs(ctx context.Context, invitation string, options ...EnterOptions) (*Worker, error) {
	if len(options) > 1 {
		return nil, device.Errorf(device.ErrMismatch, "", "gang.Enter", "%d options, at most one is meant", len(options))
	}
	v, err := invited(invitation)
	if err != nil {
		return nil, err
	}
	var o EnterOptions
	if len(options) == 1 {
		o = options[0]
	}
	if o.Backend == nil {
		if o.Backend, err = hostBackend(); err != nil {
			return nil, err
		}
	}
	guard, err := secret.New(v.secret())
	if err != nil {
		return nil, err
	}
	w := &Worker{options: o, turn: make(chan struct{}, 1), lift: func() {}}
	w.member = member{invitation: v, backend: o.Backend, machine: machine(v.folder), values: map[uint64]*kept{}}
	w.calls.init()
	listen := "127.0.0.1:0"
	if !v.near() {
		listen = ":0"
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, &device.Error{Call: "gang.Enter", Kind: device.ErrUnavailable, Cause: err}
	}
	own := card{Process: process, Machine: tcp.Machine(), Processors: processors.Mine()}
	if v.rank == 0 {
		if w.meeting, err = (&net.ListenConfig{}).Listen(ctx, "tcp", listen); err != nil {
			return nil, errors.Join(&device.Error{Call: "gang.Enter", Kind: device.ErrUnavailable, Cause: err}, ln.Close())
		}
		own.Meeting = w.meeting.Addr().(*net.TCPAddr).Port
	}
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	ready := make(chan struct{}) // the handler may be asked before the node is known here
	w.node, err = mesh.Join(ctx, mesh.Options{Run: v.run, Generation: v.generation, Rank: v.rank, Size: v.size, Key: v.key, Guard: guard, Lease: v.lease,
		Listener: ln, Card: text, Handle: func(ctx context.Context, from int, verb string, body []byte) (mesh.Answer, error) {
			<-ready
			if verb == verbRun && from == Origin {
				return w.run(ctx, body)
			}
			return w.answer(ctx, verb, body)
		}}, v.host)
	close(ready)
	if err != nil {
		w.unmeet()
		return nil, fmt.Errorf("gang: rank %d of %d, generation %d: %w", v.rank, v.size, v.generation, unavailable(ctx, err))
	}
	w.share(own)
	w.enlist()
	context.AfterFunc(doneContext{w.node.Done()}, w.left)
	return w, nil
}

// share leaves the other workers of this machine their part of its processors, until this worker's place has ended.
func (w *Worker) share(own card) {
	all := make([]processors.Place, w.Size())
	for r := range all {
		var c card
		if json.Unmarshal(w.node.Card(r), &c) == nil { // one that says nothing is on no machine that is known
			all[r] = c.place()
		}
	}
	n := processors.Own()
	if part := processors.Part(n, own.place(), all); part < n {
		w.lift = processors.Limit(part)
	}
}

// unavailable is why a worker could not enter.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &device.Error{Call: "gang.Enter", Kind: device.ErrCanceled, Cause: err}
	}
	return &device.Error{Call: "gang.Enter", Kind: device.ErrUnavailable, Cause: err}
}

// Done is closed when the worker's place has ended: it was closed, the gang stopped, or the gang's start has gone.
func (w *Worker) Done() <-chan struct{} { return w.node.Done() }

// Err says why it has, nil before.
func (w *Worker) Err() error {
	if w.node.Err() == nil {
		return nil
	}
	return w.named(context.Background(), "Worker", w.node.Err())
}

// Close gives the place up; the others see that this worker left. Its Comms are closed and its values dropped.
func (w *Worker) Close() error {
	err := w.node.Close()
	w.left()
	return err
}

// Abandon is Close of a worker that failed: for the others it is lost, for that reason.
func (w *Worker) Abandon(why error) error {
	err := w.node.Abandon(why.Error())
	w.left()
	return err
}

// left ends what belongs to the place.
func (w *Worker) left() {
	w.calls.close()
	w.reach(math.MaxUint64)
	w.discharge()
	w.unmeet()
	w.vacate()
	w.lift()
}

func (w *Worker) unmeet() {
	if w.meeting != nil {
		_ = w.meeting.Close() // nobody is expected, and a second time does nothing
	}
}
