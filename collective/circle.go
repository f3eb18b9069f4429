package collective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volley-go/volley/collective/algorithm"
)

// stuck is what a rank tells the others of an operation that has not moved for a
// heartbeat. Calls that send no message to each other, such as a Recv and an AllReduce,
// show that they differ only so: each rank waits for another one, around a circle.
type stuck struct {
	Op     uint8  // algorithm.Op, sendRecv or grouping
	Seq    uint64 // the operations of all ranks that it has begun
	On     int    // the rank that it waits for
	Recv   bool   `json:",omitempty"` // of sendRecv: it receives,
	Number uint64 `json:",omitempty"` // this message of the lane, from 1
	// Messages between it and the rank that is told, of sendRecv.
	Sent  uint64 `json:",omitempty"`
	Taken uint64 `json:",omitempty"`
	Mark  uint64 // tells it from what the rank is at when it has moved
	Sure  bool   // what it waits for could not come when the other rank
	Next  uint64 // was where this mark says
	Text  string
}

// grouping is the code of what makes a group, such as Sub.
const grouping = algorithm.Op(101)

// current is where this rank is, nil where it is nowhere or just moving.
func (w *watch) current() *stuck {
	p, self := &w.c.now, w.c.Rank()
	state := p.words[inState].Load()
	op := state >> opShift &^ watchedMark
	if op == 0 {
		return w.meetings.current(w)
	}
	s := &stuck{Op: uint8(op - 1), Seq: p.seq(), On: int(state>>waitingShift&0xffff) - 1, Mark: state}
	if s.Op == uint8(sendRecv) {
		s.Seq-- // other ranks do not count it
		how := p.pair[0].Load()
		s.Recv = how&1 != 0
		way, to := 0, "sends"
		if s.Recv {
			way, to = 1, "receives"
		}
		if s.On >= 0 {
			s.Number = w.c.pairs[way][s.On].Load()
		}
		s.Text = fmt.Sprintf("SendRecv of rank %d (%s %d %s)", self, to, p.pair[1].Load(), Type(how>>1))
	} else if c, ok := p.calls.at(s.Seq); ok {
		call := c.call()
		s.Text = describeCall(self, s.Seq, &call) + ")"
	} else {
		s.Text = fmt.Sprintf("%s #%d of rank %d", opName(algorithm.Op(s.Op)), s.Seq, self)
	}
	if p.words[inState].Load() != state {
		return nil
	}
	return s
}

// tellStuck is called with every heartbeat.
func (w *watch) tellStuck() {
	s := w.current()
	if s == nil || s.On < 0 || w.fault.Load() != nil {
		w.held = nil
		return
	}
	if w.held == nil || w.held.Mark != s.Mark || w.held.Seq != s.Seq {
		w.held, w.beats = s, 0
		return
	}
	w.beats++
	if next := w.stuck[s.On]; next != nil {
		s.Sure, s.Next = w.sure(s, next), next.Mark
	}
	w.held = s
	for r := range w.gone {
		to := *s
		to.Sent, to.Taken = w.c.pairs[0][r].Load(), w.c.pairs[1][r].Load()
		w.sendTo(r, &message{Kind: "stuck", Stuck: &to})
	}
}

// sure says that what this rank waits for cannot come before the other one gets on.
func (w *watch) sure(s, other *stuck) bool {
	switch {
	case s.Op == uint8(grouping):
		return true
	case s.Op != uint8(sendRecv):
		return other.Seq < s.Seq || other.Seq == s.Seq && other.Op < uint8(sendRecv)
	case s.Recv:
		return other.Sent < s.Number
	}
	return other.Taken < s.Number
}

// circle is the Fault of ranks that wait for each other for ever, of which this is one;
// nil where there are none, as far as it knows. Ranks that are all in one operation are
// none: their messages may be long.
func (w *watch) circle() *Fault {
	if w.held == nil || w.beats < 2 || !w.held.Sure || w.fault.Load() != nil {
		return nil
	}
	if now := w.current(); now == nil || now.Mark != w.held.Mark || now.Seq != w.held.Seq {
		return nil
	}
	self := w.c.Rank()
	ranks, chain := []int{self}, []*stuck{w.held}
	for last := w.held; last.On != self; {
		s := w.stuck[last.On]
		if s == nil || !s.Sure || s.Mark != last.Next || len(ranks) == w.c.Size() {
			return nil
		}
		ranks, chain = append(ranks, last.On), append(chain, s)
		last = s
	}
	if chain[len(chain)-1].Next != w.held.Mark {
		return nil
	}
	if !slices.ContainsFunc(chain, func(s *stuck) bool {
		return s.Op >= uint8(sendRecv) || s.Seq != w.held.Seq || s.Op != w.held.Op
	}) {
		return nil
	}
	var blamed []int
	for i, s := range chain {
		if s.Op >= uint8(sendRecv) {
			blamed = append(blamed, ranks[i], s.On)
		}
	}
	if blamed == nil {
		blamed = slices.Clone(ranks)
	}
	slices.Sort(blamed)
	first := slices.Index(ranks, slices.Min(ranks)) // whoever sees the circle tells of it alike
	var text []string
	for i := range min(len(chain), 8) {
		s := chain[(first+i)%len(chain)]
		text = append(text, fmt.Sprintf("%s waits for rank %d", s.Text, s.On))
	}
	return &Fault{Cause: Mismatch, Op: opName(algorithm.Op(w.held.Op)), Seq: w.held.Seq, Ranks: slices.Compact(blamed), Text: strings.Join(text, ", ")}
}

// valid says that a note is of ranks of this group.
func (s *stuck) valid(size int) bool { return s.On >= 0 && s.On < size }
