package tune

import (
	"errors"
	"slices"
	"time"
)

// still is how long the receiver of a short message looks away, so that it is there when
// it looks: longer than the message takes, and than its sender takes to be woken.
const still = 50 * time.Microsecond

// loneTries is how often a lone message is sent for one figure.
const loneTries = 200

// lone is a short message from rank 0 to another that does not wait for it, and finds it
// when it does: rank 0 gets what its own work at it takes, and the other's. All ranks may call it, those that take no part too.
func (m *meter) lone(other int, send, recv *float64) error {
	return m.host.steady(func() error {
		if m.ends.Rank() > 1 {
			return nil
		}
		return m.loneTo(other, send, recv)
	})
}

func (m *meter) loneTo(other int, send, recv *float64) (err error) {
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
			return err
		}
	}
	looks := quarter(clock)
	*send, *recv = max(0, quarter(sends)-looks), max(0, quarter(recvs)-looks)
	return nil
}

// quarter is the time that a quarter of all is below of: nothing disturbed it. It sorts.
func quarter(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/4]
}

// asleep is a short message from rank 0 to one that has had the time to go to sleep: what
// rank 0's own work at it takes.
func (m *meter) asleep(other int, into *float64) error {
	return m.host.steady(func() error {
		took, err := m.sleeper(other)
		*into = took
		return err
	})
}

func (m *meter) sleeper(other int) (float64, error) {
	sends, clock := make([]float64, loneTries), make([]float64, loneTries)
	for i := range sends {
		var err error
		switch m.ends.Rank() {
		case 0:
			time.Sleep(still) // the other one may need this processor
			for start := time.Now(); time.Since(start) < still; {
			}
			start := time.Now()
			clock[i] = time.Since(start).Seconds()
			start = time.Now()
			err = m.send(other, m.in[:2])
			sends[i] = time.Since(start).Seconds()
			err = errors.Join(err, m.ends.Flush(other), m.recv(other, m.out[:2], nil, nil))
		case other:
			err = errors.Join(m.recv(0, m.out[:2], nil, nil), m.give(0, m.in[:2]))
		}
		if err != nil {
			return 0, err
		}
	}
	return max(0, quarter(sends)-quarter(clock)), nil
}

// batch is how many messages come together.
const batch = 32

// together is what the receiver of short messages takes for each of some that have all come
// before it looks, besides the first: rank 0 gets it.
func (m *meter) together(into *float64) error {
	return m.host.steady(func() error {
		took, err := m.many()
		*into = took
		return err
	})
}

func (m *meter) many() (float64, error) {
	takes, v := make([]float64, loneTries), make([]float32, 4)
	for i := range takes {
		if m.ends.Rank() == 0 {
			for range batch {
				if err := m.send(1, m.in[:2]); err != nil {
					return 0, err
				}
			}
			if err := errors.Join(m.ends.Flush(1), m.recv(1, v, nil, nil)); err != nil {
				return 0, err
			}
			takes[i] = float64(stamped(v)) / 1e9 / (batch - 1)
			continue
		}
		for start := time.Now(); time.Since(start) < batch*still/8; {
		}
		if err := m.recv(0, m.out[:2], nil, nil); err != nil {
			return 0, err
		}
		start := time.Now()
		for range batch - 1 {
			if err := m.recv(0, m.out[:2], nil, nil); err != nil {
				return 0, err
			}
		}
		stamp(v, int64(time.Since(start)))
		if err := m.give(0, v); err != nil {
			return 0, err
		}
	}
	return quarter(takes), nil
}

// fill finds how many messages a lane holds, how many bytes of messages that need no flush, and how many of the
// longest of these: a sender that waits longer than anything else takes has filled it.
func (m *meter) fill(eager int64, depth, room, least *int64) error {
	return m.host.steady(func() error {
		medium := min(eager, 8<<10)
		for _, x := range []struct {
			into  *int64
			bytes int64
		}{{depth, 8}, {room, medium}, {least, eager}} {
			n, err := m.holds(int(x.bytes))
			if err != nil {
				return err
			}
			*x.into = int64(n)
		}
		*room *= medium
		return nil
	})
}

const (
	fullAfter = 5 * time.Millisecond // that the receiver looks away
	mostHeld  = 1024                 // messages that are tried: more than a lane has slots
)

// holds is how many messages of n bytes rank 0 sends before it waits for rank 1; 0 where it
// does not, or where that is all there is.
func (m *meter) holds(n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	if err := m.barrier(); err != nil {
		return 0, err
	}
	held := 0
	switch m.ends.Rank() {
	case 0:
		for i := range mostHeld {
			start := time.Now()
			if err := m.send(1, m.in[:n/4]); err != nil {
				return 0, err
			}
			if held == 0 && time.Since(start) > fullAfter/4 {
				held = i
			}
		}
		if err := m.ends.Flush(1); err != nil {
			return 0, err
		}
	case 1:
		for start := time.Now(); time.Since(start) < fullAfter; {
		}
		for range mostHeld {
			if err := m.recv(0, m.out[:n/4], nil, nil); err != nil {
				return 0, err
			}
		}
	}
	return held, m.barrier()
}
