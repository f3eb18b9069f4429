package mixed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/shm"
)

// Ranks that are near tell each other, by notes over TCP, how their join of shared memory
// went: they use it if it went well on all of them. It is a rank's first note to another.
const (
	wentWell  = "volley near: joined"
	wentWrong = "volley near: "
)

// maxReason bounds what is told of a failure, in bytes.
const maxReason = 1 << 10

// council is what the near ranks have told each other.
type council struct {
	names  []int                   // what ranks are called by who waits
	cancel context.CancelCauseFunc // of this rank's join
	done   chan struct{}           // closed when all others have said something
	gone   chan struct{}           // closed when one is lost that has not

	mu     sync.Mutex
	said   map[int]string
	waited int
	lost   *transport.Absent
}

func newCouncil(others int, names []int, cancel context.CancelCauseFunc) *council {
	return &council{names: names, cancel: cancel, done: make(chan struct{}), gone: make(chan struct{}), said: map[int]string{}, waited: others}
}

// hears takes a note of a near rank, and says whether it was one to the council.
func (c *council) hears(n transport.Note) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, before := string(n.Text), c.said[n.From]
	switch {
	case before != "":
		return false
	case n.Err != nil:
		if c.lost == nil {
			c.lost = &transport.Absent{Rank: c.names[n.From], Err: n.Err}
			close(c.gone)
			c.cancel(c.lost)
		}
		return false
	case !strings.HasPrefix(text, wentWrong):
		return false
	}
	if c.said[n.From] = text; text != wentWell {
		c.cancel(&unable{strings.TrimPrefix(text, wentWrong)})
	}
	if c.waited--; c.waited == 0 {
		close(c.done)
	}
	return true
}

// unable ends the join of a rank since another one cannot.
type unable struct{ why string }

func (u *unable) Error() string { return u.why }

// told is what a rank says of its own join: of a failure that is another one's, what that said.
func told(rank int, err error) string {
	if err == nil {
		return wentWell
	}
	why := fmt.Sprintf("rank %d: %v", rank, err)
	if other := (*unable)(nil); errors.As(err, &other) {
		why = other.why
	}
	return wentWrong + strings.ToValidUTF8(why[:min(len(why), maxReason)], "")
}

// verdict is what went wrong, by the first rank that says something, or why there is none:
// a rank is lost, or the context has ended before all was well.
func (c *council) verdict(ctx context.Context, members []int) (wrong string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost != nil {
		return "", c.lost
	}
	var rest []int
	for _, r := range members {
		switch text := c.said[r]; {
		case text == "":
			rest = append(rest, c.names[r])
		case text != wentWell && wrong == "":
			wrong = strings.TrimPrefix(text, wentWrong)
		}
	}
	switch {
	case len(rest) > 0:
		return "", fmt.Errorf("%w: ranks %v have not joined shared memory", context.Cause(ctx), rest)
	case wrong != "" && ctx.Err() != nil:
		return "", fmt.Errorf("%w: shared memory could not be joined: %s", context.Cause(ctx), wrong)
	}
	return wrong, nil
}

// joinMemory is shm.Join. Tests have others.
var joinMemory = shm.Join

// join has the members of a group of near ranks join shared memory. An error is that of a
// rank that does not come; where the memory cannot be had there is none, and e.near stays nil.
func (e *endpoint) join(ctx context.Context, group int, members, names []int) error {
	joining, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := newCouncil(len(members)-1, names, cancel)
	e.hear(c, members)
	own := e.Rank()
	near, err := joinMemory(joining, fmt.Sprintf("near-%s-%d", e.far.Group(), group), slices.Index(members, own), len(members))
	said := told(names[own], err)
	for _, r := range members {
		if r != own {
			_ = e.far.Signal(r, []byte(said)) // one that is lost is told of by a note
		}
	}
	c.mu.Lock()
	c.said[own] = said
	c.mu.Unlock()
	select {
	case <-c.done:
	case <-c.gone:
	case <-ctx.Done():
	}
	wrong, err := c.verdict(ctx, members)
	if near != nil && (err != nil || wrong != "") {
		err = errors.Join(err, near.Close())
		if r, ok := near.(transport.Releaser); ok {
			r.Release()
		}
		near = nil
	}
	e.why = wrong
	e.decide(near, members)
	return err
}
