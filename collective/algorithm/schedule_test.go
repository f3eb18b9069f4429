package algorithm

import (
	"fmt"
	"iter"
	"strings"
	"testing"
)

// A value is what one element holds: the expression that made it. The input of
// rank r at element i is "r:i"; a ⊕ b is "(a b)".
type value = string

// world runs all ranks' schedules of one call over expressions. Messages are
// handed over as in the strictest transport: a round ends only when all that it
// sent has been received.
type world struct {
	t     *testing.T
	calls []Call
	mem   [][3][]value
	next  []func() (*Round, bool)
	round []*Round
	recvd []int     // messages of the round taken
	out   [][]int   // messages of the round taken by their receivers, per rank
	lanes [][][]msg // [from][to]
}

type msg struct {
	from  int
	index int
	data  []value
}

func (w *world) at(rank int, r Range) []value {
	space := r.Space
	if space == Input && w.calls[rank].InPlace {
		return w.aliased(rank, r)
	}
	m := w.mem[rank][space]
	if r.Off < 0 || r.Len < 0 || r.Off+r.Len > int64(len(m)) {
		w.t.Fatalf("rank %d: %+v is outside an array of %d", rank, r, len(m))
	}
	return m[r.Off : r.Off+r.Len]
}

// aliased is a window of Input where it is the same memory as Output.
func (w *world) aliased(rank int, r Range) []value {
	c := &w.calls[rank]
	out := w.mem[rank][Output]
	switch c.Op {
	case AllReduce, Broadcast, Reduce:
		if len(out) > 0 {
			return out[r.Off : r.Off+r.Len]
		}
	case AllGather:
		at := c.offset(rank) + r.Off
		return out[at : at+r.Len]
	}
	return w.mem[rank][Input][r.Off : r.Off+r.Len]
}

func run(t *testing.T, a *Algorithm, calls []Call) *world {
	t.Helper()
	w := &world{t: t, calls: calls}
	n := len(calls)
	for r := range calls {
		c := calls[r]
		p := a.Plan(c)
		var m [3][]value
		m[Input] = make([]value, c.InputLen())
		m[Output] = make([]value, c.OutputLen())
		m[Scratch] = make([]value, p.Scratch)
		for i := range m[Scratch] {
			m[Scratch][i] = "?"
		}
		w.mem = append(w.mem, m)
		in := w.at(r, Range{Input, 0, c.InputLen()})
		for i := range in {
			in[i] = fmt.Sprintf("%d:%d", r, i)
		}
		next, stop := iter.Pull(p.Rounds)
		t.Cleanup(stop)
		w.next = append(w.next, next)
	}
	w.round, w.recvd, w.out = make([]*Round, n), make([]int, n), make([][]int, n)
	w.lanes = make([][][]msg, n)
	for r := range w.lanes {
		w.lanes[r] = make([][]msg, n)
		w.start(r)
	}
	for busy := true; busy; {
		busy = false
		for r := range w.round {
			for w.round[r] != nil && w.step(r) {
				busy = true
			}
		}
	}
	for r, round := range w.round {
		if round != nil {
			t.Fatalf("rank %d hangs in %+v", r, round)
		}
	}
	for from := range w.lanes {
		for to, left := range w.lanes[from] {
			if len(left) > 0 {
				t.Fatalf("%d messages from %d to %d were never received", len(left), from, to)
			}
		}
	}
	return w
}

// start enters rank r's next round: local steps, then its messages are on their way.
func (w *world) start(r int) {
	round, ok := w.next[r]()
	if !ok {
		w.round[r] = nil
		return
	}
	copied := *round
	copied.Sends, copied.Recvs = append([]Send(nil), round.Sends...), append([]Recv(nil), round.Recvs...)
	w.round[r], w.recvd[r], w.out[r] = &copied, 0, make([]int, 0, len(round.Sends))
	w.local(r, round.Local)
	for i, s := range round.Sends {
		if s.To == r {
			w.t.Fatalf("rank %d sends to itself", r)
		}
		// The receiver reads the sender's memory while the round lasts, as a transport without copies does.
		w.lanes[r][s.To] = append(w.lanes[r][s.To], msg{r, i, w.at(r, s.From)})
	}
	for _, l := range round.Late {
		if into, a := w.at(r, l.Into), w.at(r, l.A); &into[0] == &a[0] {
			continue // in place: nobody copies that
		}
		for _, s := range round.Sends {
			if overlap(w.at(r, s.From), w.at(r, l.Into)) {
				w.t.Fatalf("rank %d writes %+v late, which it sends, %+v", r, l, s)
			}
		}
		for _, v := range round.Recvs {
			if overlap(w.at(r, v.Into), w.at(r, l.Into)) || overlap(w.at(r, v.Into), w.at(r, l.A)) {
				w.t.Fatalf("rank %d receives %+v where a late step works, %+v", r, v, l)
			}
		}
	}
	w.local(r, round.Late)
}

// local does steps without messages.
func (w *world) local(r int, steps []Local) {
	for _, l := range steps {
		into, a := w.at(r, l.Into), w.at(r, l.A)
		if !l.Fold {
			copy(into, a)
			continue
		}
		b := w.at(r, l.B)
		for i := range into {
			into[i] = "(" + a[i] + " " + b[i] + ")"
		}
	}
}

// step receives one message, or ends a finished round.
func (w *world) step(r int) bool {
	round := w.round[r]
	if w.recvd[r] < len(round.Recvs) {
		v := round.Recvs[w.recvd[r]]
		lane := &w.lanes[v.From][r]
		if len(*lane) == 0 {
			return false
		}
		m := (*lane)[0]
		*lane = (*lane)[1:]
		if int64(len(m.data)) != v.Into.Len {
			w.t.Fatalf("rank %d expects %d elements of rank %d, which sends %d", r, v.Into.Len, v.From, len(m.data))
		}
		for _, s := range round.Sends {
			if overlap(w.at(r, s.From), w.at(r, v.Into)) {
				w.t.Fatalf("rank %d receives %+v into what it sends, %+v", r, v, s)
			}
		}
		into := w.at(r, v.Into)
		for i := range into {
			switch v.Side {
			case Plain:
				into[i] = m.data[i]
			case Right:
				into[i] = "(" + w.at(r, v.With)[i] + " " + m.data[i] + ")"
			case Left:
				into[i] = "(" + m.data[i] + " " + w.at(r, v.With)[i] + ")"
			}
		}
		w.recvd[r]++
		w.out[v.From] = append(w.out[v.From], m.index)
		return true
	}
	if len(w.out[r]) == len(round.Sends) {
		w.start(r)
		return true
	}
	return false
}

func overlap(a, b []value) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for i := range a {
		if &a[i] == &b[0] {
			return true
		}
	}
	for i := range b {
		if &b[i] == &a[0] {
			return true
		}
	}
	return false
}

// leaves are the contributions in an expression, in order.
func leaves(v value) []string {
	return strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(v))
}

// canonical is the tree's expression over element i of all ranks' inputs.
func canonical(n int, at func(r int) string) value {
	all := make([]value, n)
	for r := range all {
		all[r] = at(r)
	}
	for w := 1; w < n; w *= 2 {
		for a := 0; a+w < n; a += 2 * w {
			all[a] = "(" + all[a] + " " + all[a+w] + ")"
		}
	}
	return all[0]
}
