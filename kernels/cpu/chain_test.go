package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// sumChained runs chained over parts whose totals are their numbers, and gives the
// states before them. slow is called with each part that is gone over.
func sumChained(ctx context.Context, parts int, slow func(i int)) ([]int, error) {
	states := make([]int, parts)
	total := func(i int) int { return i }
	behind := func(_, before, total int) int { return before + total }
	err := chained(ctx, parts, 0, total, behind, func(i, next, before, total int) int {
		if total != i {
			panic(fmt.Sprintf("part %d has the total of part %d", i, total))
		}
		states[i] = before
		slow(i)
		return next
	})
	return states, err
}

func TestChained(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, parts := range []int{0, 1, 2, 3, 100} {
		for _, pause := range []time.Duration{0, time.Millisecond} { // longer than looking
			states, err := sumChained(t.Context(), parts, func(i int) {
				if i%5 == 0 {
					time.Sleep(pause)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, before := range states {
				if want := i * (i - 1) / 2; before != want {
					t.Fatalf("%d parts: the state before part %d is %d, not %d", parts, i, before, want)
				}
			}
		}
	}
}

// TestChainedEnds has a part that panics while later ones wait for the state behind
// the part that its worker took, and a context that ends while they do.
func TestChainedEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	_, err := sumChained(t.Context(), 100, func(i int) {
		if i == 20 {
			time.Sleep(5 * time.Millisecond)
			panic("lost")
		}
	})
	if err == nil {
		t.Error("a part that panics is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = sumChained(ctx, 100, func(i int) {
		if i == 20 {
			time.AfterFunc(5*time.Millisecond, cancel)
			<-ctx.Done()
			time.Sleep(5 * time.Millisecond)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends: %v", err)
	}
}
