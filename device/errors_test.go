package device

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/volley-go/volley/memory"
)

func TestErrorTexts(t *testing.T) {
	cause := errors.New("the disk is full")
	for want, e := range map[string]*Error{
		"cuda:0: copy: mismatch: 5 bytes":             Errorf(ErrMismatch, "cuda:0", "copy", "%d bytes", 5),
		"cpu: launch: the disk is full":               {Device: "cpu", Call: "launch", Cause: cause},
		"cpu: open: device lost":                      {Device: "cpu", Call: "open", Kind: ErrLost},
		"cuda:0: cuInit: unavailable: no (code 100)":  {Device: "cuda:0", Call: "cuInit", Kind: ErrUnavailable, Text: "no", Code: 100},
		"filter: closed":                              {Call: "filter", Kind: ErrClosed, Text: "closed"},
		"cpu: wait: canceled: the disk is full":       {Device: "cpu", Call: "wait", Kind: ErrCanceled, Cause: cause},
		"cpu: x: out of memory: 7 bytes requested, 3": {Device: "cpu", Call: "x", Kind: ErrOutOfMemory, Text: "7 bytes requested, 3"},
	} {
		if e.Error() != want {
			t.Errorf("%q, not %q", e, want)
		}
	}
}

func TestErrorKindsAndCauses(t *testing.T) {
	inner := &memory.OutOfMemory{Requested: 5, Limit: -1}
	err := error(&Error{Device: "cpu", Call: "filter", Cause: &Error{Call: "allocate", Kind: ErrLost, Cause: inner}})
	var oom *memory.OutOfMemory
	if !errors.Is(err, ErrLost) || !errors.Is(err, ErrOutOfMemory) || !errors.As(err, &oom) || oom != inner || errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestCanceledWrapsTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if err := Canceled(ctx, "cpu", "sort"); err != nil {
		t.Fatal(err)
	}
	why := errors.New("the user left")
	cancel(why)
	if err := Canceled(ctx, "cpu", "sort"); !errors.Is(err, ErrCanceled) || !errors.Is(err, why) {
		t.Fatal(err)
	}
	late, end := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer end()
	if err := Canceled(late, "cpu", "sort"); !errors.Is(err, ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}
