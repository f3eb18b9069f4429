package gang

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/volley-go/volley/collective/transport/mesh"
	"github.com/volley-go/volley/collective/transport/secret"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// Gang is the start of workers: it places them, has them run functions, and gets what they hold.
type Gang struct {
	o    Options
	body Workers
	door *door
	turn chan struct{} // of who runs a call, or changes the workers
	run  [16]byte
	key  []byte

	mu     sync.Mutex
	m      *member // of the generation that is there
	files  *folder
	bodies running
	next   uint64 // the next generation
	epoch  uint64 // how many calls have failed
	over   error
}

// Start starts workers and returns when all of them have entered, or with an error and none. Of Invited workers it returns at once: Ready waits for them.
func Start(ctx context.Context, body Workers, o Options) (*Gang, error) {
	if body == nil || o.Workers < 1 || o.Workers > mostWorkers {
		return nil, device.Errorf(device.ErrMismatch, "", "gang.Start", "%d workers, from 1 to %d can be; and what they are must be said", o.Workers, mostWorkers)
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	g := &Gang{o: o, body: body, next: o.Generation, turn: make(chan struct{}, 1), key: make([]byte, 32)}
	_, _ = rand.Read(g.run[:]) // never fails
	_, _ = rand.Read(g.key)
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(o.Host, "0"))
	if err != nil {
		return nil, &device.Error{Call: "gang.Start", Kind: device.ErrUnavailable, Cause: err}
	}
	g.door = newDoor(ln)
	if err := o.Slots.take(ctx, o.Workers); err != nil {
		return nil, errors.Join(err, g.door.Close())
	}
	if err := g.place(ctx); err != nil {
		o.Slots.give(o.Workers)
		return nil, errors.Join(err, g.door.Close())
	}
	return g, nil
}

// place starts a generation. Where not all workers come there is none.
func (g *Gang) place(ctx context.Context) error {
	v := &invitation{host: g.door.Addr().String(), run: g.run, generation: g.next, size: g.o.Workers, key: g.key, lease: g.o.Lease, rank: Origin}
	g.next++
	files, err := openFolder(g.o.Folder, v.name())
	if err != nil {
		return err
	}
	v.folder = files.path
	guard, err := secret.New(v.secret())
	if err != nil {
		return errors.Join(err, files.close())
	}
	m := &member{invitation: v, backend: g.o.Backend, machine: machine(v.folder), values: map[uint64]*kept{}}
	ready := make(chan struct{})
	m.node = mesh.Open(mesh.Options{Run: v.run, Generation: v.generation, Size: v.size, Key: v.key, Guard: guard, Lease: v.lease, Listener: g.door.view(),
		Handle: func(ctx context.Context, _ int, verb string, body []byte) (mesh.Answer, error) {
			<-ready
			return m.answer(ctx, verb, body)
		}})
	close(ready)
	m.enlist()
	texts := make([]string, v.size)
	for r := range texts {
		w := *v
		w.rank = r
		texts[r] = w.String()
	}
	failed := make(chan error, v.size)
	bodies, err := g.body.start(ctx, g, texts, func(rank int, err error) {
		failed <- fmt.Errorf("rank %d: %w", rank, err)
		m.node.Dismiss(rank, err.Error())
	})
	g.mu.Lock()
	g.m, g.files, g.bodies, g.epoch = m, files, bodies, 0
	g.mu.Unlock()
	if err == nil && !g.body.later() {
		err = g.await(ctx, m, failed)
	}
	if err != nil {
		return errors.Join(&device.Error{Call: "gang.Start", Kind: kindOf(ctx), Cause: fmt.Errorf("the gang was not placed: %w", err)}, g.end(m, "the gang was not placed: "+err.Error()))
	}
	return nil
}

func kindOf(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return device.ErrCanceled
	}
	return device.ErrUnavailable
}

// await waits until all workers have come.
func (g *Gang) await(ctx context.Context, m *member, failed <-chan error) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.o.JoinTimeout)
		defer cancel()
	}
	lost := make(chan error, g.o.Workers)
	defer m.node.OnGone(func(rank int) { lost <- m.node.Gone(rank) })()
	for r := range g.o.Workers {
		if gone := m.node.Gone(r); gone != nil {
			lost <- gone
		}
	}
	select {
	case <-m.node.Placed():
		return nil
	case err := <-failed:
		return err
	case err := <-lost:
		select {
		case better := <-failed: // which says why
			return better
		default:
		}
		return err
	case <-m.node.Done():
		return m.node.Err()
	case <-ctx.Done():
		return fmt.Errorf("%s did not come: %w", ranksOf(m.node.Missing()), context.Cause(ctx))
	}
}

func ranksOf(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprint("rank ", ranks[0])
	}
	return "ranks " + strings.Trim(fmt.Sprint(ranks), "[]")
}

// Ready returns when all workers have come: of Invited ones Start does not wait. Where it fails the gang has ended.
func (g *Gang) Ready(ctx context.Context) error {
	m, err := g.member()
	if err != nil {
		return err
	}
	if err := g.await(ctx, m, nil); err != nil {
		return errors.Join(&device.Error{Call: "gang.Ready", Kind: kindOf(ctx), Cause: fmt.Errorf("the gang was not placed: %w", err)}, g.finish("the gang was not placed: "+err.Error()))
	}
	return nil
}

func (g *Gang) member() (*member, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over != nil {
		return nil, g.over
	}
	return g.m, nil
}

// Invitation is the text of VOLLEY_GANG for a worker of this generation, for engines that start the workers.
func (g *Gang) Invitation(rank int) (string, error) {
	m, err := g.member()
	if err != nil {
		return "", err
	}
	if rank < 0 || rank >= g.o.Workers {
		return "", device.Errorf(device.ErrMismatch, "", "gang.Invitation", "there is no rank %d among %d", rank, g.o.Workers)
	}
	w := *m.invitation
	w.rank = rank
	return w.String(), nil
}

// Send is Worker.Send of the start, whose rank is Origin.
func (g *Gang) Send(ctx context.Context, to int, tag uint64, message []byte) error {
	m, err := g.member()
	if err != nil {
		return err
	}
	return m.Send(ctx, to, tag, message)
}

// Recv is Worker.Recv of the start.
func (g *Gang) Recv(ctx context.Context, from int, tag uint64) ([]byte, error) {
	m, err := g.member()
	if err != nil {
		return nil, err
	}
	return m.Recv(ctx, from, tag)
}

// Put keeps a value at the start.
func (g *Gang) Put(ctx context.Context, name string, value any) (Ref, error) {
	m, err := g.member()
	if err != nil {
		return Ref{}, err
	}
	return m.Put(ctx, name, value)
}

// Get fetches a value, as Worker.Get does.
func (g *Gang) Get(ctx context.Context, r Ref) (any, error) {
	m, err := g.member()
	if err != nil {
		return nil, err
	}
	return m.Get(ctx, r)
}

// Table is Get of a table.
func (g *Gang) Table(ctx context.Context, r Ref) (*table.Table, error) {
	m, err := g.member()
	if err != nil {
		return nil, err
	}
	return m.Table(ctx, r)
}

// Drop has the holders forget a value.
func (g *Gang) Drop(ctx context.Context, r Ref) error {
	m, err := g.member()
	if err != nil {
		return err
	}
	return m.Drop(ctx, r)
}

// Size is the number of workers.
func (g *Gang) Size() int { return g.o.Workers }

// Generation is that of the workers that are there.
func (g *Gang) Generation() (uint64, error) {
	m, err := g.member()
	if err != nil {
		return 0, err
	}
	return m.Generation(), nil
}
