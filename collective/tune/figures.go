package tune

import (
	"math"
	"slices"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/simulate"
)

// Figures are what a transport showed: seconds by bytes of a vector, the median of
// several trials.
type Figures struct {
	Transport  string  `json:"transport"`
	Processors int     `json:"processors"`
	Eager      int64   `json:"eager"` // bytes of the longest message that its sender may change at once
	Call       float64 `json:"call"`  // a collective call of one rank
	// Between two ranks.
	OneWay       []simulate.Point `json:"one_way"`       // a message
	BothWays     []simulate.Point `json:"both_ways"`     // a message each way at once
	OneCombined  []simulate.Point `json:"one_combined"`  // a message that is summed on arrival
	BothCombined []simulate.Point `json:"both_combined"` // such messages each way at once
	Row          []simulate.Point `json:"row"`           // each of messages one after another, which nobody answers
	RowCombined  []simulate.Point `json:"row_combined"`  // and where they are summed on arrival
	Send         float64          `json:"send"`          // the sender's part of a short message whose receiver does not wait
	Recv         float64          `json:"recv"`          // the receiver's, when it is there
	Next         float64          `json:"next"`          // the receiver's of one that came with others
	Depth        int64            `json:"depth"`         // messages that a lane holds, 0 for no end that was found
	Room         int64            `json:"room"`          // and bytes, of messages of 8 KiB
	Least        int64            `json:"least"`         // and messages of Eager bytes
	// A message that its sender has just written, with the writing: one way, and each way at once.
	OneFresh  []simulate.Point `json:"one_fresh"`
	BothFresh []simulate.Point `json:"both_fresh"`
	// On one rank, and on each of two at once.
	Copy      []simulate.Point `json:"copy"`
	CopyTwo   []simulate.Point `json:"copy_two"`
	Caches    []simulate.Point `json:"caches"` // a copy in pieces
	CachesTwo []simulate.Point `json:"caches_two"`
	Sum       []simulate.Point `json:"sum"`
	SumTwo    []simulate.Point `json:"sum_two"`
	// Crowd is nil where it was not measured.
	Crowd *Crowd `json:"crowd,omitempty"`
}

// curves are all that was measured by bytes.
func (f *Figures) curves() []*[]simulate.Point {
	return []*[]simulate.Point{&f.OneWay, &f.BothWays, &f.OneCombined, &f.BothCombined, &f.Copy, &f.CopyTwo, &f.Sum, &f.SumTwo, &f.Row, &f.RowCombined, &f.OneFresh, &f.BothFresh, &f.Caches, &f.CachesTwo}
}

// Complete says that all was measured of two ranks: a file may be of an earlier version.
func (f *Figures) Complete() bool {
	for _, c := range f.curves() {
		if len(*c) < 2 || len(*c) != len(f.OneWay) {
			return false
		}
	}
	if f.Crowd != nil {
		for _, c := range f.Crowd.curves() {
			if len(*c) < 2 || len(*c) != len(f.Crowd.Shift) {
				return false
			}
		}
		return f.Crowd.FarTurn.complete(f.Crowd.Eager) && f.Crowd.NearTurn.complete(f.Crowd.Eager)
	}
	return true
}

// numbers are all that was measured.
func (f *Figures) numbers() []*float64 {
	all := []*float64{&f.Call, &f.Send, &f.Recv, &f.Next}
	curves := f.curves()
	if c := f.Crowd; c != nil {
		all = append(all, &c.Near, &c.Far, &c.Send, &c.Recv, &c.Asleep, &c.Again, &c.Triangle)
		curves = append(curves, c.all()...)
	}
	for _, c := range curves {
		for i := range *c {
			all = append(all, &(*c)[i].Seconds)
		}
	}
	return all
}

// clone has curves of its own.
func (f *Figures) clone() *Figures {
	g := *f
	all := g.curves()
	if f.Crowd != nil {
		c := *f.Crowd
		g.Crowd = &c
		all = append(all, g.Crowd.all()...)
	}
	for _, c := range all {
		*c = slices.Clone(*c)
	}
	return &g
}

// repaired are the figures without what only a disturbance can have made: a longer
// message is not faster than a shorter one, nor two at once than one alone.
func (f *Figures) repaired() *Figures {
	g := *f
	all, from := g.curves(), f.curves()
	for i := range all {
		*all[i] = rising(*from[i])
	}
	// A further message of a row takes what the busier side takes, or more.
	g.Send, g.Recv = math.Min(g.Send, g.Row[0].Seconds), math.Min(g.Recv, g.Row[0].Seconds)
	if g.Crowd != nil {
		g.Crowd = g.Crowd.repaired(g.Send, g.Recv)
	}
	// The first of each pair is no longer than the second; of the last ones first, since
	// what they lower may lower others.
	for _, pair := range [][2]int{{2, 3}, {1, 3}, {0, 2}, {0, 1}, {4, 5}, {6, 7}} {
		for k := range *all[pair[0]] {
			(*all[pair[0]])[k].Seconds = math.Min((*all[pair[0]])[k].Seconds, (*all[pair[1]])[k].Seconds)
		}
	}
	// A further message of a row takes what the busier side takes, or more.
	g.Send, g.Recv = math.Min(g.Send, g.Row[0].Seconds), math.Min(g.Recv, g.Row[0].Seconds)
	if g.Crowd != nil {
		g.Crowd = g.Crowd.repaired(g.Send, g.Recv)
	}
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {4, 5}, {6, 7}} {
		for k := range *all[pair[1]] {
			(*all[pair[1]])[k].Seconds = math.Max((*all[pair[1]])[k].Seconds, (*all[pair[0]])[k].Seconds)
		}
	}
	return &g
}

// rising is a curve on which a longer message is not faster than a shorter one.
func rising(from []simulate.Point) []simulate.Point {
	all := slices.Clone(from)
	for k := len(all) - 2; k >= 0; k-- {
		all[k].Seconds = math.Min(all[k].Seconds, all[k+1].Seconds)
	}
	return all
}

// step is what a message that lies where it is costs more than a short one, bytes not
// counted: the line through the first two such lengths, at no bytes.
func (f *Figures) step(short float64) float64 {
	for i, p := range f.Row[:len(f.Row)-1] {
		if next := f.Row[i+1]; p.Bytes > float64(f.Eager) {
			slope := (next.Seconds - p.Seconds) / (next.Bytes - p.Bytes)
			return math.Max(0, p.Seconds-slope*p.Bytes-short)
		}
	}
	return 0
}

// alpha is a short message's time.
func (f *Figures) alpha() float64 { return f.OneWay[0].Seconds }

// per is the time a byte above a fixed one, shared between so many; never negative.
func per(all []simulate.Point, fixed func(i int) float64, share float64) simulate.Curve {
	var c simulate.Curve
	for i, p := range all {
		if i > 0 || p.Bytes > 64 {
			c = append(c, simulate.Point{Bytes: p.Bytes, Seconds: math.Max(0, (p.Seconds-fixed(i))/p.Bytes/share)})
		}
	}
	return c
}

// modelBytes is the length of the vectors whose rates the α-β-γ model has: an input and an
// output on each of two ranks.
const modelBytes = 1 << 20

// Model is the α-β-γ model of the transport: α with a call's share, β and γ with both
// ranks at work on vectors of a megabyte.
func (f *Figures) Model() algorithm.Model {
	n := f.Node(2)
	of := func(r simulate.Rate) float64 { return math.Max(r.One.At(4*modelBytes), r.Two.At(4*modelBytes)) }
	return algorithm.Model{
		Alpha: f.repaired().alpha(),
		Beta:  math.Max(1e-13, of(n.Inside.SendByte)+of(n.Inside.RecvByte)),
		Gamma: of(n.Inside.Fold),
	}
}
