package collective

import (
	"errors"
	"strings"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/device"
)

// Errors of every call name it, also where the Comm is closed or has a fault.
func TestErrorsNameTheirCall(t *testing.T) {
	ctx := t.Context()
	v := Of(make([]float32, 2))
	calls := map[string]func(c *Comm) error{
		"SendRecv":  func(c *Comm) error { return c.Send(ctx, v, 1) },
		"Barrier":   func(c *Comm) error { return c.Barrier(ctx) },
		"Broadcast": func(c *Comm) error { return c.Broadcast(ctx, v, v, 0) },
		"AllReduce": func(c *Comm) error { return c.AllReduce(ctx, v, v, Sum) },
	}
	for name, call := range calls {
		c := world(t, 2, Options{})[0]
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := call(c); !errors.Is(err, device.ErrClosed) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "?") {
			t.Errorf("%s on a closed Comm: %v", name, err)
		}
	}
	for _, op := range []algorithm.Op{sendRecv, grouping} {
		if name := op.String(); strings.Contains(name, "?") {
			t.Errorf("operation %d is %q", uint8(op), name)
		}
	}
	var e *device.Error
	if err := world(t, 2, Options{})[0].Send(ctx, v, 7); !errors.As(err, &e) || strings.Contains(e.Call, "?") {
		t.Errorf("a Send to nobody: %v", err)
	}
}
