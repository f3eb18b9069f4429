package tune

import (
	"math"
	"slices"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/simulate"
)

// Figures are what a transport showed: seconds by bytes of a vector, the least of
// several trials.
type Figures struct {
	Transport  string  `json:"transport"`
	Processors int     `json:"processors"`
	Call       float64 `json:"call"` // a collective call of one rank
	// Between two ranks.
	OneWay       []simulate.Point `json:"one_way"`       // a message
	BothWays     []simulate.Point `json:"both_ways"`     // a message each way at once
	OneCombined  []simulate.Point `json:"one_combined"`  // a message that is summed on arrival, and a short one back
	BothCombined []simulate.Point `json:"both_combined"` // such messages each way at once
	InRow        float64          `json:"in_row"`        // each further one of short messages one after another
	// On one rank, and on each of two at once.
	Copy    []simulate.Point `json:"copy"`
	CopyTwo []simulate.Point `json:"copy_two"`
	Sum     []simulate.Point `json:"sum"`
	SumTwo  []simulate.Point `json:"sum_two"`
	// Hop is what a short message takes from rank to rank where ranks are Crowd, more
	// than processors; 0 where that was not measured.
	Hop   float64 `json:"hop,omitempty"`
	Crowd int     `json:"crowd,omitempty"`
}

// curves are all that was measured by bytes.
func (f *Figures) curves() []*[]simulate.Point {
	return []*[]simulate.Point{&f.OneWay, &f.BothWays, &f.OneCombined, &f.BothCombined, &f.Copy, &f.CopyTwo, &f.Sum, &f.SumTwo}
}

// repaired are the figures without what only a disturbance can have made: a longer
// message is not faster than a shorter one, nor two at once than one alone.
func (f *Figures) repaired() *Figures {
	g := *f
	all, from := g.curves(), f.curves()
	for i := range all {
		*all[i] = slices.Clone(*from[i])
		for k := len(*all[i]) - 2; k >= 0; k-- {
			(*all[i])[k].Seconds = math.Min((*all[i])[k].Seconds, (*all[i])[k+1].Seconds)
		}
	}
	for k := range g.OneCombined {
		g.OneCombined[k].Seconds -= g.alpha()
	}
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {4, 5}, {6, 7}} {
		for k := range *all[pair[1]] {
			(*all[pair[1]])[k].Seconds = math.Max((*all[pair[1]])[k].Seconds, (*all[pair[0]])[k].Seconds)
		}
	}
	return &g
}

// step is what a message that lies where it is costs more than a short one, bytes not
// counted: the line through the first two such lengths, at no bytes.
func (f *Figures) step() float64 {
	for i, p := range f.OneWay[:len(f.OneWay)-1] {
		if next := f.OneWay[i+1]; p.Bytes > 4032 {
			slope := (next.Seconds - p.Seconds) / (next.Bytes - p.Bytes)
			return math.Max(0, p.Seconds-slope*p.Bytes-f.alpha())
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

// oneWrite is what a loopback socket takes as one packet.
const oneWrite = 64 << 10

// Node is this machine with so many ranks, as the figures say it is. The processors
// of both sides copy at once what goes by sockets; elsewhere the receiver copies.
func (f *Figures) Node(ranks int) *simulate.Network {
	f = f.repaired()
	a := f.alpha()
	none := func(int) float64 { return 0 }
	// Both ranks send before they receive. What the exchange of short messages takes
	// longer than one of them overlaps where only one is sent: the receiver is at work
	// before the sender's call returns, and the latency is less than nothing.
	each := math.Min(math.Max(f.BothWays[0].Seconds, a), 2*a) / 2
	c := simulate.Costs{Send: each, Recv: each, Latency: a - 2*each}
	long := 0.0
	if f.Transport == "shm" {
		c.Eager, long = 4032, f.step()
		c.Long = long
	}
	above := func(fixed float64) func(int) float64 {
		return func(i int) float64 {
			if f.OneWay[i].Bytes > float64(c.Eager) {
				return fixed + long
			}
			return fixed
		}
	}
	one, both := per(f.OneWay, above(a), 1), per(f.BothWays, above(2*each), 1)
	switch f.Transport {
	case "tcp":
		// One write brings a short message, and its receiver reads only then: both sides'
		// copies are in the time of one way. Of a longer one they are made at once.
		c.Whole = oneWrite
		c.SendByte = simulate.Rate{One: one, Two: per(f.BothWays, above(2*each), 2)}
		for i := range one {
			if one[i].Bytes <= oneWrite {
				one[i].Seconds /= 2
			}
		}
		c.RecvByte = c.SendByte
		c.Eager = math.MaxInt64
	default:
		c.RecvByte = simulate.Rate{One: one, Two: both}
	}
	c.Fold = simulate.Rate{
		One: per(f.OneCombined, func(i int) float64 { return f.OneWay[i].Seconds }, 1),
		Two: per(f.BothCombined, func(i int) float64 { return f.BothWays[i].Seconds }, 1),
	}
	n := simulate.Node(f.Transport, ranks, f.Processors, c)
	n.Call = f.Call
	n.Copy = simulate.Rate{One: per(f.Copy, none, 1), Two: per(f.CopyTwo, none, 1)}
	n.Fold = simulate.Rate{One: per(f.Sum, none, 1), Two: per(f.SumTwo, none, 1)}
	if f.Crowd > f.Processors {
		n.Switch = math.Max(0, f.Hop-a)
	}
	return n
}

// modelBytes is the length of the vectors whose rates the α-β-γ model has.
const modelBytes = 1 << 20

// Model is the α-β-γ model of the transport: α with a call's share, β and γ with both
// ranks at work on vectors of a megabyte.
func (f *Figures) Model() algorithm.Model {
	n := f.Node(2)
	of := func(r simulate.Rate) float64 { return math.Max(r.One.At(modelBytes), r.Two.At(modelBytes)) }
	return algorithm.Model{
		Alpha: f.repaired().alpha(),
		Beta:  math.Max(1e-13, of(n.Inside.SendByte)+of(n.Inside.RecvByte)),
		Gamma: of(n.Inside.Fold),
	}
}
