//go:build unix

package main

import (
	"context"
	"syscall"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		d := (&fakes{}).deps()
		d.flights = func(ctx context.Context, _ flightsOptions, _ report.Sink, _ progress.Progress) error {
			if err := syscall.Kill(syscall.Getpid(), s); err != nil {
				return err
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		status := untilSignal(func(ctx context.Context) int {
			return call(t, ctx, d, "bench", "flights").status
		})
		if status != statusInterrupted {
			t.Errorf("%v: status %d", s, status)
		}
	}
}
