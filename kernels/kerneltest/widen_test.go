package kerneltest_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
)

// Texts get longer offsets also from a backend whose Cast takes no texts.
func TestTextsWidenWithoutTextCasts(t *testing.T) {
	set := cpu.Generic()
	set.Cast.Types = kernels.IntegerTypes
	b := remote(t, set)
	ctx := context.Background()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for from, to := range map[arrow.DataType]arrow.DataType{
		arrow.BinaryTypes.String: arrow.BinaryTypes.LargeString,
		arrow.BinaryTypes.Binary: arrow.BinaryTypes.LargeBinary,
	} {
		var values, wide []kernels.Scalar
		for _, v := range []string{"", "a", "long enough", "ü", "", "z"} {
			values, wide = append(values, kernels.Text(from, v)), append(wide, kernels.Text(to, v))
		}
		values[3], wide[3] = kernels.Null(from), kernels.Null(to)
		whole, err := b.FromScalars(ctx, s, from, values)
		if err != nil {
			t.Fatal(err)
		}
		for _, window := range [][2]int64{{0, 6}, {2, 3}, {5, 1}, {6, 0}} {
			part, err := whole.Slice(window[0], window[1])
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Cast(ctx, s, part, to, kernels.CastOptions{})
			if err != nil {
				t.Fatal(err)
			}
			h, err := b.OnHost(ctx, s, got)
			if err != nil {
				t.Fatal(err)
			}
			want, err := kernels.FromScalars(b.Device.Pinned(), to, wide[window[0]:window[0]+window[1]])
			if err != nil {
				t.Fatal(err)
			}
			if err := kerneltest.Equal(h, want, kerneltest.Tolerance{}); err != nil {
				t.Errorf("%s of %v: %v", to, window, err)
			}
			want.Release()
			h.Release()
			got.Release()
			part.Release()
		}
		whole.Release()
	}
}
