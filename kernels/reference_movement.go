package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// referenceMovement puts the reference loops of movement kernels into s.
func referenceMovement(s *Set) {
	s.Filter = Entry[FilterFunc]{referenceFilter, AllTypes}
}

// referenceFilter goes through the rows and keeps what the mask says.
func referenceFilter(ctx context.Context, s device.Stream, c, mask *memory.Column, o FilterOptions) (*memory.Column, error) {
	var kept []Scalar
	err := eachRow(ctx, c.Len(), func(i int64) error {
		switch {
		case mask.IsNull(i) && o.EmitNull:
			kept = append(kept, Null(c.Type()))
		case !mask.IsNull(i) && ScalarAt(mask, i).Bool():
			kept = append(kept, ScalarAt(c, i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return FromScalars(allocator(s), c.Type(), kept)
}

// eachRow runs f for each of n rows in order until it fails or ctx ends.
func eachRow(ctx context.Context, n int64, f func(i int64) error) error {
	for i := range n {
		if i%10_000 == 0 {
			if err := device.Canceled(ctx, "", ""); err != nil {
				return err
			}
		}
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}
