package collective

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
)

// The environment has stalls printed, of groups too, but not where the program takes them.
func TestStallReport(t *testing.T) {
	var printed bytes.Buffer
	stallsTo.Lock()
	before := stallsTo.Writer
	stallsTo.Writer = &printed
	stallsTo.Unlock()
	defer func() {
		stallsTo.Lock()
		defer stallsTo.Unlock()
		stallsTo.Writer = before
	}()
	t.Setenv(stallVariable, "20ms")
	o := Options{Heartbeat: 10 * time.Millisecond, Deadline: time.Minute}
	comms := world(t, 3, o)
	must(t, comms, func(c *Comm) error {
		if c.Rank() == 2 {
			for { // until both have said that they wait
				stallsTo.Lock()
				text := printed.String()
				stallsTo.Unlock()
				if strings.Contains(text, "rank 0 of 3 (world): Barrier, operation 1, has waited") && strings.Contains(text, "rank 1 of 3") && strings.Contains(text, "2\n") { // one of them may not have heard of the other
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		if err := c.Barrier(context.Background()); err != nil {
			return err
		}
		part, err := c.Split(context.Background(), c.Rank()%2, 0)
		if err != nil {
			return err
		}
		defer part.Close()
		if c.Rank() == 2 {
			for {
				stallsTo.Lock()
				text := printed.String()
				stallsTo.Unlock()
				if strings.Contains(text, "rank 0 of 2 (world/") && strings.Contains(text, "not yet arrived: 1\n") {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		return part.Barrier(context.Background())
	})
	taken := Options{OnStall: func(Stall) {}}
	if err := taken.reportStalls("world", 0, 1); err != nil || taken.printsStalls || taken.Stall != 0 {
		t.Errorf("a program's own OnStall: %+v, %v", taken, err)
	}
	for _, text := range []string{"soon", "-1s", "0s"} {
		t.Setenv(stallVariable, text)
		end := inproc.New(1)[0]
		if _, err := New(end, Options{}); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), stallVariable) {
			t.Errorf("%q: %v", text, err)
		}
		if err := end.Close(); err != nil {
			t.Error(err)
		}
	}
}
