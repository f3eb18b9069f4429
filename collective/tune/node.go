package tune

import (
	"math"

	"github.com/volley-go/volley/collective/simulate"
)

// oneWrite is what a loopback socket takes as one packet.
const oneWrite = 64 << 10

// Node is this machine with so many ranks, as the figures say it is.
func (f *Figures) Node(ranks int) *simulate.Network {
	f = f.repaired()
	c := f.short()
	if f.Transport == "tcp" {
		f.sockets(&c)
	} else {
		f.memory(&c)
	}
	c.Fold = simulate.Rate{
		One: per(f.OneCombined, func(i int) float64 { return f.OneWay[i].Seconds }, 1),
		Two: per(f.BothCombined, func(i int) float64 { return f.BothWays[i].Seconds }, 1),
	}
	none := func(int) float64 { return 0 }
	n := simulate.Node(f.Transport, ranks, f.Processors, c)
	n.Call = f.Call
	n.Copy = simulate.Rate{One: per(f.Copy, none, 1), Two: per(f.CopyTwo, none, 1)}
	n.Fold = simulate.Rate{One: per(f.Sum, none, 1), Two: per(f.SumTwo, none, 1)}
	if f.Crowd != nil && ranks > f.Processors {
		f.Crowd.share(n)
		n.Looks = f.Transport != "tcp"
	}
	return n
}

// short are the costs of a short message between two ranks: both sides' parts, as they
// are where neither waits for the other. Where an exchange takes longer than a message
// one way, both sides take so much longer; one way that overlaps, and the latency is less
// than nothing.
func (f *Figures) short() simulate.Costs {
	a, both := f.alpha(), f.BothWays[0].Seconds
	all := f.Send + f.Recv
	if both > a {
		all = math.Max(all, math.Min(both, 2*a))
	}
	share := 0.5
	if f.Send+f.Recv > 0 {
		share = f.Send / (f.Send + f.Recv)
	}
	return simulate.Costs{Send: all * share, Recv: all * (1 - share), Latency: a - all, Gap: f.Row}
}

// sockets are the costs of bytes that the processors of both sides copy. One write
// brings a short message, and its receiver reads only then: both sides' copies are in
// the time of one way. Of a longer one they are made at once, and that time is of both.
func (f *Figures) sockets(c *simulate.Costs) {
	a := f.alpha()
	one := per(f.OneWay, func(int) float64 { return a }, 1)
	two := per(f.BothWays, func(int) float64 { return f.BothWays[0].Seconds }, 2)
	c.Stream = one
	busy := make(simulate.Curve, len(one))
	for i := range one {
		busy[i] = one[i]
		if one[i].Bytes <= oneWrite {
			busy[i].Seconds /= 2
		}
		busy[i].Seconds = math.Min(busy[i].Seconds, two[i].Seconds)
	}
	c.Whole, c.Eager = oneWrite, math.MaxInt64
	c.SendByte = simulate.Rate{One: busy, Two: two}
	c.RecvByte = c.SendByte
}

// memory are the costs of bytes that both sides copy where messages are short, and the
// receiver where they are long.
func (f *Figures) memory(c *simulate.Costs) {
	a, both := f.alpha(), f.BothWays[0].Seconds
	c.Eager, c.Whole, c.Long = f.Eager, f.Eager, f.step()
	fixed := func(short float64) func(int) float64 {
		return func(i int) float64 {
			if f.OneWay[i].Bytes > float64(f.Eager) {
				return short + c.Long
			}
			return short
		}
	}
	c.RecvByte = simulate.Rate{One: per(f.OneWay, fixed(a), 1), Two: per(f.BothWays, fixed(both), 1)}
	c.ShortByte = simulate.Rate{One: upTo(f.Eager, per(f.OneWay, fixed(a), 2)), Two: upTo(f.Eager, per(f.BothWays, fixed(both), 2))}
}

// upTo is the part of a curve that is of messages of up to so many bytes.
func upTo(eager int64, c simulate.Curve) simulate.Curve {
	n := 0
	for n < len(c) && c[n].Bytes <= float64(eager) {
		n++
	}
	return c[:n:n]
}

// share makes a network of more ranks than processors from one of figures of two. Where
// all ranks send to the next processor and receive from the one before, one change of ranks
// on each lets two ranks on by a round; where they do so on their own processor, by one.
// So much, less both sides' parts, is a change of ranks after a wait for a rank of another
// processor, which a transport may look for first, and of the same one. A byte of two
// processors at work costs what it takes where all ranks send and receive.
func (c *Crowd) share(n *simulate.Network) {
	sharing := math.Ceil(float64(c.Ranks) / float64(n.Cores))
	x := &n.Inside
	x.Send, x.Recv, x.Latency, x.Gap = c.Send, c.Recv, 0, nil
	n.LeaveNear = math.Max(0, c.ShiftNear/sharing-c.Send-c.Recv)
	n.Leave = math.Max(0, sharing*(c.Shift[0].Seconds-c.Send-c.Recv))
	n.Wake = math.Max(0, c.Far-c.Send-c.Recv)
	fixed := func(i int) float64 { return c.Shift[0].Seconds }
	two := per(c.Shift, fixed, sharing)
	half := per(c.Shift, fixed, 2*sharing)
	if len(x.SendByte.One) > 0 {
		x.SendByte.Two = half
		x.RecvByte = x.SendByte
	} else {
		x.RecvByte = simulate.Rate{One: two}
		x.Eager, x.Whole = c.Eager, c.Eager
		x.ShortByte = simulate.Rate{One: upTo(c.Eager, half)}
	}
	x.Fold = simulate.Rate{One: x.Fold.One, Two: per(c.ShiftCombined, func(i int) float64 { return c.Shift[i].Seconds }, sharing)}
}
