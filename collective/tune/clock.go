package tune

import (
	"errors"
	"time"
)

// clock is the time in nanoseconds by a clock that all processes of the machine have.
func clock() int64 { return time.Now().UnixNano() }

// stamp is a number of nanoseconds as a message carries it: each element has sixteen bits of
// it, which a float32 holds.
func stamp(v []float32, at int64) {
	for i := range 4 {
		v[i] = float32(uint16(at >> (16 * i)))
	}
}

// stamped is the number that stamp wrote.
func stamped(v []float32) (at int64) {
	for i := range 4 {
		at |= int64(uint16(v[i])) << (16 * i)
	}
	return at
}

// whole gives rank 0 the seconds from when the first rank began until the last was done.
func (m *meter) whole(began, done int64) (float64, error) {
	v := make([]float32, 8)
	if m.ends.Rank() > 0 {
		stamp(v, began)
		stamp(v[4:], done)
		return 0, errors.Join(m.send(0, v), m.ends.Flush(0))
	}
	for r := 1; r < m.ends.Size(); r++ {
		if err := m.recv(r, v, nil, nil); err != nil {
			return 0, err
		}
		began, done = min(began, stamped(v)), max(done, stamped(v[4:]))
	}
	return float64(done-began) / 1e9, nil
}
