package tune

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/collective/transport/processors"
)

// Turn is what each of messages that need no flush takes its sender while their receiver does
// something else, and what it takes their receiver then, by length. Ranks that share processors
// work so: a rank sends while others have their turn, and takes what has come when it has its own.
type Turn struct {
	Sends []simulate.Point `json:"sends"`
	Recvs []simulate.Point `json:"recvs"`
}

// complete says that all lengths that need no flush were measured.
func (t *Turn) complete(eager int64) bool {
	n := 0
	for n < len(Lengths) && int64(Lengths[n]) <= eager {
		n++
	}
	return len(t.Sends) == n && len(t.Recvs) == n
}

func (t *Turn) repaired() Turn { return Turn{rising(t.Sends), rising(t.Recvs)} }

// turnBytes are those of messages that come in one turn, at the most where they are more than eight, for
// which there always is room. Short ones are as many as nearly fill the lane, as those of ranks that wait for nobody are: they
// do not stay in the nearest cache.
const turnBytes = 512 << 10

// inTurn adds to a Turn what messages of n bytes from rank 0 to others of one processor take, one rank after another.
// Those on another processor look away until all have come; those on rank 0's have no processor until then.
func (m *meter) inTurn(others []int, n int, depth int64, t *Turn) error {
	var send, recv float64
	err := m.host.steady(func() (err error) {
		send, recv, err = m.turn(others, n, depth)
		return err
	})
	t.Sends = append(t.Sends, simulate.Point{Bytes: float64(n), Seconds: send})
	t.Recvs = append(t.Recvs, simulate.Point{Bytes: float64(n), Seconds: recv})
	return err
}

func (m *meter) turn(others []int, n int, depth int64) (send, recv float64, err error) {
	if err := m.barrier(); err != nil {
		return 0, 0, err
	}
	count, err := m.tell(int(max(8, min(depth*3/4, turnBytes/int64(n)))))
	place := slices.Index(others, m.ends.Rank())
	if err != nil || m.ends.Rank() > 0 && place < 0 {
		return 0, 0, err
	}
	sends, recvs, v := make([]float64, loneTries), make([]float64, loneTries), make([]float32, 4)
	for i := range sends {
		if place >= 0 {
			if err := m.takeTurn(others, place, n, count); err != nil {
				return 0, 0, err
			}
			continue
		}
		for _, other := range others {
			took, err := but1(count, func() error { return m.send(other, m.in[:n/4]) })
			if err != nil {
				return 0, 0, err
			}
			sends[i] += took / float64(len(others))
		}
		for _, other := range others {
			if err := errors.Join(m.ends.Flush(other), m.recv(other, v, nil, nil)); err != nil {
				return 0, 0, err
			}
			recvs[i] += float64(stamped(v)) / 1e12 / float64(len(others))
		}
	}
	return quarter(sends), quarter(recvs), nil
}

// takeTurn takes the messages of one of the others, when those before it have theirs, and tells rank 0 what each took.
func (m *meter) takeTurn(others []int, place, n, count int) error {
	v := make([]float32, 4)
	switch {
	case place > 0:
		if err := m.recv(others[place-1], v, nil, nil); err != nil {
			return err
		}
	case others[0] < processors.Count:
		away := batch*still/8 + time.Duration(len(others)*count*n)*time.Nanosecond/2
		for start := time.Now(); time.Since(start) < away; {
		}
	}
	took, err := but1(count, func() error { return m.recv(0, m.out[:n/4], nil, nil) })
	if err != nil {
		return err
	}
	stamp(v, int64(1e12*took))
	if err := m.give(0, v); err != nil || place+1 == len(others) {
		return err
	}
	return m.give(others[place+1], v)
}

// but1 is what each of so many takes, the first one not counted.
func but1(count int, one func() error) (float64, error) {
	if err := one(); err != nil {
		return 0, err
	}
	start := time.Now()
	for range count - 1 {
		if err := one(); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / float64(count-1), nil
}

// turns are the costs of messages that both sides copy where ranks share processors, nothing where all
// messages need a flush. What one between two processors takes longer than both sides work is nobody's time.
func (c *Crowd) turns(n *simulate.Network) {
	if len(c.FarTurn.Sends) < 2 || len(c.NearTurn.Sends) < 2 {
		return
	}
	far := &n.Inside
	near := *far
	for _, side := range []struct {
		of *simulate.Costs
		by *Turn
	}{{far, &c.FarTurn}, {&near, &c.NearTurn}} {
		x, t := side.of, side.by
		x.Send, x.Recv = t.Sends[0].Seconds, t.Recvs[0].Seconds
		x.ShortByte, x.ShortTake = byMessage(t.Sends), byMessage(t.Recvs)
	}
	far.Latency, near.Latency = math.Max(0, c.Far-far.Send-far.Recv), 0
	far.Flight = upTo(c.Eager, per(c.Apart, func(int) float64 { return c.Apart[0].Seconds }, 1))
	for i := range far.Flight {
		p := &far.Flight[i]
		p.Seconds = math.Max(0, p.Seconds-far.ShortByte.One.At(p.Bytes)-far.ShortTake.One.At(p.Bytes))
	}
	n.Near = &near
	n.LeaveNear = math.Max(0, c.Near-near.Send-near.Recv)
	n.Leave = math.Max(n.LeaveNear, c.Triangle-c.Near-far.Send-far.Recv)
}

// byMessage is what a byte costs a side. Two vectors and eight messages on their way are at work.
func byMessage(all []simulate.Point) simulate.Rate {
	return simulate.Rate{One: per(all, func(int) float64 { return all[0].Seconds }, 1), OneOf: 10, Share: 0.5}
}
