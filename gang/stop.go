package gang

import (
	"context"
	"errors"
	"time"

	"github.com/volley-go/volley/device"
)

// errStopped is the error of calls of a gang that was stopped.
var errStopped = &device.Error{Call: "gang", Kind: device.ErrClosed, Text: "the gang was stopped"}

// Restart ends all workers at once and starts them anew, under the next generation: after a worker has died, for example. What the old ones held is gone.
// Where it fails the gang has ended.
func (g *Gang) Restart(ctx context.Context) error {
	if _, err := g.member(); err != nil {
		return err
	}
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return &device.Error{Call: "gang.Restart", Kind: device.ErrCanceled, Cause: context.Cause(ctx)}
	}
	defer func() { <-g.turn }()
	m, err := g.member()
	if err != nil {
		return err
	}
	err = g.end(m, "the gang starts again, under the next generation")
	if err == nil {
		err = g.place(ctx)
	}
	if err != nil {
		g.mu.Lock()
		g.over = err
		g.mu.Unlock()
		g.o.Slots.give(g.o.Workers)
		return errors.Join(err, g.door.Close())
	}
	return nil
}

// Stop tells the workers that the gang is over and waits until they have ended; those that do not within Options.Grace, or before ctx ends, are killed. A
// second Stop does nothing.
func (g *Gang) Stop(ctx context.Context) error {
	m, err := g.member()
	if err != nil {
		return nil // it is over already
	}
	g.mu.Lock()
	bodies := g.bodies
	if g.over != nil {
		g.mu.Unlock()
		return nil
	}
	g.over = errStopped
	g.mu.Unlock()
	err = m.node.Close()
	ctx, cancel := context.WithTimeout(ctx, g.o.Grace)
	defer cancel()
	if bodies != nil {
		bodies.wait(ctx)
	}
	g.o.Slots.give(g.o.Workers)
	return errors.Join(err, g.end(m, ""), g.door.Close())
}

// finish ends a gang that has not come about.
func (g *Gang) finish(why string) error {
	m, err := g.member()
	if err != nil {
		return nil
	}
	g.mu.Lock()
	if g.over != nil {
		g.mu.Unlock()
		return nil
	}
	g.over = &device.Error{Call: "gang", Kind: device.ErrClosed, Text: why}
	g.mu.Unlock()
	g.o.Slots.give(g.o.Workers)
	return errors.Join(g.end(m, why), g.door.Close())
}

// end ends a generation: its workers are told why, and killed.
func (g *Gang) end(m *member, why string) error {
	g.mu.Lock()
	bodies, files := g.bodies, g.files
	g.bodies, g.files = nil, nil
	g.mu.Unlock()
	var err error
	if why == "" {
		err = m.node.Close()
	} else {
		err = m.node.Abandon(why)
	}
	m.discharge()
	if bodies != nil {
		bodies.kill()
		ctx, cancel := context.WithTimeout(context.Background(), killing)
		defer cancel()
		bodies.wait(ctx)
	}
	if files != nil {
		err = errors.Join(err, files.close())
	}
	return err
}

// killing bounds how long the end of workers that were killed is waited for.
const killing = 5 * time.Second
