package faultinject

import (
	"sync/atomic"

	"github.com/volley-go/volley/collective/transport"
)

// Combining is the Event.Look of the first time that a merge combines. Other ranks may do that for it, so nobody is held
// there but by a Delay: who is to freeze, or is parted from others, goes on until it turns to another rank, and a message
// is not dropped.
const Combining = -1

// WrapMerging is Wrap for reductions that the endpoints do themselves: of Wrap's ranks nothing is merged, so that
// there are messages that events can befall. A merge counts as one message; Event.Look puts an event into its middle.
func WrapMerging(ends []transport.Endpoint, events ...Event) ([]transport.Endpoint, *Injector) {
	return wrapAll(&Injector{merges: true}, ends, events)
}

// Merges says no where all ranks are wrapped and Wrap did it, so that messages are posted that events can befall. Of a
// rank whose others are other processes it says what those are told.
func (e *endpoint) Merges(to transport.Merged, n int) bool {
	merges := e.in.merges
	for _, other := range e.in.ends {
		merges = merges || other == nil
	}
	m, ok := e.Endpoint.(transport.Merger)
	return merges && ok && m.Merges(to, n)
}

// Merge counts as one message. Where that is dropped, or the rank is parted from others, it waits for the
// interruption; one that would come twice or changed is merged as it is.
func (e *endpoint) Merge(m *transport.Merge) error {
	n := e.posted.Add(1) - 1
	if err := e.turn(n, 0); err != nil {
		return err
	}
	for r := range e.Size() {
		if e.in.cut(e.Rank(), r) {
			m.On(r)
			<-e.stop.Done()
			return e.stop.Err()
		}
	}
	looks, on := 0, e.Rank()
	var combines atomic.Bool
	first := func() {
		if combines.CompareAndSwap(false, true) {
			e.meet(n, Combining)
		}
	}
	own := *m
	own.On = func(rank int) {
		m.On(rank)
		looks++
		on = rank
		err := e.turn(n, looks)
		if err == nil && e.in.cut(e.Rank(), rank) {
			<-e.stop.Done()
			err = e.stop.Err()
		}
		if err != nil {
			e.Endpoint.Interrupt(err) // the merge has no other way to hear of it
		}
	}
	own.Combine = func(into, a, b []byte) {
		first()
		m.Combine(into, a, b)
	}
	if m.Past != nil {
		own.Past = func(into, of [][]byte) bool {
			first()
			return m.Past(into, of)
		}
	}
	return e.named(on, e.Endpoint.(transport.Merger).Merge(&own))
}

// turn meets the events of a look of merge n, and is the error of a rank that does not go on.
func (e *endpoint) turn(n int64, look int) error {
	times, _ := e.meet(n, look)
	if times == 0 {
		<-e.stop.Done()
	}
	return e.gone()
}
