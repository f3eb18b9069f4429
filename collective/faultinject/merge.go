package faultinject

import "github.com/volley-go/volley/collective/transport"

// Merges says no where all ranks are wrapped, so that messages are posted that events can befall. Of a
// rank whose others are other processes it says what those are told.
func (e *endpoint) Merges(to transport.Merged, n int) bool {
	for _, other := range e.in.ends {
		if other == nil {
			m, ok := e.Endpoint.(transport.Merger)
			return ok && m.Merges(to, n)
		}
	}
	return false
}

// Merge counts as one message. Where that is dropped, or the rank is parted from others, it waits for the
// interruption; one that would come twice or changed is merged as it is.
func (e *endpoint) Merge(m *transport.Merge) error {
	times, _ := e.meet()
	if err := e.gone(); err != nil {
		return err
	}
	for r := range e.Size() {
		if times == 0 || e.in.cut(e.Rank(), r) {
			<-e.stop.Done()
			return e.stop.Err()
		}
	}
	return e.Endpoint.(transport.Merger).Merge(m)
}
