package collective

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// lone is an Init whose peers never come, and what it prints.
func lone(t *testing.T, o Options) (printed string, err error) {
	t.Helper()
	var text bytes.Buffer
	stallsTo.Lock()
	before := stallsTo.Writer
	stallsTo.Writer = &text
	stallsTo.Unlock()
	place := "file://" + filepath.Join(t.TempDir(), "meeting")
	_, err = InitFrom(context.Background(), func(name string) string {
		if name == "VOLLEY_ADDRESS" {
			return fmt.Sprint(place, "?rank=0&size=3")
		}
		return ""
	}, o)
	stallsTo.Lock()
	defer stallsTo.Unlock()
	stallsTo.Writer = before
	return text.String(), err
}

// How long ranks may take to come is apart from how late they may be once they run; without it the one is the other.
func TestJoinTimeout(t *testing.T) {
	for option, o := range map[string]Options{
		"JoinTimeout, 200ms": {JoinTimeout: 200 * time.Millisecond, Timeout: time.Hour},
		"Timeout, 200ms":     {Timeout: 200 * time.Millisecond},
	} {
		if _, err := lone(t, o); !errors.Is(err, device.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "Options."+option) {
			t.Errorf("%v, want %s", err, option)
		}
	}
	for _, o := range []Options{{Timeout: time.Second, JoinTimeout: -1}, {Timeout: -1}} {
		ctx, cancel := o.bounded(context.Background())
		if end, has := ctx.Deadline(); has {
			t.Errorf("%+v ends at %v", o, end)
		}
		cancel()
	}
	o := Options{Timeout: time.Second, JoinTimeout: time.Hour}
	ctx, cancel := o.bounded(context.Background())
	defer cancel()
	if end, has := ctx.Deadline(); !has || time.Until(end) < 50*time.Minute {
		t.Errorf("it ends at %v", end)
	}
}

// Who waits for ranks that do not come prints who they are, unasked; the environment's 0 keeps it silent.
func TestMeetingSaysWhoIsMissing(t *testing.T) {
	o := Options{JoinTimeout: 500 * time.Millisecond, Stall: 100 * time.Millisecond}
	printed, err := lone(t, o)
	if err == nil || strings.Count(printed, "\n") != 1 || !strings.Contains(printed, "volley: rank 0 of 3 (world): Init has waited") || !strings.Contains(printed, "not yet arrived: 1 2\n") {
		t.Errorf("it prints %q: %v", printed, err)
	}
	t.Setenv(stallVariable, "0")
	if printed, err := lone(t, o); err == nil || printed != "" {
		t.Errorf("with 0 it prints %q: %v", printed, err)
	}
}
