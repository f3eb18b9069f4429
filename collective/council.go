package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// council is how the ranks that a Fault has left agree on who goes on. It belongs to the
// watch's goroutine, and works on notes.
//
// Every rank that shrinks tells the others its round: a ballot, and the ranks that it
// takes for gone. Who hears of a higher ballot, or of more ranks, takes them over and
// tells the others again. When all that are left have the same round they meet for the
// new group, each says so, and who has heard it of all says that it is done, to all,
// before it returns. What goes wrong before, a rank that is lost or a meeting that does
// not come about, is another round. A rank that says it is done takes part in no other,
// and no round ends without one of its ranks: so there is one new group.
type council struct {
	w       *watch
	out     []bool     // ranks that do not go on
	ballot  uint64     // the highest that was heard of
	views   []*message // the latest round of each rank
	seat    *seat      // of this rank's Shrink, nil where it is not in it
	mine    round      // that was told last
	stage   stage
	stop    context.CancelFunc // of the meeting
	since   time.Time          // the last step forward
	failing time.Time          // since when meetings do not come about
	again   bool               // a Shrink of this rank has ended without a group
	group   *group             // that this rank has met, of mine or of a round before
	done    bool               // all have met it,
	given   bool               // and Shrink has returned it
	ousted  bool               // the others go on without this rank
}

// round is what is to be agreed on.
type round struct {
	ballot uint64
	out    []int
}

// stage is how far a round is on this rank.
type stage uint8

const (
	away stage = iota
	told
	meeting
	inside
)

// group is a new endpoint.
type group struct {
	of   round
	name string
	ends transport.Endpoint
}

// seat is a call of Shrink.
type seat struct {
	ctx    context.Context
	result chan outcome
}

type outcome struct {
	group *group
	at    time.Time // when all had the group
	err   error
}

func (r round) equal(o round) bool { return r.ballot == o.ballot && slices.Equal(r.out, o.out) }

// tells says that the rank of the message has come to the round.
func (m *message) tells(r round) bool {
	return m != nil && r.equal(round{m.Ballot, m.Dead})
}

func (n *council) lost() (out []int) {
	for r, gone := range n.out {
		if gone {
			out = append(out, r)
		}
	}
	return out
}

func (n *council) members() (ranks []int) {
	for r, gone := range n.out {
		if !gone {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// enter is the beginning of a Shrink.
func (n *council) enter(s *seat) {
	switch {
	case n.seat != nil:
		s.result <- outcome{err: device.Errorf(device.ErrUnsupported, "", "Shrink", "another call of it runs")}
		return
	case n.given:
		s.result <- outcome{err: device.Errorf(device.ErrUnsupported, "", "Shrink", "it has given the new Comm already")}
		return
	}
	n.seat, n.since, n.failing = s, n.w.ran, time.Time{}
	if n.done {
		n.give()
		return
	}
	if n.ballot == 0 || n.again {
		n.ballot++
	}
	n.again = false
	n.step()
}

// leave ends this rank's Shrink without a group.
func (n *council) leave(s *seat, err error) {
	if n.seat != s {
		return
	}
	n.cancel()
	n.seat, n.stage, n.again = nil, away, true
	n.w.send(&message{Kind: "shrink", Ballot: n.mine.ballot, Dead: n.mine.out, Away: true})
	s.result <- outcome{err: err}
}

func (n *council) cancel() {
	if n.stop != nil {
		n.stop()
		n.stop = nil
	}
}

// step does what can be done now.
func (n *council) step() {
	w := n.w
	if n.seat == nil || w.fault.Load() == nil {
		return
	}
	for r, why := range w.gone {
		if why != "" && r != w.c.Rank() {
			n.out[r] = true
		}
	}
	now := round{n.ballot, n.lost()}
	if w.late && len(now.out) == w.c.Size()-1 && w.c.Size() > 1 {
		n.ousted = true
	}
	if n.ousted {
		n.leave(n.seat, &device.Error{Call: "Shrink", Kind: device.ErrLost, Text: "this rank was declared lost by the others", Cause: w.fault.Load()})
		return
	}
	if n.stage == away || !now.equal(n.mine) {
		n.cancel()
		n.mine, n.stage, n.since = now, told, w.ran
		w.send(&message{Kind: "shrink", Ballot: now.ballot, Dead: now.out})
	}
	switch absent := n.absent(); {
	case len(absent) > 0 && n.overdue(absent):
		n.leave(n.seat, &Fault{Cause: Timeout, Op: "Shrink", Seq: w.fault.Load().Seq, Ranks: absent, Elapsed: w.ran.Sub(n.since), By: w.c.Rank(), Text: "it lives and has not come"})
	case len(absent) > 0:
	case n.stage == told:
		n.meet()
	case n.stage == inside:
		n.finish()
	}
}

// absent are the ranks that this one waits for.
func (n *council) absent() (ranks []int) {
	for _, r := range n.members() {
		if r != n.w.c.Rank() && (!n.views[r].tells(n.mine) || n.stage == inside && !n.views[r].In) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// overdue says that ranks which live were waited for long enough: until the context's
// own end, where it has one. Of one that is silent the watch knows soon.
func (n *council) overdue(ranks []int) bool {
	w, o := n.w, &n.w.c.options
	_, bounded := n.seat.ctx.Deadline()
	return !bounded && w.ran.Sub(n.since) > o.Deadline &&
		!slices.ContainsFunc(ranks, func(r int) bool { return w.ran.Sub(w.heard[r]) > 2*o.Heartbeat+pause })
}

// meet has the ranks of the round open their new group.
func (n *council) meet() {
	w, members, of := n.w, n.members(), n.mine
	name := fmt.Sprintf("shrink %v, %d", members, of.ballot)
	ctx, stop := context.WithCancel(n.seat.ctx)
	n.stage, n.stop = meeting, stop
	go func() {
		ends, err := w.c.ends.Split(ctx, name, members)
		stop()
		if err != nil {
			select {
			case <-time.After(pause / 5): // what it may have met has its time to be known
			case <-w.quit:
			}
		}
		if !w.call(func() { n.met(of, &group{of, name, ends}, err) }) && err == nil {
			_ = ends.Close() // the Comm was closed meanwhile, and nobody wants the group
		}
	}()
}

// met is the end of a meeting.
func (n *council) met(of round, g *group, err error) {
	if n.stage != meeting || !of.equal(n.mine) {
		if err == nil {
			_ = g.ends.Close() // a round that is over
		}
		return
	}
	n.stop = nil
	var gone *transport.Absent
	switch {
	case err == nil:
		n.drop()
		n.group, n.stage, n.since = g, inside, n.w.ran
		n.w.send(&message{Kind: "shrink", Ballot: of.ballot, Dead: of.out, In: true})
	case errors.As(err, &gone) && gone.Rank >= 0 && gone.Rank < len(n.out) && gone.Rank != n.w.c.Rank():
		n.out[gone.Rank] = true // the transport may know it before the watch
	default:
		if n.failing.IsZero() {
			n.failing = n.w.ran
		}
		if n.w.ran.Sub(n.failing) > n.w.c.options.Deadline {
			n.leave(n.seat, &device.Error{Call: "Shrink", Kind: device.ErrUnavailable, Cause: err})
			return
		}
		n.ballot++
	}
	n.step()
}

// drop closes a group that nobody has taken. All of a later round have come to that one,
// so that nobody has returned with this.
func (n *council) drop() {
	if n.group != nil && !n.given {
		_ = n.group.ends.Close() // nothing was sent there
		n.group = nil
	}
}

// finish ends the agreement: the others are told before this rank returns.
func (n *council) finish() {
	n.done = true
	n.w.send(n.last())
	n.give()
}

// last says that the group is there.
func (n *council) last() *message {
	return &message{Kind: "shrink", Ballot: n.group.of.ballot, Dead: n.group.of.out, In: true, Done: true}
}

// give returns the group, where a Shrink waits for it.
func (n *council) give() {
	if n.seat != nil {
		n.cancel()
		n.seat.result <- outcome{group: n.group, at: n.w.ran}
		n.seat, n.given = nil, true
	}
}

// hear takes another rank's note.
func (n *council) hear(from int, m *message) {
	w := n.w
	for _, r := range m.Dead {
		if r < 0 || r >= len(n.out) {
			return // of no rank of this group
		}
	}
	expelled := contains(m.Dead, w.c.Rank())
	if n.out[from] && !(expelled && w.late) {
		// It was judged, and may live: it is told. What it says itself does not count.
		if !m.Answer {
			w.sendTo(from, &message{Kind: "shrink", Ballot: n.ballot, Dead: n.lost(), Answer: true})
		}
		return
	}
	if expelled {
		n.ousted = true
		n.step()
		return
	}
	if n.done {
		if !m.Done {
			w.sendTo(from, n.last())
		}
		return
	}
	n.views[from], n.since = m, w.ran
	if m.Away {
		n.views[from] = nil
	}
	n.ballot = max(n.ballot, m.Ballot)
	if m.Done && n.group != nil && m.tells(n.group.of) {
		n.finish()
		return
	}
	for _, r := range m.Dead {
		n.out[r] = true
	}
	n.step()
}
