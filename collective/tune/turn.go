package tune

import (
	"errors"
	"math"
	"time"

	"github.com/volley-go/volley/collective/simulate"
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
// which there always is room.
const turnBytes = 256 << 10

// inTurn adds to a Turn what messages of n bytes from rank 0 to another take. A receiver on another
// processor looks away until they have all come; one of rank 0's has no processor until then.
func (m *meter) inTurn(other, n int, t *Turn) error {
	if err := m.barrier(); err != nil || m.ends.Rank() != 0 && m.ends.Rank() != other {
		return err
	}
	count := min(batch, max(8, turnBytes/n))
	away := time.Duration(0)
	if other == 1 {
		away = batch*still/8 + time.Duration(count*n)*time.Nanosecond/2
	}
	each := float64(count - 1) // the first one is not counted
	sends, recvs, v := make([]float64, loneTries), make([]float64, loneTries), make([]float32, 4)
	many := func(one func() error) (time.Duration, error) {
		if err := one(); err != nil {
			return 0, err
		}
		start := time.Now()
		for range count - 1 {
			if err := one(); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
	for i := range sends {
		if m.ends.Rank() == 0 {
			took, err := many(func() error { return m.send(other, m.in[:n/4]) })
			if err := errors.Join(err, m.ends.Flush(other), m.recv(other, v, nil, nil)); err != nil {
				return err
			}
			sends[i], recvs[i] = took.Seconds()/each, float64(stamped(v))/1e9/each
			continue
		}
		for start := time.Now(); time.Since(start) < away; {
		}
		took, err := many(func() error { return m.recv(0, m.out[:n/4], nil, nil) })
		if stamp(v, int64(took)); err == nil {
			err = m.give(0, v)
		}
		if err != nil {
			return err
		}
	}
	t.Sends = append(t.Sends, simulate.Point{Bytes: float64(n), Seconds: quarter(sends)})
	t.Recvs = append(t.Recvs, simulate.Point{Bytes: float64(n), Seconds: quarter(recvs)})
	return nil
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
