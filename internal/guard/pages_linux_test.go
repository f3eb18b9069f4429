package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
)

func TestUnmappedMemoryFaults(t *testing.T) {
	faults := func(p *byte) (fault bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { fault = recover() != nil }()
		_ = fmt.Sprint(*p)
		return false
	}
	head, tail := New(Head), New(Tail)
	h, _ := head.Allocate(100)
	e, _ := tail.Allocate(100)
	if faults(beyond(h, 0)) || faults(beyond(h, 99)) || faults(beyond(e, 0)) || faults(beyond(e, 127)) {
		t.Fatal("a block faults")
	}
	if !faults(beyond(h, -1)) || !faults(beyond(e, 128)) {
		t.Fatal("memory beside a block can be read")
	}
	p := beyond(h, 0)
	head.Free(h)
	tail.Free(e)
	if !faults(p) {
		t.Fatal("freed memory can be read")
	}
	if err := errors.Join(head.Close(), tail.Close()); err != nil {
		t.Fatal(err)
	}
}
