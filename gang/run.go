package gang

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/volley-go/volley/collective/transport/mesh"
)

// Run runs a function on all workers with the same arguments, and gives a reference to each one's result. Calls run one after another. When one
// worker fails its error is returned, as a *CallError, and the others' calls are canceled; a worker that has gone is a *collective.Fault that names it.
func (g *Gang) Run(ctx context.Context, name string, args ...any) ([]Ref, error) {
	m, err := g.member()
	if err != nil {
		return nil, err
	}
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, m.named(ctx, "Run", context.Cause(ctx))
	}
	defer func() { <-g.turn }()
	g.mu.Lock()
	epoch := g.epoch
	g.mu.Unlock()
	if args == nil {
		args = []any{}
	}
	body, err := encode(ctx, appendBytes(binary.LittleEndian.AppendUint64(nil, epoch), name), args, 0)
	if err != nil {
		return nil, err
	}
	refs, err := m.runAll(ctx, name, body)
	if err != nil {
		g.mu.Lock()
		g.epoch++
		g.mu.Unlock()
	}
	return refs, err
}

// outcome is one worker's.
type outcome struct {
	rank int
	ref  Ref
	err  error
}

// patience is how long others are waited for that may say better why a call failed.
const patience = time.Second

// causes says whether an error is why others fail, and not that.
func causes(err error) bool {
	var r *mesh.Remote
	if !errors.As(err, &r) {
		return !errors.Is(err, context.Canceled)
	}
	var s said
	return json.Unmarshal([]byte(r.Text), &s) != nil || s.Fault == nil && s.Kind != "canceled" && s.Kind != "closed"
}

func (m *member) runAll(ctx context.Context, name string, body []byte) ([]Ref, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make(chan outcome, m.Size())
	for r := range m.Size() {
		go func() {
			answer, err := m.node.Ask(inner, r, verbRun, [][]byte{body}, nil)
			o := outcome{rank: r, err: err}
			if err == nil {
				o.ref, o.err = ParseRef(string(answer))
			}
			outcomes <- o
		}()
	}
	refs := make([]Ref, m.Size())
	var first *outcome
	var late <-chan time.Time
	for range refs {
		var o outcome
		select {
		case o = <-outcomes:
		case <-late:
			cancel()
			o = <-outcomes
		}
		refs[o.rank] = o.ref
		if o.err == nil {
			continue
		}
		if first == nil || causes(o.err) && !causes(first.err) {
			first = &o
		}
		if causes(o.err) {
			cancel() // it says why; others only that they were left alone
		} else if late == nil {
			late = time.After(patience)
		}
	}
	if first == nil {
		return refs, nil
	}
	err := m.named(ctx, "Run", first.err)
	var r *remote
	if errors.As(err, &r) && r.said.Kind == "" && r.said.Fault == nil {
		return nil, &CallError{Rank: first.rank, Name: name, Text: r.said.Text}
	}
	return nil, err
}
