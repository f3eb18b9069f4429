package inproc

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// A member that leaves before it has come ends the split for all others, those that wait
// and those that come later.
func TestSplitWithoutAMemberThatLeft(t *testing.T) {
	ends := New(3)
	errs := make([]error, 2)
	var all sync.WaitGroup
	all.Go(func() { _, errs[0] = ends[0].Split(context.Background(), "all", []int{0, 2, 1}) })
	time.Sleep(10 * time.Millisecond)
	if err := ends[2].Close(); err != nil {
		t.Fatal(err)
	}
	all.Go(func() { _, errs[1] = ends[1].Split(context.Background(), "all", []int{0, 2, 1}) })
	all.Wait()
	for r, err := range errs {
		var gone *transport.Absent
		if !errors.As(err, &gone) || gone.Rank != 2 || !errors.Is(err, transport.ErrLeft) {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A member that gave up and comes again counts once; the split waits for the others.
func TestSplitAgain(t *testing.T) {
	ends := New(3)
	members := []int{0, 1, 2}
	enough := errors.New("enough")
	for range 3 {
		ctx, cancel := context.WithTimeoutCause(context.Background(), 5*time.Millisecond, enough)
		if _, err := ends[0].Split(ctx, "all", members); !errors.Is(err, enough) {
			t.Errorf("a split that nobody joins: %v", err)
		}
		cancel()
	}
	var all sync.WaitGroup
	for r := range 2 {
		all.Go(func() {
			s, err := ends[r].Split(context.Background(), "all", members)
			if err != nil || s.Rank() != r || s.Size() != 3 {
				t.Errorf("rank %d: %v, %v", r, s, err)
			}
		})
	}
	w := ends[0].(*endpoint).w
	for waiting := 0; waiting < 2; {
		time.Sleep(time.Millisecond)
		w.mu.Lock()
		if m := w.splits["all"]; m != nil {
			waiting = len(members) - m.missing
		}
		w.mu.Unlock()
	}
	if _, err := ends[1].Split(context.Background(), "all", members); err == nil || !strings.Contains(err.Error(), "meets there already") {
		t.Errorf("a rank that comes twice: %v", err)
	}
	if s, err := ends[2].Split(context.Background(), "all", members); err != nil || s.Rank() != 2 {
		t.Errorf("the last: %v", err)
	}
	all.Wait()
}
