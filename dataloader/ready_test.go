package dataloader

import (
	"io"
	"testing"
	"time"
)

// TestReady: Next does not wait where a batch is made, none can be, or the epoch
// is at its end.
func TestReady(t *testing.T) {
	b, _ := onHost(t)
	l := load(t, FromTable(numbers(t, b, 4, 2)), Options{Batch: 2, Workers: 1, Prefetch: 1, Epochs: 1})
	soon := func(what string) {
		for until := time.Now().Add(time.Minute); !l.Ready(); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%s: it is never ready", what)
			}
		}
	}
	if n := l.Steps(); n != 2 {
		t.Errorf("%d steps, not 2", n)
	}
	soon("first batch")
	first, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Ready() {
		t.Error("with all batches lent Next fails at once, and is not ready")
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	soon("second batch")
	next(t, l)
	if !l.Ready() {
		t.Error("the end of an epoch is not ready")
	}
	if _, err := l.Next(ctx); err != io.EOF {
		t.Fatal(err)
	}
	if !l.Ready() {
		t.Error("the end of all epochs is not ready")
	}
	in := load(t, FromTable(numbers(t, b, 4, 2)), Options{Batch: 2, Workers: InCaller})
	if in.Ready() {
		t.Error("a batch that Next will make is ready")
	}
}
