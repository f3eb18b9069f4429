package kernels

import (
	"context"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// referenceMovement puts the reference loops of movement kernels into s.
func referenceMovement(s *Set) {
	s.Filter = Entry[FilterFunc]{referenceFilter, AllTypes}
	s.Take = Entry[TakeFunc]{referenceTake, AllTypes}
	s.GatherRows = referenceGatherRows
	s.Concat = Entry[ConcatFunc]{referenceConcat, AllTypes}
	s.Partition = Entry[PartitionFunc]{referencePartition(s), KeyTypes}
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

// referenceTake goes through the indices and picks.
func referenceTake(ctx context.Context, s device.Stream, c, indices *memory.Column, _ TakeOptions) (*memory.Column, error) {
	taken := make([]Scalar, 0, indices.Len())
	err := eachRow(ctx, indices.Len(), func(i int64) error {
		index := ScalarAt(indices, i)
		switch {
		case !index.Valid():
			taken = append(taken, Null(c.Type()))
		case index.Uint64() >= uint64(c.Len()): // a negative one is past every length
			return device.Errorf(device.ErrValue, "", "", "position %d: index %s of a column of %d rows", i, index, c.Len())
		default:
			taken = append(taken, ScalarAt(c, index.Int64()))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return FromScalars(allocator(s), c.Type(), taken)
}

// referenceConcat goes through the columns' rows.
func referenceConcat(ctx context.Context, s device.Stream, cols []*memory.Column) (*memory.Column, error) {
	var all []Scalar
	for _, c := range cols {
		err := eachRow(ctx, c.Len(), func(i int64) error {
			all = append(all, ScalarAt(c, i))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return FromScalars(allocator(s), cols[0].Type(), all)
}

// referencePartition puts each row into the list of its partition.
func referencePartition(set *Set) PartitionFunc {
	return func(ctx context.Context, s device.Stream, keys []*memory.Column, o PartitionOptions) (*Partitions, error) {
		n := o.Rows
		if o.Scheme != ByRoundRobin {
			n = keys[0].Len()
		}
		part := func(i int64) int { return int(i % int64(o.Parts)) }
		switch o.Scheme {
		case ByHash:
			hashes, err := set.Hash.Func(ctx, s, keys, 0)
			if err != nil {
				return nil, err
			}
			defer hashes.Release()
			part = func(i int64) int {
				high, _ := bits.Mul64(ScalarAt(hashes, i).Uint64(), uint64(o.Parts))
				return int(high)
			}
		case ByRange:
			bounds := Scalars(o.Bounds)
			part = func(i int64) int {
				key, p := ScalarAt(keys[0], i), 0
				for p < len(bounds) && CompareKeys(key, bounds[p]) >= 0 {
					p++
				}
				return p
			}
		}
		lists := make([][]Scalar, o.Parts)
		err := eachRow(ctx, n, func(i int64) error {
			lists[part(i)] = append(lists[part(i)], Int(IndexType(n), i))
			return nil
		})
		if err != nil {
			return nil, err
		}
		p, rows := &Partitions{Offsets: []int64{0}}, []Scalar(nil)
		for _, list := range lists {
			rows = append(rows, list...)
			p.Offsets = append(p.Offsets, int64(len(rows)))
		}
		p.Rows, err = FromScalars(allocator(s), IndexType(n), rows)
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

// indexLimit is how many values indices of a type can number.
func indexLimit(t arrow.DataType) uint64 {
	bits := t.(arrow.FixedWidthDataType).BitWidth()
	if SignedTypes.Has(t.ID()) {
		bits--
	}
	return 1 << min(bits, 63)
}
