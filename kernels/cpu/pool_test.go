package cpu

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/volley-go/volley/memory"
)

// What a worker failed of is told whether another has a detour before it or after.
func TestDetourGivesWay(t *testing.T) {
	for name, errs := range map[string][2]error{
		"detour first": {errFull, memory.ErrOutOfMemory},
		"detour last":  {memory.ErrOutOfMemory, errRange},
	} {
		t.Run(name, func(t *testing.T) {
			begun, told := make(chan struct{}), make(chan struct{})
			err := each(context.Background(), 2, 2, &queue{}, false, func(_, task int) error {
				if task == 1 {
					close(begun)
					<-told
					time.Sleep(10 * time.Millisecond) // more than until the other's is kept
					return errs[1]
				}
				<-begun
				close(told)
				return errs[0]
			})
			if !errors.Is(err, memory.ErrOutOfMemory) {
				t.Fatalf("want of memory was told as: %v", err)
			}
		})
	}
}

func TestFirstDetourIsKept(t *testing.T) {
	var f failure
	if f.err() != nil {
		t.Fatal("a failure without an error has one")
	}
	f.is(errLong)
	f.is(errFull)
	if f.err() != errLong {
		t.Fatalf("not the first detour: %v", f.err())
	}
	f.is(context.Canceled)
	f.is(memory.ErrOutOfMemory)
	if f.err() != context.Canceled {
		t.Fatalf("not the first failure: %v", f.err())
	}
}
