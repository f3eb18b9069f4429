package collective

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// An Init whose context has no deadline ends by Options.Timeout, and says before who has not come.
func TestInitWithoutDeadline(t *testing.T) {
	var ports [2]string
	for i := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		ports[i] = ln.Addr().String()
		if i == 0 {
			_ = ln.Close() // to be rank 0's; at the other one nobody answers
		}
	}
	var all sync.WaitGroup
	for _, c := range []struct {
		place  string
		ranks  []int
		absent []int
	}{
		{"tcp://" + ports[0], []int{0, 2}, []int{1, 3}},
		{"file://" + filepath.Join(t.TempDir(), "meeting"), []int{0, 2}, []int{1, 3}},
		{"tcp://" + ports[1], []int{1}, []int{0}},
		{"file://" + filepath.Join(t.TempDir(), "no host"), []int{1}, []int{0}},
	} {
		for _, rank := range c.ranks {
			all.Go(func() {
				reports := make(chan Stall, 10)
				o := Options{Timeout: 1500 * time.Millisecond, Stall: 500 * time.Millisecond, OnStall: func(s Stall) { reports <- s }}
				missing := c.absent
				if rank == 0 { // it stays longer than the others, who have left then
					o.Timeout, missing = 3*time.Second, []int{1, 2, 3}
				}
				_, err := InitFrom(context.Background(), func(name string) string {
					if name == "VOLLEY_ADDRESS" {
						return fmt.Sprintf("%s?rank=%d&size=4", c.place, rank)
					}
					return ""
				}, o)
				var alone *errAlone
				if !errors.Is(err, device.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &alone) {
					t.Errorf("%s, rank %d: %v", c.place, rank, err)
				}
				if err == nil || !strings.Contains(err.Error(), strings.Trim(strings.ReplaceAll(fmt.Sprint(missing), " ", ", "), "[]")+" did not come") {
					t.Errorf("%s, rank %d does not name %v: %v", c.place, rank, missing, err)
				}
				select {
				case s := <-reports:
					if s.Op != "Init" || s.Waiting != c.absent[0] || !slices.Equal(s.Absent, c.absent) || s.Elapsed < o.Stall {
						t.Errorf("%s, rank %d reports %+v", c.place, rank, s)
					}
				default:
					t.Errorf("%s: rank %d reports nothing", c.place, rank)
				}
				if len(reports) > 0 {
					t.Errorf("%s: rank %d reports twice", c.place, rank)
				}
			})
		}
	}
	all.Wait()
}

// A rank whose meeting ends because rank 0 has waited long enough learns at once who is missing.
func TestInitEndedByRankZero(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	place := "tcp://" + ln.Addr().String()
	var both sync.WaitGroup
	for rank, limit := range map[int]time.Duration{0: time.Second, 2: time.Minute} {
		both.Go(func() {
			_, err := InitFrom(context.Background(), func(name string) string {
				if name == "VOLLEY_ADDRESS" {
					return fmt.Sprintf("%s?rank=%d&size=4", place, rank)
				}
				return ""
			}, Options{Timeout: limit})
			if !errors.Is(err, device.ErrUnavailable) || rank == 2 && !strings.Contains(err.Error(), "rank 0 ended the meeting") {
				t.Errorf("rank %d: %v", rank, err)
			}
			if err == nil || !strings.Contains(err.Error(), "ranks 1, 3 did not come") {
				t.Errorf("rank %d does not name who is missing: %v", rank, err)
			}
		})
	}
	both.Wait()
}

// Where there is no bound the waiting ends with the context, and a context's own deadline goes before Options.
func TestBounded(t *testing.T) {
	o := Options{Timeout: -1}
	ctx, cancel := o.bounded(context.Background())
	defer cancel()
	if end, has := ctx.Deadline(); has {
		t.Errorf("a negative Timeout ends at %v", end)
	}
	far, cancel := context.WithTimeout(context.Background(), 10*time.Hour)
	defer cancel()
	o.Timeout = time.Second
	ctx, cancel = o.bounded(far)
	defer cancel()
	if end, _ := ctx.Deadline(); time.Until(end) < time.Hour {
		t.Errorf("it ends at %v", end)
	}
	ctx, cancel = new(Options).bounded(context.Background())
	defer cancel()
	if end, has := ctx.Deadline(); !has || time.Until(end) > 30*time.Minute {
		t.Errorf("by default it ends at %v", end)
	}
}
