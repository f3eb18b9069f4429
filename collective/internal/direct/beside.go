package direct

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
)

const (
	lookEvery = 10 * time.Millisecond
	graceTime = time.Second // in which a rank that made NCCL fail is found missing
)

// watch gives a context that ends too when the ranks have a Fault or one of them is
// missing, which NCCL would wait for.
func watch(ctx context.Context, c *collective.Comm) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		every := time.NewTicker(lookEvery)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if f := c.Fault(); f != nil {
				cancel(f)
			} else if gone := c.Missing(); gone != nil {
				cancel(fmt.Errorf("ranks %v are gone", gone))
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Exchange carries many parts at once, in bytes. The ranks have agreed on all of them, so none
// comes that is not waited for, and they meet after it.
func (l *Link) Exchange(ctx context.Context, s device.Stream, what string, sends, recvs []nccl.Part) error {
	if len(sends)+len(recvs) == 0 {
		return nil
	}
	return l.beside(ctx, s, what, func(ctx context.Context) error { return l.Comm.Exchange(ctx, s, nccl.Uint8, sends, recvs) })
}

// Beside runs a call by NCCL that the ranks have agreed on, and makes what goes wrong the Fault of
// all ranks.
func (l *Link) Beside(ctx context.Context, s device.Stream, what string, give func(ctx context.Context) error) error {
	l.loose.Store(true)
	return l.beside(ctx, s, what, give)
}

func (l *Link) beside(ctx context.Context, s device.Stream, what string, give func(ctx context.Context) error) error {
	watched, stop := watch(ctx, l.c)
	defer stop()
	err := give(watched)
	if err == nil {
		err = l.Wait(watched, s)
	}
	if err == nil {
		return nil
	}
	self := []int{l.c.Rank()}
	if ctx.Err() != nil {
		f := l.c.Report(collective.Fault{Cause: collective.Canceled, Op: what, Ranks: self, Text: context.Cause(ctx).Error()})
		return &device.Error{Call: "collective", Kind: device.ErrCanceled, Text: f.Error(), Cause: errors.Join(f, context.Cause(ctx))}
	}
	// A rank that died makes NCCL fail and is missing soon: it is to blame, not NCCL.
	for end := time.Now().Add(graceTime); ; time.Sleep(lookEvery) {
		if f := l.c.Fault(); f != nil {
			return f
		}
		if gone := l.c.Missing(); gone != nil {
			return l.c.Report(collective.Fault{Cause: collective.Lost, Op: what, Ranks: gone, Text: "its connection ended, or it was silent"})
		}
		if time.Now().After(end) || ctx.Err() != nil {
			break
		}
	}
	f := l.c.Report(collective.Fault{Cause: collective.Canceled, Op: what, Ranks: self, Text: fmt.Sprintf("NCCL of rank %d: %v", self[0], err)})
	return errors.Join(f, err)
}
