package gang

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/collective/transport/mesh"
	"github.com/volley-go/volley/device"
)

// Function is what runs on workers by its name. It has the arguments that were given to Run, and its tables for the time of the call.
type Function func(ctx context.Context, w *Worker, args ...any) (any, error)

var functions struct {
	sync.Mutex
	named map[string]Function
}

// Register makes a function known by a name in this process: before Serve, in every program whose workers shall run it. A name that is known already is
// an ErrMismatch.
func Register(name string, f Function) error {
	functions.Lock()
	defer functions.Unlock()
	if f == nil || name == "" || functions.named[name] != nil {
		return device.Errorf(device.ErrMismatch, "", "gang.Register", "%q is known already, or has no name or no function", name)
	}
	if functions.named == nil {
		functions.named = map[string]Function{}
	}
	functions.named[name] = f
	return nil
}

// Call is one function that this worker has to run.
type Call struct {
	Name string

	w    *Worker
	ctx  context.Context
	args []byte
	done chan struct{}
	over atomic.Bool // who has taken it has called Done
	once sync.Once
	ref  Ref
	err  error
}

// Context ends when nobody waits for the call any more: a call that failed on another worker, or was canceled. The Comms of the worker are closed then.
func (c *Call) Context() context.Context { return c.ctx }

// Args are the arguments. The caller releases those that are tables.
func (c *Call) Args() ([]any, error) {
	v, err := decode(c.ctx, c.w.backend, c.args)
	if err != nil {
		return nil, err
	}
	args, ok := v.([]any)
	if !ok {
		release(v)
		return nil, errValue
	}
	return args, nil
}

// Done answers the call with a reference to its result, or with its error. Only the first one counts.
func (c *Call) Done(result Ref, err error) {
	c.over.Store(true)
	c.answer(result, err)
}

func (c *Call) answer(result Ref, err error) {
	c.once.Do(func() {
		c.ref, c.err = result, err
		close(c.done)
	})
}

// ended says that nobody waits for the call any more, and that it is still running: a Comm that it makes now would be that of a later call.
func (c *Call) ended() bool { return c != nil && c.ctx.Err() != nil && !c.over.Load() }

// queue has the calls in their order.
type queue struct {
	mu     sync.Mutex
	calls  []*Call
	more   chan struct{} // has one where there are calls
	closed chan struct{}
	once   sync.Once
}

func (q *queue) init() { q.more, q.closed = make(chan struct{}, 1), make(chan struct{}) }

func (q *queue) close() { q.once.Do(func() { close(q.closed) }) }

func (q *queue) put(c *Call) {
	q.mu.Lock()
	q.calls = append(q.calls, c)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take is the first call that somebody still waits for.
func (q *queue) take() *Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.calls) > 0 {
		c := q.calls[0]
		q.calls = q.calls[1:]
		if c.ctx.Err() == nil {
			return c
		}
	}
	return nil
}

// Next is the next call that the gang's start has made; it waits for one. Whoever takes it runs it and calls its Done: Serve does so for registered functions.
// When the gang stops, the error is a Fault with the cause Left that names Origin.
func (w *Worker) Next(ctx context.Context) (*Call, error) {
	for {
		if c := w.calls.take(); c != nil {
			w.taken.Store(c)
			return c, nil
		}
		select {
		case <-w.calls.more:
		case <-w.calls.closed:
			return nil, w.Err()
		case <-ctx.Done():
			return nil, w.named(ctx, "Next", context.Cause(ctx))
		}
	}
}

// Serve runs registered functions until the gang stops, which is no error, or ctx ends.
func (w *Worker) Serve(ctx context.Context) error {
	for {
		c, err := w.Next(ctx)
		if err != nil {
			var g *mesh.Gone
			if errors.As(w.node.Err(), &g) && g.Rank == Origin && g.Left {
				return nil
			}
			return err
		}
		w.perform(c)
	}
}

// perform runs a call.
func (w *Worker) perform(c *Call) {
	functions.Lock()
	f := functions.named[c.Name]
	functions.Unlock()
	if f == nil {
		c.Done(Ref{}, fmt.Errorf("%w: no function %q is registered on rank %d", ErrNotFound, c.Name, w.Rank()))
		return
	}
	args, err := c.Args()
	if err != nil {
		c.Done(Ref{}, err)
		return
	}
	result, err := run(c.ctx, f, w, args)
	release(args)
	if err != nil {
		c.Done(Ref{}, err)
		return
	}
	ref, ok := result.(Ref)
	if !ok {
		ref, err = w.Put(context.WithoutCancel(c.ctx), c.Name, result)
		release(result)
	}
	c.Done(ref, err)
}

// run is the function's result; a panic is an error.
func run(ctx context.Context, f Function, w *Worker, args []any) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f(ctx, w, args...)
}

// run takes a call of the gang's start, and answers when it is done.
func (w *Worker) run(ctx context.Context, body []byte) (mesh.Answer, error) {
	if len(body) < 8 {
		return mesh.Answer{}, told(errValue)
	}
	epoch := binary.LittleEndian.Uint64(body)
	w.reach(epoch) // a call has failed since, on this worker or another one
	d := decoder{rest: body[8:]}
	name, err := d.bytes()
	if err != nil {
		return mesh.Answer{}, told(err)
	}
	c := &Call{Name: string(name), w: w, ctx: ctx, args: d.rest, done: make(chan struct{})}
	w.calls.put(c)
	select {
	case <-c.done:
	case <-ctx.Done():
		c.answer(Ref{}, context.Cause(ctx))
	}
	if c.err != nil {
		w.reach(epoch + 1) // nobody waits for this worker in a collective operation
		return mesh.Answer{}, told(c.err)
	}
	return mesh.Answer{Parts: [][]byte{[]byte(c.ref.String())}}, nil
}
