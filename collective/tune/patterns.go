package tune

import (
	"errors"

	"github.com/volley-go/volley/collective/transport"
)

// between is a vector from this rank to another and back, where this one is rank 0, else
// the other way round.
func (m *meter) between(other, n int) error {
	there := func() error { return m.give(other, m.in[:n/4]) }
	back := func() error { return m.recv(other, m.out[:n/4], nil, nil) }
	if m.ends.Rank() > 0 {
		return errors.Join(back(), there())
	}
	return errors.Join(there(), back())
}

// exchange is a vector each way at once, as all ranks of a Comm exchange where there are two.
func (m *meter) exchange(n int, combine bool) error {
	x, chooses := m.ends.(transport.Exchanger)
	if chooses = chooses && !combine && n >= 1<<10; chooses {
		x.Exchange(n)
	}
	err := m.pass(1-m.ends.Rank(), 1-m.ends.Rank(), n, combine)
	if chooses && err == nil {
		x.Exchanged()
	}
	return err
}

// pass is a vector to one rank and one from a rank.
func (m *meter) pass(to, from, n int, combine bool) error {
	var with []float32
	if combine {
		with = m.in[:n/4]
	}
	return errors.Join(m.send(to, m.in[:n/4]), m.recv(from, m.out[:n/4], with, nil), m.ends.Flush(to))
}

// exchangeFresh is exchange with vectors that both have just written.
func (m *meter) exchangeFresh(n int) error {
	copy(m.in[:n/4], m.new[:n/4])
	return m.exchange(n, false)
}

// fresh is a vector that this rank has just written to one rank, and one from a rank.
func (m *meter) fresh(to, from, n int) error {
	copy(m.in[:n/4], m.new[:n/4])
	return m.pass(to, from, n, false)
}

// oneFresh is oneWay with a vector that its sender has just written.
func (m *meter) oneFresh(n int) error {
	if m.ends.Rank() == 1 {
		copy(m.in[:n/4], m.new[:n/4])
	}
	return m.oneWay(n, false)
}

// oneWay is a vector to rank 0, which may sum it, and a short message back: unlike vectors
// there and back it has no more memory at work than a message has.
func (m *meter) oneWay(n int, combine bool) error {
	if m.ends.Rank() == 1 {
		return errors.Join(m.give(0, m.in[:n/4]), m.recv(0, m.out[:2], nil, nil))
	}
	var with []float32
	if combine {
		with = m.in[:n/4]
	}
	return errors.Join(m.recv(1, m.out[:n/4], with, nil), m.send(1, m.in[:2]), m.ends.Flush(1))
}

// stream is a vector from another rank to rank 0, which does not answer: as many follow each
// other as the lane holds.
func (m *meter) stream(other, n int, combine bool) error {
	switch m.ends.Rank() {
	case other:
		return m.give(0, m.in[:n/4])
	case 0:
		var with []float32
		if combine {
			with = m.in[:n/4]
		}
		return m.recv(other, m.out[:n/4], with, nil)
	}
	return nil
}

// triangle is a message from rank 0 to the next of its own processor, near, from there to
// rank 1 and from there back: rank 0 waits for one of another processor, and near cannot go
// on before rank 0 has left.
func (m *meter) triangle(near int) error {
	from, to := 0, 0
	switch m.ends.Rank() {
	case 0:
		return errors.Join(m.give(near, m.in[:2]), m.recv(1, m.out[:2], nil, nil))
	case near:
		from, to = 0, 1
	case 1:
		from, to = near, 0
	default:
		return nil
	}
	return errors.Join(m.recv(from, m.out[:2], nil, nil), m.give(to, m.in[:2]))
}
