package collective

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
)

// errAlone is why a meeting ends that has no end of its own.
type errAlone struct {
	limit  time.Duration
	option string // that says so
}

func (e *errAlone) Error() string {
	return fmt.Sprintf("not all came within Options.%s, %v, and the context has no deadline", e.option, e.limit)
}
func (e *errAlone) Unwrap() error { return context.DeadlineExceeded }

// bounded gives a context that ends after Options.JoinTimeout where ctx has no deadline.
func (o *Options) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	limit, option := o.JoinTimeout, "JoinTimeout"
	if limit == 0 {
		limit, option = o.filled().Timeout, "Timeout"
	}
	if _, has := ctx.Deadline(); has || limit < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, &errAlone{limit, option})
}

// meetAs is a meeting of a Comm to be: it ends by bounded, and when it has waited for Options.Stall it is reported,
// once, with the ranks that it says have not come. first is the rank that is waited for where it does not say, and
// waited is called when it is reported.
func (o Options) meetAs(ctx context.Context, op, name string, rank, size, first int, waited func(), meet func(context.Context) (transport.Endpoint, error)) (transport.Endpoint, error) {
	if err := o.reportStalls(name, rank, size); err != nil {
		return nil, err
	}
	o = o.filled()
	if o.OnStall == nil && os.Getenv(stallVariable) != "0" { // a rank that nobody started would be waited for in silence
		o.OnStall = printStalls(name, rank, size)
	}
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	var mu sync.Mutex
	var absent []int
	over, began := false, time.Now()
	report := time.AfterFunc(o.Stall, func() {
		mu.Lock()
		late, missing := over, absent
		mu.Unlock()
		if late {
			return
		}
		waited()
		on := first
		if len(missing) > 0 {
			on = missing[0]
		} else if on == rank {
			on = (rank + 1) % size
		}
		if o.OnStall != nil {
			o.OnStall(Stall{Op: op, Waiting: on, Absent: missing, Elapsed: time.Since(began)})
		}
	})
	ends, err := meet(rendezvous.Watching(ctx, func(missing []int) {
		mu.Lock()
		defer mu.Unlock()
		absent = missing
	}))
	mu.Lock()
	over = true
	mu.Unlock()
	report.Stop()
	var alone *errAlone
	if err != nil && errors.As(context.Cause(ctx), &alone) && !errors.As(err, new(*errAlone)) {
		err = fmt.Errorf("%w: %w", alone, err)
	}
	return ends, err
}
