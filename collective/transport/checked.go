package transport

import "github.com/volley-go/volley/internal/crc32c"

// checked adds a checksum to every message.
type checked struct{ Endpoint }

// Checked is an endpoint whose messages carry the CRC-32C of their payload; one
// that arrives changed gives a *Corrupt. All ranks of a group use it, or none. It
// costs a pass over the bytes on each side.
func Checked(e Endpoint) Endpoint { return checked{e} }

// Post adds the sum.
func (c checked) Post(to int, h *Header, payload []byte) error {
	summed := *h
	summed.Sum = crc32c.Checksum(payload)
	return c.Endpoint.Post(to, &summed, payload)
}

// Recv compares it.
func (c checked) Recv(from int, want *Header, sink *Sink) error {
	var sum uint32
	over := *sink
	if combine := sink.Combine; combine != nil {
		over.Apart = false // the sum is of the parts in order
		over.Combine = func(off int, part []byte) {
			sum = crc32c.Update(sum, part)
			combine(off, part)
		}
	}
	got := *want
	if err := c.Endpoint.Recv(from, &got, &over); err != nil {
		return err
	}
	if sink.Combine == nil {
		sum = crc32c.Checksum(sink.Into)
	}
	if sum != got.Sum {
		return &Corrupt{From: from, Got: got}
	}
	return nil
}
