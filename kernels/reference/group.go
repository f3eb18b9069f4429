package reference

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// addGroup puts the reference loops of group kernels into s.
func addGroup(s *kernels.Set) {
	s.Group = kernels.Entry[kernels.GroupFunc]{Func: groupIDs, Types: kernels.KeyTypes}
	s.Aggregate = kernels.Entry[kernels.AggregateFunc]{Func: aggregate, Types: kernels.KeyTypes}
	s.GroupBy = kernels.Entry[kernels.GroupByFunc]{Func: groupBy, Types: kernels.KeyTypes}
	s.Unique = kernels.Entry[kernels.UniqueFunc]{Func: unique, Types: kernels.KeyTypes}
	s.IsIn = kernels.Entry[kernels.IsInFunc]{Func: isIn, Types: kernels.KeyTypes}
}

// lookEvery is how many rows a reference loop goes between looks at its
// context.
const lookEvery = 1 << 13

// keyText is row i of the keys as a string that is equal for equal keys, and
// whether one of them is null.
func keyText(buf []byte, keys []*memory.Column, i int64) (text []byte, null bool) {
	buf = buf[:0]
	for _, k := range keys {
		v := kernels.ScalarAt(k, i)
		if !v.Valid() {
			buf, null = append(buf, 0), true
			continue
		}
		buf = append(buf, 1)
		bits := v.Uint64()
		switch {
		case kernels.BinaryTypes.Has(v.Type().ID()):
			buf = binary.LittleEndian.AppendUint64(buf, uint64(len(v.Text())))
			buf = append(buf, v.Text()...)
			continue
		case kernels.FloatTypes.Has(v.Type().ID()):
			f := v.Float64()
			if f != f {
				f = math.NaN()
			}
			bits = math.Float64bits(f + 0) // -0 + 0 is 0
		}
		buf = binary.LittleEndian.AppendUint64(buf, bits)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(v.Decimal().HighBits()))
	}
	return buf, null
}

// groupRows is the group of each row, -1 for those dropped, and the first row
// of each group.
func groupRows(ctx context.Context, keys []*memory.Column, o kernels.GroupOptions) (ids, first []int64, err error) {
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

func groupIDs(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.GroupOptions) (*kernels.Groups, error) {
	ids, first, err := groupRows(ctx, keys, o)
	if err != nil {
		return nil, err
	}
	g := &kernels.Groups{N: int64(len(first))}
	if g.IDs, err = indexColumn(s, keys[0].Len(), ids); err != nil {
		return nil, err
	}
	if g.First, err = indexColumn(s, keys[0].Len(), first); err != nil {
		g.Release()
		return nil, err
	}
	return g, nil
}

func unique(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.GroupOptions) (*memory.Column, error) {
	_, first, err := groupRows(ctx, keys, o)
	if err != nil {
		return nil, err
	}
	return indexColumn(s, keys[0].Len(), first)
}

func isIn(ctx context.Context, s device.Stream, c, set *memory.Column) (*memory.Column, error) {
	members := map[string]bool{}
	var buf []byte
	for i := range set.Len() {
		buf, _ = keyText(buf, []*memory.Column{set}, i)
		members[string(buf)] = true
	}
	found := make([]kernels.Scalar, c.Len())
	for i := range found {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		buf, _ = keyText(buf, []*memory.Column{c}, int64(i))
		found[i] = kernels.Bool(members[string(buf)])
	}
	return kernels.FromScalars(hostMemory(s), arrow.FixedWidthTypes.Boolean, found)
}

func groupBy(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []kernels.Aggregate, o kernels.GroupOptions) (*kernels.Grouped, error) {
	groups, err := groupIDs(ctx, s, keys, o)
	if err != nil {
		return nil, err
	}
	defer groups.Release()
	g := &kernels.Grouped{First: groups.First.Retain()}
	for i, a := range aggs {
		c, err := aggregate(ctx, s, a.Op, a.Values, groups.IDs, groups.N, a.Options)
		if over := (*kernels.OverflowError)(nil); errors.As(err, &over) {
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
