package tune

import "errors"

// pingPong is a vector there and back.
func (m *meter) pingPong(n int) error {
	other := 1 - m.ends.Rank()
	there := func() error { return errors.Join(m.send(other, m.in[:n/4])) }
	back := func() error { return m.recv(other, m.out[:n/4], nil, nil) }
	if m.ends.Rank() == 1 {
		return errors.Join(back(), there(), m.ends.Flush(other))
	}
	return errors.Join(there(), back(), m.ends.Flush(other))
}

// exchange is a vector each way at once.
func (m *meter) exchange(n int, combine bool) error {
	other := 1 - m.ends.Rank()
	var with []float32
	if combine {
		with = m.in[:n/4]
	}
	return errors.Join(m.send(other, m.in[:n/4]), m.recv(other, m.out[:n/4], with, nil), m.ends.Flush(other))
}

// combined is a vector to rank 0, which sums it, and a short message back.
func (m *meter) combined(n int) error {
	if m.ends.Rank() == 1 {
		return errors.Join(m.send(0, m.in[:n/4]), m.recv(0, m.out[:2], nil, nil), m.ends.Flush(0))
	}
	return errors.Join(m.recv(1, m.out[:n/4], m.in[:n/4], nil), m.send(1, m.in[:2]), m.ends.Flush(1))
}

// inRow is a row of short messages and one back.
func (m *meter) inRow() error {
	if m.ends.Rank() == 1 {
		for range row {
			if err := m.recv(0, m.out[:2], nil, nil); err != nil {
				return err
			}
		}
		return errors.Join(m.send(0, m.in[:2]), m.ends.Flush(0))
	}
	for range row {
		if err := m.send(1, m.in[:2]); err != nil {
			return err
		}
	}
	return errors.Join(m.recv(1, m.out[:2], nil, nil), m.ends.Flush(1))
}

// token is a short message once around all ranks.
func (m *meter) token() error {
	n, r := m.ends.Size(), m.ends.Rank()
	next, prev := (r+1)%n, (r+n-1)%n
	if r == 0 {
		return errors.Join(m.send(next, m.in[:2]), m.ends.Flush(next), m.recv(prev, m.out[:2], nil, nil))
	}
	return errors.Join(m.recv(prev, m.out[:2], nil, nil), m.send(next, m.in[:2]), m.ends.Flush(next))
}
