package backends

import (
	"errors"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func TestOpen(t *testing.T) {
	for name, host := range map[string]bool{"": true, "cpu": true, "remote": false} {
		var counted *memory.Counted
		b, err := open(name, func(a memory.Allocator) memory.Allocator {
			counted = memory.NewCounted(a)
			return counted
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x, err := memory.New(b.Device.Memory(), 100)
		if err != nil {
			t.Fatal(err)
		}
		if b.Device.Place().HostAccessible() != host || (x.Bytes() != nil) != host || counted.Stats().Blocks != 1 {
			t.Errorf("%q is %s with %d blocks", name, b.Device.Place(), counted.Stats().Blocks)
		}
		x.Release()
		if err := errors.Join(b.Close(), counted.Check()); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	same := func(a memory.Allocator) memory.Allocator { return a }
	if _, err := open("abacus:1", same); !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), "abacus:1") {
		t.Errorf("a kind that there is not: %v", err)
	}
	if _, err := open("remote:x", same); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a number that is none: %v", err)
	}
}
