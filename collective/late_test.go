package collective

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// A rank that did not run for longer than the deadline, and finds that all others have
// left, takes itself for lost; one that finds them there goes on with them.
func TestLateRank(t *testing.T) {
	ctx := context.Background()
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comms := over(t, open(t, 3), quick)
			w := comms[2].watch
			w.call(func() {
				before := w.ran.Add(-2 * limit)
				w.ran, w.beaten = before, before
				for r := range w.heard {
					w.heard[r] = before
				}
			})
			must(t, comms, func(c *Comm) error { return c.Barrier(ctx) })
			comms[0].Close()
			comms[1].Close()
			for end := time.Now().Add(limit); len(comms[2].Missing()) < 2; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%v are missing", comms[2].Missing())
				}
			}
			errs := each(t, comms[2:], func(c *Comm) error { return c.Barrier(ctx) })
			f := sameFault(t, []error{nil, nil, errs[0]}, []int{2}, Lost, []int{2})
			if !strings.Contains(f.Text, "this rank was silent for 2m0") {
				t.Errorf("%v", f)
			}
			s, err := comms[2].Shrink(ctx)
			if !errors.Is(err, device.ErrLost) || !errors.Is(err, f) || !strings.Contains(err.Error(), "this rank was declared lost by the others") {
				t.Errorf("Shrink gives %v, %v", s, err)
			}
		})
	}
}

// A rank that was stopped after the others of a group had it, and before it showed there that it lives, does not go on
// alone when it finds that they have left.
func TestLateFromTheBeginning(t *testing.T) {
	ctx := context.Background()
	ends := transports["inproc"](t, 2)
	here, err := newComm(ends[0], quick, "group", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := newComm(ends[1], quick, "group", time.Now().Add(-2*limit))
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close()
	here.Close()
	err = stopped.Barrier(ctx)
	f := sameFault(t, []error{nil, err}, []int{1}, Lost, []int{1})
	if s, err := stopped.Shrink(ctx); !errors.Is(err, device.ErrLost) || !errors.Is(err, f) {
		t.Errorf("Shrink gives %v, %v", s, err)
	}
}
