package nccl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/ncclemu"
)

// sum is an AllReduce of ones, in place.
func (r rank) sum(ctx context.Context) error {
	v, err := r.put(ctx, Int32, vector(Int32, 100, func(int) int { return 1 }))
	if err != nil {
		return err
	}
	defer v.Buffer.Release()
	if err := r.AllReduce(ctx, r.stream, Int32, v, v, Sum); err != nil {
		return err
	}
	return r.Wait(ctx, r.stream)
}

// A rank that does not come to an operation: the others' contexts end it, in the first
// operation, where connections are made, and in a later one, which waits on the GPU.
func TestAbsent(t *testing.T) {
	l := emulated(t)
	if l == nil {
		return
	}
	for _, before := range []int{0, 2} {
		errs := together(t, l, 3, func(ctx context.Context, r rank) error {
			for range before {
				if err := r.sum(ctx); err != nil {
					return fmt.Errorf("before: %w", err)
				}
			}
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if r.Rank() == 2 {
				return r.Close(short) // which would wait for the others
			}
			err := r.sum(short)
			if !errors.Is(err, device.ErrCanceled) {
				return fmt.Errorf("without rank 2: %v", err)
			}
			if err := r.sum(ctx); !errors.Is(err, device.ErrClosed) && !errors.Is(err, device.ErrCanceled) {
				return fmt.Errorf("after it was aborted: %v", err)
			}
			return nil
		})
		for i, err := range errs[:2] {
			if err != nil {
				t.Errorf("rank %d, %d operations before: %v", i, before, err)
			}
		}
		settled(t)
	}
}

// A failure that the library tells of ends the operation that waits.
func TestRemoteError(t *testing.T) {
	l := emulated(t)
	if l == nil {
		return
	}
	defer func() {
		if err := ncclemu.Fault(0, 0); err != nil {
			t.Error(err)
		}
	}()
	errs := together(t, l, 2, func(ctx context.Context, r rank) error {
		if err := r.sum(ctx); err != nil {
			return fmt.Errorf("before: %w", err)
		}
		if r.Rank() == 1 {
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			return r.Close(short) // its finalization has to be ended
		}
		if err := ncclemu.Fault(0, int(remoteFail)); err != nil {
			return err
		}
		err := r.sum(ctx)
		var e *device.Error
		if !errors.As(err, &e) || !errors.Is(err, device.ErrLost) || e.Code != int(remoteFail) || !strings.Contains(e.Error(), "network") {
			return fmt.Errorf("a remote error: %v", err)
		}
		return nil
	})
	if errs[0] != nil {
		t.Error(errs[0])
	}
	if !errors.Is(errs[1], device.ErrCanceled) {
		t.Errorf("rank 1 closes alone: %v", errs[1])
	}
	settled(t)
}

// An abort that does not end, as NCCL's may, holds nobody.
func TestAbortHangs(t *testing.T) {
	l := emulated(t)
	if l == nil {
		return
	}
	if err := ncclemu.Hang(true); err != nil {
		t.Fatal(err)
	}
	errs := together(t, l, 2, func(ctx context.Context, r rank) error {
		short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		defer cancel()
		if r.Rank() == 1 {
			return r.Close(short)
		}
		if err := r.sum(short); !errors.Is(err, device.ErrCanceled) {
			return fmt.Errorf("alone: %v", err)
		}
		began := time.Now()
		if err := r.Close(short); !errors.Is(err, device.ErrCanceled) || time.Since(began) > limit/2 {
			return fmt.Errorf("Close while the abort hangs: %v after %v", err, time.Since(began))
		}
		return ncclemu.Hang(false)
	})
	if errs[0] != nil {
		t.Error(errs[0])
	}
	settled(t)
}

// Ranks that do not come to the meeting, and two of them on one GPU.
func TestJoin(t *testing.T) {
	l := emulated(t)
	if l == nil {
		return
	}
	id, err := l.NewID()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := one(ctx, l, id, 0, 2, nil); !errors.Is(err, device.ErrCanceled) {
		t.Errorf("alone of two: %v", err)
	}
	if id, err = l.NewID(); err != nil {
		t.Fatal(err)
	}
	patient, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	second := make(chan error, 1)
	go func() { second <- on(patient, l, id, 0, 1, 2, nil) }()
	first := on(patient, l, id, 0, 0, 2, nil)
	for _, err := range []error{first, <-second} {
		if !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "invalid usage") {
			t.Errorf("two ranks of one GPU: %v", err)
		}
	}
	settled(t)
}
