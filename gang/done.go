package gang

import (
	"context"
	"time"
)

// doneContext is a context that ends with a channel.
type doneContext struct{ done <-chan struct{} }

func (doneContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (d doneContext) Done() <-chan struct{}     { return d.done }
func (doneContext) Value(any) any               { return nil }

func (d doneContext) Err() error {
	select {
	case <-d.done:
		return context.Canceled
	default:
		return nil
	}
}
