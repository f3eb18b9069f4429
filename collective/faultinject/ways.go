package faultinject

import "github.com/volley-go/volley/collective/transport"

// What an endpoint does beside messages it does under faults too, so that what meets them is what runs without them: ranks
// of one memory share their work, long messages are written to where they are expected, exchanges choose their way, and
// short messages need no flush.

// sharing is an endpoint whose ranks do each other's work.
type sharing struct {
	*endpoint
	transport.Sharer
}

// expecting is one whose long messages come while their receiver is at something else.
type expecting struct {
	*endpoint
	transport.Expecter
}

// exchanging is one that has a choice for exchanges as well.
type exchanging struct {
	expecting
	transport.Exchanger
}

// dressed is the endpoint with what the one under it can do.
func (e *endpoint) dressed() transport.Endpoint {
	switch under := e.Endpoint.(type) {
	case transport.Sharer:
		return sharing{e, under}
	case transport.Expecter:
		if x, ok := e.Endpoint.(transport.Exchanger); ok {
			return exchanging{expecting{e, under}, x}
		}
		return expecting{e, under}
	}
	return e
}

// Eager is that of the endpoint under it, or nothing.
func (e *endpoint) Eager() int {
	if eager, ok := e.Endpoint.(transport.Eager); ok {
		return eager.Eager()
	}
	return 0
}
