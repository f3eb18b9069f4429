package reference

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// addMovement puts the reference loops of movement kernels into s.
func addMovement(s *kernels.Set) {
	s.Filter = kernels.Entry[kernels.FilterFunc]{Func: filter, Types: kernels.AllTypes}
	s.Take = kernels.Entry[kernels.TakeFunc]{Func: take, Types: kernels.AllTypes}
	s.GatherRows = kernels.Entry[kernels.GatherRowsFunc]{Func: gatherRows, Types: kernels.RowTypes}
	s.Concat = kernels.Entry[kernels.ConcatFunc]{Func: concat, Types: kernels.AllTypes}
	s.Partition = kernels.Entry[kernels.PartitionFunc]{Func: partition(s), Types: kernels.KeyTypes}
}

// filter goes through the rows and keeps what the mask says.
func filter(ctx context.Context, s device.Stream, c, mask *memory.Column, o kernels.FilterOptions) (*memory.Column, error) {
	var kept []kernels.Scalar
	err := eachRow(ctx, c.Len(), func(i int64) error {
		switch {
		case mask.IsNull(i) && o.EmitNull:
			kept = append(kept, kernels.Null(c.Type()))
		case !mask.IsNull(i) && kernels.ScalarAt(mask, i).Bool():
			kept = append(kept, kernels.ScalarAt(c, i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kernels.FromScalars(hostMemory(s), c.Type(), kept)
}

// take goes through the indices and picks.
func take(ctx context.Context, s device.Stream, c, indices *memory.Column, _ kernels.TakeOptions) (*memory.Column, error) {
	taken := make([]kernels.Scalar, 0, indices.Len())
	err := eachRow(ctx, indices.Len(), func(i int64) error {
		index := kernels.ScalarAt(indices, i)
		switch {
		case !index.Valid():
			taken = append(taken, kernels.Null(c.Type()))
		case index.Uint64() >= uint64(c.Len()): // a negative one is past every length
			return device.Errorf(device.ErrValue, "", "", "position %d: index %s of a column of %d rows", i, index, c.Len())
		default:
			taken = append(taken, kernels.ScalarAt(c, index.Int64()))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kernels.FromScalars(hostMemory(s), c.Type(), taken)
}

// concat goes through the columns' rows.
func concat(ctx context.Context, s device.Stream, cols []*memory.Column) (*memory.Column, error) {
	var all []kernels.Scalar
	for _, c := range cols {
		err := eachRow(ctx, c.Len(), func(i int64) error {
			all = append(all, kernels.ScalarAt(c, i))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return kernels.FromScalars(hostMemory(s), cols[0].Type(), all)
}

// partition puts each row into the list of its partition.
func partition(set *kernels.Set) kernels.PartitionFunc {
	return func(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.PartitionOptions) (*kernels.Partitions, error) {
		n := o.Rows
		if o.Scheme != kernels.ByRoundRobin {
			n = keys[0].Len()
		}
		part := func(i int64) int { return int(i % int64(o.Parts)) }
		switch o.Scheme {
		case kernels.ByHash:
			hashes, err := set.Hash.Func(ctx, s, keys, 0)
			if err != nil {
				return nil, err
			}
			defer hashes.Release()
			part = func(i int64) int {
				high, _ := bits.Mul64(kernels.ScalarAt(hashes, i).Uint64(), uint64(o.Parts))
				return int(high)
			}
		case kernels.ByRange:
			bounds := kernels.Scalars(o.Bounds)
			part = func(i int64) int {
				key, p := kernels.ScalarAt(keys[0], i), 0
				for p < len(bounds) && kernels.CompareKeys(key, bounds[p]) >= 0 {
					p++
				}
				return p
			}
		}
		lists := make([][]kernels.Scalar, o.Parts)
		err := eachRow(ctx, n, func(i int64) error {
			lists[part(i)] = append(lists[part(i)], kernels.Int(kernels.IndexType(n), i))
			return nil
		})
		if err != nil {
			return nil, err
		}
		p, rows := &kernels.Partitions{Offsets: []int64{0}}, []kernels.Scalar(nil)
		for _, list := range lists {
			rows = append(rows, list...)
			p.Offsets = append(p.Offsets, int64(len(rows)))
		}
		p.Rows, err = kernels.FromScalars(hostMemory(s), kernels.IndexType(n), rows)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
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
