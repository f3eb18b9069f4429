package tune

import (
	"math"
	"slices"

	"github.com/volley-go/volley/collective/simulate"
)

// oneWrite is what a loopback socket takes as one packet.
const oneWrite = 64 << 10

// laid is how many bytes of a message package shm's sender copies to where the receiver finds them.
const laid = 512 << 10

// oneRead is what package tcp reads at a time where a short message may come.
const oneRead = 8 << 10

// Node is this machine with so many ranks, as the figures say it is.
func (f *Figures) Node(ranks int) *simulate.Network {
	f = f.repaired()
	c := f.short()
	c.Combine = math.Max(0, math.Max(f.OneCombined[0].Seconds-f.OneWay[0].Seconds, f.BothCombined[0].Seconds-f.BothWays[0].Seconds))
	if f.Transport == "tcp" {
		c.Next, c.Batch = math.Min(f.Next, c.Recv), oneRead
		f.sockets(&c)
	} else {
		f.memory(&c)
	}
	c.Fold = simulate.Rate{
		One: among(3, f.combined()),
		Two: among(4, per(f.BothCombined, func(i int) float64 { return f.BothWays[i].Seconds }, 1)), // who sums a message of an exchange sums no row
	}
	none := func(int) float64 { return 0 }
	n := simulate.Node(f.Transport, ranks, f.Processors, c)
	n.Call = f.Call
	n.Copy = simulate.Rate{One: per(f.Copy, none, 1), Two: per(f.CopyTwo, none, 1), OneOf: 2, TwoOf: 4, Share: 1, Once: true}
	n.Caches = simulate.Rate{One: among(2, per(f.Caches, none, 1)), Two: among(4, per(f.CachesTwo, none, 1))}
	n.Fold = simulate.Rate{One: among(2, per(f.Sum, none, 1)), Two: among(4, per(f.SumTwo, none, 1))}
	if f.Crowd != nil && ranks > f.Processors {
		n.Looks = f.Transport != "tcp"
		f.Crowd.share(n)
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
	c.Whole, c.Eager = oneWrite, math.MaxInt64
	c.SendByte = simulate.Rate{One: oneSide(one, two), Two: two, OneOf: 2, TwoOf: 4, Share: 0.5}
	c.RecvByte = c.SendByte
}

// oneSide is the time a byte of one side of a message whose way takes one, which is no more
// than where both sides send.
func oneSide(one, two simulate.Curve) simulate.Curve {
	busy := slices.Clone(one)
	for i := range busy {
		if busy[i].Bytes <= oneWrite {
			busy[i].Seconds /= 2
		}
		busy[i].Seconds = math.Min(busy[i].Seconds, two[i].Seconds)
	}
	return busy
}

// memory are the costs of bytes that both sides copy where messages are short, and the
// receiver where they are long. Both sides of a short one are no longer at work than a row
// of messages shows, and what an exchange takes more is nobody's time. One message waits for
// another only where their sender waits for their receiver.
func (f *Figures) memory(c *simulate.Costs) {
	a, both := f.alpha(), f.BothWays[0].Seconds
	c.Send, c.Recv = math.Min(f.Send, f.Row[0].Seconds), math.Min(f.Recv, f.Row[0].Seconds)
	c.Latency = math.Max(0, math.Max(a, both)-c.Send-c.Recv)
	c.Eager, c.Whole, c.Long = f.Eager, f.Eager, f.step(c.Send+c.Recv+c.Latency)
	c.Depth, c.Room, c.Least, c.Gap = int(f.Depth), f.Room, int(f.Least), nil
	c.Helped, c.Laid = true, laid
	c.FreshByte = simulate.Rate{
		One: among(3, per(f.OneFresh, func(i int) float64 { return f.OneWay[i].Seconds + f.Copy[i].Seconds }, 1)),
		Two: among(6, per(f.BothFresh, func(i int) float64 { return f.BothWays[i].Seconds + f.CopyTwo[i].Seconds }, 1)),
	}
	long := func(int) float64 { return c.Send + c.Recv + c.Latency + c.Long }
	combined := func(int) float64 { return long(0) + c.Combine }
	c.RecvByte = simulate.Rate{One: per(f.Row, long, 1), Two: per(f.BothWays, long, 1), OneOf: 2, TwoOf: 4, Share: 1, Once: true}
	c.CombineByte = simulate.Rate{One: per(f.RowCombined, combined, 1), Two: per(f.BothCombined, combined, 1), OneOf: 3, TwoOf: 4, Share: 1}
	for i := range upTo(f.Eager, c.CombineByte.One) { // of an exchange of short ones most is nobody's time
		c.CombineByte.Two[i] = c.CombineByte.One[i]
	}
	whole := upTo(f.Eager, per(f.BothWays, func(int) float64 { return both }, 1))
	busy, flight := slices.Clone(whole), slices.Clone(whole)
	for i := range whole {
		row := at(f.Row, whole[i].Bytes)
		busy[i].Seconds = math.Min(whole[i].Seconds/2, math.Max(0, row-math.Max(c.Send, c.Recv))/whole[i].Bytes)
		flight[i].Seconds = whole[i].Seconds - 2*busy[i].Seconds
	}
	c.ShortByte, c.Flight = simulate.Rate{One: busy, OneOf: 4, Share: 0.5}, flight
}

// among is a curve of what was measured with so many vectors of its lengths, by the size of
// all of them together.
func among(vectors float64, c simulate.Curve) simulate.Curve {
	all := slices.Clone(c)
	for i := range all {
		all[i].Bytes *= vectors
	}
	return all
}

// at is the time of a length that was measured.
func at(c []simulate.Point, bytes float64) float64 {
	i := slices.IndexFunc(c, func(p simulate.Point) bool { return p.Bytes == bytes })
	return c[i].Seconds
}

// combined is what a byte costs more that is summed on arrival: by the time of a message
// alone, and not above that of a row of them.
func (f *Figures) combined() simulate.Curve {
	return per(f.OneCombined, func(i int) float64 {
		one := f.OneCombined[i].Seconds
		return one - math.Min(one-f.OneWay[i].Seconds, math.Max(0, f.RowCombined[i].Seconds-f.Row[i].Seconds/2))
	}, 1)
}

// upTo is the part of a curve that is of messages of up to so many bytes.
func upTo(eager int64, c simulate.Curve) simulate.Curve {
	n := 0
	for n < len(c) && c[n].Bytes <= float64(eager) {
		n++
	}
	return c[:n:n]
}

// share makes a network of more ranks than processors from one of figures of two. A message
// there and back between two ranks of one processor is two changes of ranks, besides both
// sides' parts. Where a rank looks for one of another processor before it leaves, the triangle
// tells how long; where it sleeps, the triangle tells how long it takes to come back after
// others have worked, who sends to it has it woken, and it finds out that it must sleep in
// what a message that is there takes. A byte of two processors at work costs what it takes
// where all ranks send and receive, one of one processor what a row of messages shows; of
// messages that both sides copy it costs each side what it does where they work in turn.
func (c *Crowd) share(n *simulate.Network) {
	sharing := math.Ceil(float64(c.Ranks) / float64(n.Cores))
	x := &n.Inside
	x.Send, x.Recv, x.Latency, x.Gap, x.Flight = c.Send, c.Recv, 0, nil, nil
	if n.Looks {
		x.Latency = math.Max(0, c.Far-c.Send-c.Recv)
		n.LeaveNear = math.Max(0, c.Near-c.Send-c.Recv)
		n.Leave = math.Max(n.LeaveNear, c.Triangle-n.LeaveNear-2*(c.Send+c.Recv))
	} else {
		n.Rouse = math.Max(0, c.Asleep-c.Send)
		n.Leave, n.LeaveNear = c.Recv, c.Recv
		n.WakeNear = math.Max(0, c.Near-c.Send-2*c.Recv)
		n.Wake = math.Max(c.Far, (c.Triangle-c.Near)/2) - c.Send - c.Recv - n.Rouse
		n.Wake = math.Max(0, n.Wake)
	}
	fixed := func(i int) float64 { return c.Shift[0].Seconds }
	two := per(c.Shift, fixed, sharing)
	half := per(c.Shift, fixed, 2*sharing)
	all := 2 * float64(c.Ranks)
	if len(x.SendByte.One) > 0 {
		row := per(c.Row, func(int) float64 { return c.Row[0].Seconds }, 1)
		x.Stream = row
		x.SendByte = simulate.Rate{One: among(2, oneSide(row, half)), Two: among(all, half)}
		x.RecvByte = x.SendByte
	} else {
		x.RecvByte = simulate.Rate{One: among(2, per(c.Row, func(int) float64 { return c.Far + x.Long }, 1)), Two: among(all, two)}
		x.Eager, x.Whole, x.Depth, x.Room, x.Least = c.Eager, c.Eager, int(c.Depth), c.Room, int(c.Least)
		x.Helped = false
		x.CombineByte = simulate.Rate{}
		x.FreshByte.Two = among(1.5*all, per(c.ShiftFresh, func(i int) float64 {
			p := c.Shift[i]
			return p.Seconds + sharing*p.Bytes*(n.Copy.Two.At(p.Bytes)+math.Max(0, n.Caches.Two.At(all*p.Bytes)-n.Caches.Two.At(n.Copy.TwoOf*p.Bytes)))
		}, sharing))
		c.turns(n)
	}
	// A rank that has its processor again finds the caches full of another's.
	cold := math.Max(0, c.Again-n.Call)
	if n.Looks {
		n.Leave, n.LeaveNear = n.Leave+cold, n.LeaveNear+cold
	} else {
		n.Wake, n.WakeNear = n.Wake+cold, n.WakeNear+cold
	}
	summed := among(all, per(c.ShiftCombined, func(i int) float64 { return c.Shift[i].Seconds }, sharing))
	for i := range summed {
		// Changes of ranks take longer than short vectors, whose sums take what those of vectors do, more than copies.
		if bytes := summed[i].Bytes / all; bytes < 64<<10 {
			summed[i].Seconds = math.Max(0, n.Fold.One.At(2*bytes)-n.Copy.One.At(bytes))
		}
	}
	if x.Fold.Two = summed; n.Looks {
		// Alone it takes no longer than all at once; between two ranks it may, whose messages go other ways.
		x.Fold = simulate.Rate{One: summed}
	}
}
