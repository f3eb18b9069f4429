package gang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/mesh"
	"github.com/volley-go/volley/device"
)

// Origin is the rank of the gang's start, as a holder of references and a partner of messages.
const Origin = mesh.Hub

// ErrStale is the error of a worker, or of a reference, of an older generation of the gang.
var ErrStale = mesh.ErrStale

// ErrNotFound is the error of a reference or of a function that its holder does not have.
var ErrNotFound = errors.New("not found")

// CallError is what a function gave on a worker.
type CallError struct {
	Rank int
	Name string
	Text string
}

// Error names the rank and the function.
func (e *CallError) Error() string {
	return fmt.Sprintf("gang: rank %d: %s: %s", e.Rank, e.Name, e.Text)
}

// said is an error as it goes from one member to another.
type said struct {
	Kind  string // "" for a function's own
	Text  string
	Fault *collective.Fault `json:",omitempty"`
}

// kinds are the errors that are the same on the other side.
var kinds = map[string]error{"stale": ErrStale, "absent": ErrNotFound, "mismatch": device.ErrMismatch, "unsupported": device.ErrUnsupported,
	"memory": device.ErrOutOfMemory, "closed": device.ErrClosed, "canceled": device.ErrCanceled}

func told(err error) error {
	s := said{Text: err.Error()}
	errors.As(err, &s.Fault)
	for kind, is := range kinds {
		if errors.Is(err, is) {
			s.Kind = kind
		}
	}
	text, failed := json.Marshal(&s)
	if failed != nil {
		return err
	}
	return errors.New(string(text))
}

// remote is an error that was told, with who told it.
type remote struct {
	rank int
	said said
}

func (r *remote) Error() string { return fmt.Sprintf("gang: rank %d: %s", r.rank, r.said.Text) }

func (r *remote) Unwrap() error {
	if r.said.Fault != nil {
		return r.said.Fault
	}
	return kinds[r.said.Kind]
}

// named is an error of the plane as callers have it: a member that has gone is a Fault, which names it.
func (m *member) named(ctx context.Context, op string, err error) error {
	var g *mesh.Gone
	var r *mesh.Remote
	switch {
	case err == nil:
		return nil
	case errors.As(err, &g):
		f := &collective.Fault{Cause: collective.Lost, Op: op, Ranks: []int{g.Rank}, By: m.Rank(), Text: g.Text}
		if g.Left {
			f.Cause = collective.Left
		}
		return f
	case errors.As(err, &r):
		found := &remote{rank: r.From}
		if json.Unmarshal([]byte(r.Text), &found.said) != nil {
			found.said = said{Text: r.Text}
		}
		return found
	case ctx.Err() != nil:
		return &device.Error{Call: "gang." + op, Kind: device.ErrCanceled, Cause: context.Cause(ctx)}
	case m.node.Err() != nil:
		return &device.Error{Call: "gang." + op, Kind: device.ErrClosed, Cause: err}
	}
	return &device.Error{Call: "gang." + op, Kind: device.ErrMismatch, Cause: err}
}
