package kernels

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// referenceGroup puts the reference loops of group kernels into s.
func referenceGroup(s *Set) {
	s.Group = Entry[GroupFunc]{referenceGroups, KeyTypes}
	s.Aggregate = Entry[AggregateFunc]{referenceAggregate, KeyTypes}
	s.GroupBy = Entry[GroupByFunc]{referenceGroupBy, KeyTypes}
	s.Unique = Entry[UniqueFunc]{referenceUnique, KeyTypes}
	s.IsIn = Entry[IsInFunc]{referenceIsIn, KeyTypes}
}

// lookEvery is how many rows a reference loop goes between looks at its
// context.
const lookEvery = 1 << 13

// keyText is row i of the keys as a string that is equal for equal keys, and
// whether one of them is null.
func keyText(buf []byte, keys []*memory.Column, i int64) (text []byte, null bool) {
	buf = buf[:0]
	for _, k := range keys {
		v := ScalarAt(k, i)
		if !v.valid {
			buf, null = append(buf, 0), true
			continue
		}
		buf = append(buf, 1)
		switch {
		case BinaryTypes.Has(v.typ.ID()):
			buf = binary.LittleEndian.AppendUint64(buf, uint64(len(v.text)))
			buf = append(buf, v.text...)
			continue
		case FloatTypes.Has(v.typ.ID()):
			f := v.Float64()
			if f != f {
				f = math.NaN()
			}
			v.bits = math.Float64bits(f + 0) // -0 + 0 is 0
		}
		buf = binary.LittleEndian.AppendUint64(buf, v.bits)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(v.high))
	}
	return buf, null
}

// indexColumn is row numbers below n as a column; -1 is a null.
func indexColumn(s device.Stream, n int64, rows []int64) (*memory.Column, error) {
	b := columnBuilder{alloc: allocator(s)}
	c := b.indices(IndexType(n), rows)
	if b.err != nil {
		c.Release()
		return nil, b.err
	}
	return c, nil
}

// groupRows is the group of each row, -1 for those dropped, and the first row
// of each group.
func groupRows(ctx context.Context, keys []*memory.Column, o GroupOptions) (ids, first []int64, err error) {
	seen := map[string]int64{}
	var buf []byte
	for i := range keys[0].Len() {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, nil, device.Canceled(ctx, "", "")
		}
		text, null := keyText(buf, keys, i)
		buf = text
		if null && o.DropNullKeys {
			ids = append(ids, -1)
			continue
		}
		id, have := seen[string(text)]
		if !have {
			id = int64(len(first))
			seen[string(text)] = id
			first = append(first, i)
		}
		ids = append(ids, id)
	}
	return ids, first, nil
}

func referenceGroups(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*Groups, error) {
	ids, first, err := groupRows(ctx, keys, o)
	if err != nil {
		return nil, err
	}
	g := &Groups{N: int64(len(first))}
	if g.IDs, err = indexColumn(s, keys[0].Len(), ids); err != nil {
		return nil, err
	}
	if g.First, err = indexColumn(s, keys[0].Len(), first); err != nil {
		g.Release()
		return nil, err
	}
	return g, nil
}

func referenceUnique(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*memory.Column, error) {
	_, first, err := groupRows(ctx, keys, o)
	if err != nil {
		return nil, err
	}
	return indexColumn(s, keys[0].Len(), first)
}

func referenceIsIn(ctx context.Context, s device.Stream, c, set *memory.Column) (*memory.Column, error) {
	members := map[string]bool{}
	var buf []byte
	for i := range set.Len() {
		buf, _ = keyText(buf, []*memory.Column{set}, i)
		members[string(buf)] = true
	}
	found := make([]Scalar, c.Len())
	for i := range found {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		buf, _ = keyText(buf, []*memory.Column{c}, int64(i))
		found[i] = Bool(members[string(buf)])
	}
	return FromScalars(allocator(s), arrow.FixedWidthTypes.Boolean, found)
}

func referenceGroupBy(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []Aggregate, o GroupOptions) (*Grouped, error) {
	groups, err := referenceGroups(ctx, s, keys, o)
	if err != nil {
		return nil, err
	}
	defer groups.Release()
	g := &Grouped{First: groups.First.Retain()}
	for i, a := range aggs {
		c, err := referenceAggregate(ctx, s, a.Op, a.Values, groups.IDs, groups.N, a.Options)
		if over := (*OverflowError)(nil); errors.As(err, &over) {
			over.At = i
		}
		if err != nil {
			g.Release()
			return nil, err
		}
		g.Values = append(g.Values, c)
	}
	return g, nil
}
