package tune

import (
	"errors"
	"slices"
	"time"
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

// exchange is a vector each way at once.
func (m *meter) exchange(n int, combine bool) error {
	return m.pass(1-m.ends.Rank(), 1-m.ends.Rank(), n, combine)
}

// pass is a vector to one rank and one from a rank.
func (m *meter) pass(to, from, n int, combine bool) error {
	var with []float32
	if combine {
		with = m.in[:n/4]
	}
	return errors.Join(m.send(to, m.in[:n/4]), m.recv(from, m.out[:n/4], with, nil), m.ends.Flush(to))
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

// rowTo is a row of vectors from rank 0 to another, and a short one back.
func (m *meter) rowTo(other, n int) error {
	if m.ends.Rank() > 0 {
		for range row {
			if err := m.recv(0, m.out[:n/4], nil, nil); err != nil {
				return err
			}
		}
		return errors.Join(m.send(0, m.in[:2]), m.ends.Flush(0))
	}
	for range row {
		if err := m.give(other, m.in[:n/4]); err != nil {
			return err
		}
	}
	return m.recv(other, m.out[:2], nil, nil)
}

// still is how long the receiver of a short message looks away, so that it is there when
// it looks: longer than the message takes, and than its sender takes to be woken.
const still = 50 * time.Microsecond

// loneTries is how often a lone message is sent for one figure.
const loneTries = 200

// lone is a short message from rank 0 to another that does not wait for it, and finds it
// when it does: rank 0 gets what its own work at it takes, and the other's.
func (m *meter) lone(other int) (send, recv float64, err error) {
	sends, recvs, clock := make([]float64, loneTries), make([]float64, loneTries), make([]float64, loneTries)
	reply := make([]float32, 2)
	for i := range sends {
		if m.ends.Rank() > 0 {
			for start := time.Now(); time.Since(start) < still; {
			}
		}
		start := time.Now()
		clock[i] = time.Since(start).Seconds()
		start = time.Now()
		if m.ends.Rank() > 0 {
			err = m.recv(0, m.out[:2], nil, nil)
			reply[0] = float32(time.Since(start).Seconds())
			err = errors.Join(err, m.give(0, reply))
		} else {
			err = m.send(other, m.in[:2])
			sends[i] = time.Since(start).Seconds()
			err = errors.Join(err, m.ends.Flush(other), m.recv(other, reply, nil, nil))
			recvs[i] = float64(reply[0])
		}
		if err != nil {
			return 0, 0, err
		}
	}
	// The quarter that nothing disturbed, less what looking at the clock takes.
	quarter := func(all []float64) float64 {
		slices.Sort(all)
		return all[len(all)/4]
	}
	looks := quarter(clock)
	return max(0, quarter(sends)-looks), max(0, quarter(recvs)-looks), nil
}
