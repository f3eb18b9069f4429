package mixed

import (
	"slices"

	"github.com/volley-go/volley/collective/transport"
)

// hear begins to take notes over TCP, those of some members to their council.
func (e *endpoint) hear(c *council, members []int) {
	e.council = c
	e.ears.Go(func() {
		for n := range e.far.Notes() {
			near := slices.Contains(members, n.From)
			switch {
			case near && c.hears(n):
			case near && n.Err != nil:
				e.lost(n)
			default:
				e.box.Put(n)
			}
		}
	})
}

// lost passes on that a near rank's connection over TCP has ended, where that is what there is
// to it: shared memory tells of a rank behind its last message there.
func (e *endpoint) lost(n transport.Note) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.decided:
		e.kept = append(e.kept, n)
	case e.near == nil:
		e.box.Put(n)
	}
}

// decide says what the way between members is; near is nil where it is TCP.
func (e *endpoint) decide(near transport.Endpoint, members []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.decided = true
	if near == nil {
		for _, n := range e.kept {
			e.box.Put(n)
		}
		e.kept = nil
		return
	}
	e.near, e.members, e.kept = near, members, nil
	for i, r := range members {
		if r != e.Rank() {
			e.place[r] = i
		}
	}
}

// start begins to take the notes of both.
func (e *endpoint) start() {
	if e.council == nil {
		e.hear(nil, nil)
	}
	if e.near == nil {
		return
	}
	e.ears.Go(func() {
		for n := range e.near.Notes() {
			n.From = e.members[n.From]
			e.box.Put(n)
		}
	})
}
