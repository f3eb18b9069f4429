package mixed

import "github.com/volley-go/volley/collective/transport"

// Of what an endpoint of shared memory does beside messages, its ranks write long ones into
// each other's memory here too. It merges no vectors and times no exchanges: those are
// agreed on by all ranks of a call.

// Expect is that of shared memory, for ranks that are reached so.
func (e *endpoint) Expect(from int, want *transport.Header, into []byte) {
	if at, near := e.there(from); near {
		if x, ok := e.near.(transport.Expecter); ok {
			x.Expect(at, want, into)
		}
	}
}

// Forget takes back what was expected.
func (e *endpoint) Forget() {
	if x, ok := e.near.(transport.Expecter); ok {
		x.Forget()
	}
}

// Copy copies.
func (e *endpoint) Copy(into, from []byte) {
	if x, ok := e.near.(transport.Expecter); ok {
		x.Copy(into, from)
		return
	}
	copy(into, from)
}
