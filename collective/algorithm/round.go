package algorithm

import "iter"

// Space is one of the arrays that a schedule works on, all counted in elements.
type Space uint8

// The arrays of a call. Input is what the rank gives and is never written.
// Output is its result. Scratch is of the length that Plan.Scratch says. A rank
// whose call has no result (not the root of a Reduce) has no Output.
const (
	Input Space = iota
	Output
	Scratch
)

// Range is a run of elements of one array.
type Range struct {
	Space    Space
	Off, Len int64
}

// part is the window [off, off+n) of r.
func (r Range) part(off, n int64) Range { return Range{r.Space, r.Off + off, n} }

// Send is a message to another rank.
type Send struct {
	To   int
	From Range
}

// Side says whether a message is reduced on arrival, and on which side of the
// operand it stands.
type Side uint8

// The sides of a message: Plain overwrites; Right makes Into = With ⊕ message,
// Left makes Into = message ⊕ With.
const (
	Plain Side = iota
	Right
	Left
)

// Recv is a message from another rank. Unless it is Plain, With is the other
// operand, of the same length as Into; it may be the same range.
type Recv struct {
	From int
	Into Range
	Side Side
	With Range
}

// Local is a step without messages: Into = A where B is empty, else Into = A ⊕ B.
type Local struct {
	Into, A, B Range
	Fold       bool
}

// Round is what one rank does between two points in its schedule: the local steps, the
// sends, the late local steps, during which others may take what was sent, the
// receives. A late step writes nothing that is sent, and is not what a receive writes.
type Round struct {
	Local []Local
	Sends []Send
	Late  []Local
	Recvs []Recv
}

// keptLocal is how many local steps a round has room for that are still to be
// filled: where one process walks all ranks' schedules, the room that a long round
// took would be held for each of them.
const keptLocal = 256

func (r *Round) reset() {
	if cap(r.Local) > keptLocal {
		r.Local = nil
	}
	if cap(r.Late) > keptLocal {
		r.Late = nil
	}
	r.Local, r.Sends, r.Late, r.Recvs = r.Local[:0], r.Sends[:0], r.Late[:0], r.Recvs[:0]
}

func (r *Round) copy(into, from Range) {
	if from.Len > 0 && into != from {
		r.Local = append(r.Local, Local{Into: into, A: from})
	}
}

func (r *Round) copyLate(into, from Range) {
	if from.Len > 0 && into != from {
		r.Late = append(r.Late, Local{Into: into, A: from})
	}
}

func (r *Round) fold(into, a, b Range) {
	if into.Len > 0 {
		r.Local = append(r.Local, Local{Into: into, A: a, B: b, Fold: true})
	}
}

func (r *Round) send(to int, from Range) {
	if from.Len > 0 {
		r.Sends = append(r.Sends, Send{to, from})
	}
}

func (r *Round) recv(from int, into Range) {
	if into.Len > 0 {
		r.Recvs = append(r.Recvs, Recv{From: from, Into: into})
	}
}

func (r *Round) reduce(from int, side Side, into, with Range) {
	if into.Len > 0 {
		r.Recvs = append(r.Recvs, Recv{From: from, Into: into, Side: side, With: with})
	}
}

func (r *Round) empty() bool { return len(r.Local)+len(r.Sends)+len(r.Late)+len(r.Recvs) == 0 }

// Plan is a rank's schedule: its rounds in order, and the elements of Scratch
// that they need. A round is valid until the next one is asked for. Rounds may be
// walked any number of times.
type Plan struct {
	Rounds  iter.Seq[*Round]
	Scratch int64
}

// none is the schedule of nothing.
var none = Plan{Rounds: func(func(*Round) bool) {}}

// flow hands rounds on one by one. next yields the round that was filled, unless
// it is empty, and clears it; it is false once the walk was stopped.
type flow struct {
	Round
	yield func(*Round) bool
	ended bool
}

func (f *flow) next() bool {
	if f.ended {
		return false
	}
	if !f.empty() {
		f.ended = !f.yield(&f.Round)
		f.reset()
	}
	return !f.ended
}

// plan makes a Plan of a function that fills rounds.
func plan(scratch int64, fill func(f *flow)) Plan {
	return Plan{Scratch: scratch, Rounds: func(yield func(*Round) bool) {
		f := &flow{yield: yield}
		fill(f)
		f.next()
	}}
}
