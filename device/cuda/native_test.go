package cuda

import (
	"context"
	"errors"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// outside is a stream that stands for another.
type outside struct{ device.Stream }

func (o outside) Unwrap() device.Stream { return o.Stream }

// TestNative checks that work of another library runs with the context and the
// stream, holds its buffers, and that its failure is the stream's.
func TestNative(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	b, err := memory.New(d.Memory(), 64)
	if err != nil {
		t.Fatal(err)
	}
	own, ran := s.(*stream).handle, 0
	work := func(stream uintptr) error {
		ran++
		if f.pushed != 1 || stream != own {
			t.Errorf("%d contexts, stream %d", f.pushed, stream)
		}
		if b.Refs() != 2 {
			t.Errorf("the buffer has %d references", b.Refs())
		}
		return nil
	}
	for _, given := range []device.Stream{s, outside{s}} {
		if err := Native(given, "library", []*memory.Buffer{b}, work); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("broken")
	if err := Native(s, "library", nil, func(uintptr) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := Native(s, "library", nil, work); !errors.Is(err, broken) || ran != 2 {
		t.Errorf("ran %d times: %v", ran, err)
	}
	if err := Native(nil, "library", nil, work); !errors.Is(err, device.ErrMismatch) {
		t.Error(err)
	}
	closed := 0
	if err := d.AtClose(func() { closed += f.pushed }); err != nil {
		t.Fatal(err)
	}
	b.Release()
	_ = s.Close() // its failure was seen
	if err := d.Close(); err != nil || closed != 1 {
		t.Errorf("%d, %v", closed, err)
	}
	if err := d.AtClose(func() {}); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
}
