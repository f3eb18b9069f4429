package tune

import (
	"context"
	"errors"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// Crowd is what a transport showed with more ranks than processors, rank r on processor
// r mod processors. Those that are not named wait meanwhile.
type Crowd struct {
	Ranks int   `json:"ranks"`
	Eager int64 `json:"eager"` // as Figures.Eager
	// Seconds of a short message between two ranks of one processor, and of two.
	Near   float64 `json:"near"`
	Far    float64 `json:"far"`
	Send   float64 `json:"send"`   // the sender's part where the receiver does not wait
	Recv   float64 `json:"recv"`   // the receiver's, when it is there
	Asleep float64 `json:"asleep"` // the sender's, where the receiver sleeps and its processor is idle
	Again  float64 `json:"again"`  // a collective call of one rank whose processor another rank has had since its last one
	// Triangle is a short message from a rank to another of its processor, from there to a
	// rank of the other processor, and from there back.
	Triangle float64 `json:"triangle"`
	// All ranks send to the next and receive from the one before, on other processors; and
	// the same with a sum on arrival.
	Shift         []simulate.Point `json:"shift"`
	ShiftCombined []simulate.Point `json:"shift_combined"`
	// Messages one after another to rank 0, which nobody answers, from rank 1.
	Row []simulate.Point `json:"row"`
	// A message between two ranks of two processors, and all ranks that send a vector which they
	// have just written.
	Apart      []simulate.Point `json:"apart"`
	ShiftFresh []simulate.Point `json:"shift_fresh"`
	// Messages that need no flush between two processors, and between ranks of one, where both sides are at work in turn.
	FarTurn  Turn  `json:"far_turn"`
	NearTurn Turn  `json:"near_turn"`
	Depth    int64 `json:"depth"` // as Figures.Depth
	Room     int64 `json:"room"`  // as Figures.Room
	Least    int64 `json:"least"` // as Figures.Least
}

// curves are all that was measured by bytes.
func (c *Crowd) curves() []*[]simulate.Point {
	return []*[]simulate.Point{&c.Shift, &c.ShiftCombined, &c.Row, &c.Apart, &c.ShiftFresh}
}

// all are those of curves, and those of shorter messages only.
func (c *Crowd) all() []*[]simulate.Point {
	return append(c.curves(), &c.FarTurn.Sends, &c.FarTurn.Recvs, &c.NearTurn.Sends, &c.NearTurn.Recvs)
}

// crowd measures a Crowd.
func (m *meter) crowd(c *Crowd, processors int) error {
	r, size := m.ends.Rank(), m.ends.Size()
	only := func(other int, run func(other int) error) func() error {
		return func() error {
			switch r {
			case 0:
				return run(other)
			case other:
				return run(0)
			}
			return nil
		}
	}
	for _, x := range []struct {
		into  *float64
		other int
		run   func(other int) error
	}{
		{&c.Near, processors, func(other int) error { return m.between(other, 8) }},
		{&c.Far, 1, func(other int) error { return m.between(other, 8) }},
	} {
		var err error
		if *x.into, err = m.middle(only(x.other, x.run)); err != nil {
			return err
		}
	}
	if err := m.lone(1-min(r, 1), &c.Send, &c.Recv); err != nil {
		return err
	}
	c.Near, c.Far = c.Near/2, c.Far/2
	if err := m.again(c, processors, only); err != nil {
		return err
	}
	if processors > 1 {
		var err error
		if c.Triangle, err = m.middle(func() error { return m.triangle(processors) }); err != nil {
			return err
		}
	}
	if err := errors.Join(m.asleep(1, &c.Asleep), m.fill(c.Eager, &c.Depth, &c.Room, &c.Least)); err != nil {
		return err
	}
	// The lines of one lane stay in its reader's nearer caches, those of more lanes do not, and ranks that share processors have more.
	far := []int{1}
	if other := 1 + processors; other < size {
		far = append(far, other)
	}
	for _, n := range Lengths {
		if n > int(c.Eager) {
			break
		}
		if err := errors.Join(m.inTurn(far, n, c.Depth, &c.FarTurn), m.inTurn([]int{processors}, n, c.Depth, &c.NearTurn)); err != nil {
			return err
		}
	}
	for _, n := range Lengths[:len(Lengths)-1] {
		shift := func(combine bool) func() error {
			return func() error { return m.pass((r+1)%size, (r+size-1)%size, n, combine) }
		}
		if err := errors.Join(m.point(&c.Shift, n, 1, shift(false)), m.point(&c.ShiftCombined, n, 1, shift(true)),
			m.point(&c.Row, n, 1, func() error { return m.stream(1, n, false) }),
			m.point(&c.Apart, n, 0.5, only(1, func(other int) error { return m.between(other, n) })),
			m.point(&c.ShiftFresh, n, 1, func() error { return m.fresh((r+1)%size, (r+size-1)%size, n) })); err != nil {
			return err
		}
	}
	return nil
}

// again measures what a call takes a rank whose processor another had meanwhile: messages there and back between two
// of one processor that make one whenever they have a message, more than such messages alone.
func (m *meter) again(c *Crowd, other int, only func(other int, run func(other int) error) func() error) error {
	alone, err := collective.New(inproc.New(1)[0], collective.Options{})
	if err != nil {
		return err
	}
	defer alone.Close()
	v := []float32{1, 2}
	call := func() error {
		return alone.AllReduce(context.Background(), collective.Of(v), collective.Of(v), collective.Sum)
	}
	both, err := m.middle(only(other, func(other int) error { return errors.Join(call(), m.between(other, 8)) }))
	c.Again = max(0, both/2-c.Near)
	return err
}

// repaired are the figures without what only a disturbance can have made.
func (c *Crowd) repaired(send, recv float64) *Crowd {
	g := *c
	g.Shift, g.ShiftCombined, g.Row = rising(c.Shift), rising(c.ShiftCombined), rising(c.Row)
	g.Apart, g.ShiftFresh = rising(c.Apart), rising(c.ShiftFresh)
	g.FarTurn, g.NearTurn = c.FarTurn.repaired(), c.NearTurn.repaired()
	for i := range g.Shift {
		g.Shift[i].Seconds = min(g.Shift[i].Seconds, g.ShiftCombined[i].Seconds)
	}
	g.Send, g.Recv = min(c.Send, send), min(c.Recv, recv)
	return &g
}
