package cpu

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// A set answers several goroutines at once, for values of many morsels, as IsIn
// does; released it answers ErrClosed, and other types are an ErrMismatch.
func TestMembers(t *testing.T) {
	d := host.New()
	t.Cleanup(func() { _ = d.Close() })
	b, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx := context.Background()
	column := func(n, step int64) *memory.Column {
		t.Helper()
		values := make([]kernels.Scalar, n)
		for i := range values {
			values[i] = kernels.Int64(int64(i) * step)
		}
		c, err := b.FromScalars(ctx, s, arrow.PrimitiveTypes.Int64, values)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Release)
		return c
	}
	set, values := column(5000, 7), column(3*morsel+5, 1)
	m, err := b.Members(ctx, s, set)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			mask, err := m.IsIn(ctx, s, values)
			if err != nil {
				t.Error(err)
				return
			}
			defer mask.Release()
			bits := mask.Bits()
			for i := range mask.Len() {
				if got, want := bits.Get(mask.Offset()+i), i%7 == 0 && i < 5000*7; got != want {
					t.Errorf("value %d: %t, want %t", i, got, want)
					return
				}
			}
		}()
	}
	group.Wait()
	text, err := b.FromScalars(ctx, s, arrow.BinaryTypes.String, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Release()
	if _, err := m.IsIn(ctx, s, text); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("texts in a set of integers: %v", err)
	}
	m.Release()
	m.Release()
	if _, err := m.IsIn(ctx, s, values); !errors.Is(err, device.ErrClosed) {
		t.Errorf("after Release: %v", err)
	}
	if _, err := b.Members(ctx, s, nil); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("no set: %v", err)
	}
}
