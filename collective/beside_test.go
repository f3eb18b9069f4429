package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// Ranks that say the same go on; others all get one Mismatch that has the texts.
func TestAgree(t *testing.T) {
	faults := make([]error, 3)
	for r, err := range each(t, world(t, 3, quick), func(c *Comm) error {
		ctx := context.Background()
		for i := range 3 {
			if err := c.Agree(ctx, fmt.Sprint("call ", i)); err != nil {
				return err
			}
		}
		what := "AllReduce of 5 float32"
		if c.Rank() == 1 {
			what = "Broadcast of 5 float32"
		}
		faults[c.Rank()] = c.Agree(ctx, what)
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	for r, err := range faults {
		var f *Fault
		if !errors.As(err, &f) || f.Cause != Mismatch || !errors.Is(err, device.ErrMismatch) || !slices.Equal(f.Ranks, []int{0, 1}) ||
			!strings.Contains(f.Text, "AllReduce of 5 float32 of rank 0 meets Broadcast of 5 float32 of rank 1") || err.Error() != faults[0].Error() {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A rank that is gone is missing, and who reports it has all survivors agree.
func TestReport(t *testing.T) {
	faults := make([]error, 3)
	var inside sync.WaitGroup // a rank that is still in the barrier may learn of the fault there
	inside.Add(3)
	for r, err := range each(t, world(t, 3, quick), func(c *Comm) error {
		missing, err := c.Missing(), c.Barrier(context.Background())
		inside.Done()
		inside.Wait()
		if missing != nil || err != nil {
			return fmt.Errorf("%v are missing, and the barrier: %v", missing, err)
		}
		if c.Rank() == 2 {
			return c.Close()
		}
		for end := time.Now().Add(limit); !slices.Equal(c.Missing(), []int{2}); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("%v are missing", c.Missing())
			}
		}
		faults[c.Rank()] = c.Report(Fault{Cause: Lost, Op: "elsewhere", Ranks: c.Missing(), Text: "it does not answer"})
		if err := c.Report(Fault{Cause: Canceled, Ranks: []int{c.Rank()}}); !errors.Is(err, device.ErrLost) {
			return fmt.Errorf("a second report: %v", err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	for r, err := range faults[:2] {
		var f *Fault
		if !errors.As(err, &f) || f.Cause != Lost || f.Op != "elsewhere" || f.Text != "it does not answer" || !slices.Equal(f.Ranks, []int{2}) || err.Error() != faults[0].Error() {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
