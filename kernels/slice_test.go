package kernels_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

func TestSlice(t *testing.T) {
	b := &kernels.Backend{Device: host.New(), Set: reference.New()}
	defer b.Close()
	var values []kernels.Scalar
	for i := range 100 {
		values = append(values, kernels.Int64(int64(i)))
	}
	c, err := kernels.FromScalars(memory.Heap, arrow.PrimitiveTypes.Int64, values)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	for _, w := range [][2]int64{{0, 0}, {0, 100}, {100, 0}, {7, 64}, {99, 1}} {
		s, err := b.Slice(c, w[0], w[1])
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != w[1] || s.Buffer(1) != c.Buffer(1) {
			t.Errorf("rows %v: %d rows, buffer %p of %p", w, s.Len(), s.Buffer(1), c.Buffer(1))
		}
		for i := range s.Len() {
			if got := kernels.ScalarAt(s, i).Int64(); got != w[0]+i {
				t.Errorf("rows %v: row %d is %d", w, i, got)
			}
		}
		s.Release()
	}
	for _, w := range [][2]int64{{-1, 1}, {0, 101}, {100, 1}, {1, -1}, {1 << 62, 1 << 62}} {
		s, err := b.Slice(c, w[0], w[1])
		if !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "slice") || !strings.Contains(err.Error(), "100") {
			t.Errorf("rows %v: %v, %v", w, s, err)
		}
	}
	if _, err := b.Slice(nil, 0, 0); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("of nothing: %v", err)
	}
	if refs := c.Buffer(1).Refs(); refs != 1 {
		t.Errorf("%d references after the windows' release", refs)
	}
}
