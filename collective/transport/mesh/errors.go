package mesh

import (
	"errors"
	"fmt"
)

// Hub is the rank of the node that the workers meet at.
const Hub = -1

// ErrStale is wrapped by the error of a node of an older generation that the gang refuses.
var ErrStale = errors.New("of an older generation of the gang")

// errClosed is the error of calls on a node that was closed.
var errClosed = errors.New("this place in the gang was closed")

// Gone is a node that is not there any more.
type Gone struct {
	Rank int
	Left bool // it closed its place; else it was lost
	Text string
}

// Error names it.
func (g *Gone) Error() string {
	who := fmt.Sprintf("rank %d", g.Rank)
	if g.Rank == Hub {
		who = "the gang's start"
	}
	if g.Left {
		return who + " has left"
	}
	return who + " is lost: " + g.Text
}

// Remote is the error that another node's handler gave.
type Remote struct {
	From int
	Text string
}

// Error is what it said.
func (r *Remote) Error() string { return r.Text }
