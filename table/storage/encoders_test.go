package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// Pieces come in the order in which they were asked for, whatever time each
// takes, and what they are made of is given back once.
func TestEncodersKeepOrder(t *testing.T) {
	var got []int
	var dropped atomic.Int64
	e := newEncoders(t.Context(), "file", func(i int) error {
		got = append(got, i)
		return nil
	})
	defer e.stop()
	for i := range 200 {
		err := e.add(func(context.Context) (int, error) {
			time.Sleep(time.Duration(i*7919%13) * 100 * time.Microsecond)
			return i, nil
		}, func() { dropped.Add(1) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.finish(); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if i != v {
			t.Fatalf("piece %d came as number %d", v, i)
		}
	}
	if len(got) != 200 || dropped.Load() != 200 {
		t.Errorf("%d pieces, %d given back", len(got), dropped.Load())
	}
}

// The first error in order is the one that is told, a panic is an error, and
// nothing runs after stop.
func TestEncodersFail(t *testing.T) {
	wrong := errors.New("wrong")
	for name, body := range map[string]func(i int) error{
		"error": func(i int) error { return fmt.Errorf("%w: piece %d", wrong, i) },
		"panic": func(i int) error { panic(fmt.Errorf("%w: piece %d", wrong, i)) },
	} {
		var started, dropped atomic.Int64
		e := newEncoders(t.Context(), "some.file", func(int) error { return nil })
		var err error
		for i := 0; i < 1000 && err == nil; i++ {
			started.Add(1)
			err = e.add(func(context.Context) (int, error) {
				if i >= 5 {
					if i == 5 {
						time.Sleep(5 * time.Millisecond) // later ones fail before it
					}
					return 0, body(i)
				}
				return i, nil
			}, func() { dropped.Add(1) })
		}
		if err == nil {
			err = e.finish()
		}
		e.stop()
		var own *Error
		if err = writeError("some.file", err); name == "error" && !errors.Is(err, wrong) || !errors.As(err, &own) || own.Path != "some.file" {
			t.Errorf("%s: %v", name, err)
		}
		if text := err.Error(); name == "error" && !strings.Contains(text, "piece 5") {
			t.Errorf("%s: %s: piece 5 was the first", name, text)
		}
		if started.Load() != dropped.Load() {
			t.Errorf("%s: %d pieces, %d given back", name, started.Load(), dropped.Load())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	e := newEncoders(ctx, "file", func(int) error { return nil })
	cancel()
	if err := e.add(func(context.Context) (int, error) { return 0, nil }, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := e.finish(); !errors.Is(err, device.ErrCanceled) {
		t.Errorf("after cancel: %v", err)
	}
	e.stop()
}
