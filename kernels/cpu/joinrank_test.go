package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// rankShape is keys of a built side for an index by ranks, or one that it is not for.
type rankShape struct {
	name   string
	typ    arrow.DataType
	n      int
	key    func(i int) kernels.Scalar
	ranks  bool
	unique bool
	among  bool
}

func rankShapes() []rankShape {
	i64, i32, u64 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint64
	long := func(f func(i int64) int64) func(i int) kernels.Scalar {
		return func(i int) kernels.Scalar { return kernels.Int64(f(int64(i))) }
	}
	mixed := func(i int) int64 { return int64(i) * 7919 % 40_009 } // comes once below 40,009 rows
	return []rankShape{
		{"one", i64, 1, long(func(int64) int64 { return -5 }), true, true, false},
		{"orders", i64, 70_000, long(func(i int64) int64 { return i/8*32 + i%8 - 77 }), true, true, false},
		{"lines", i64, 70_000, long(func(i int64) int64 { return (i/3 + i/5) * 3 }), true, false, false},
		{"one key many times", i64, 140_000, long(func(i int64) int64 { return max(0, i-130_000) }), true, false, false},
		{"all the same", i64, 140_000, long(func(int64) int64 { return math.MaxInt64 }), true, false, false},
		{"few and far", i64, 40, long(func(i int64) int64 { return i * 52_000 }), true, true, false},
		{"farther", i64, 40, long(func(i int64) int64 { return i * 54_000 }), false, true, false},
		{"dates", arrow.FixedWidthTypes.Date32, 70_000, func(i int) kernels.Scalar {
			return kernels.Int(arrow.FixedWidthTypes.Date32, int64(i/3)-9000)
		}, true, false, false},
		{"past 2^63", u64, 1000, func(i int) kernels.Scalar { return kernels.Int(u64, 5*int64(i)-5001) }, true, true, false},
		{"least", i64, 1000, long(func(i int64) int64 { return math.MinInt64 + i*99 }), true, true, false},
		{"shuffled", i32, 40_009, func(i int) kernels.Scalar { return kernels.Int(i32, mixed(i)*50-900_000) }, true, true, false},
		{"shuffled twice", i32, 80_018, func(i int) kernels.Scalar { return kernels.Int(i32, mixed(i)*50-900_000) }, false, false, true},
		{"shuffled with nulls", i64, 40_009, func(i int) kernels.Scalar {
			if i%3 == 1 {
				return kernels.Null(i64)
			}
			return kernels.Int64(mixed(i) * 50)
		}, true, true, false},
	}
}

// Joins of every kind with keys for an index by ranks give what the reference gives, on
// every tier, for left keys in order and not, with nulls and beyond the right ones.
func TestJoinRanks(t *testing.T) {
	for n, c := range rankShapes() {
		kinds := []kernels.JoinKind{kernels.FullJoin, kernels.SemiJoin, []kernels.JoinKind{kernels.InnerJoin, kernels.LeftJoin, kernels.RightJoin}[n%3]}
		if !c.unique && c.n > 100_000 { // left rows of a key that comes so often would be too many pairs
			kinds = []kernels.JoinKind{kernels.SemiJoin, kernels.AntiJoin}
		}
		right := makeColumn(t, c.typ, c.n, c.key)
		r := rand.New(rand.NewPCG(1, 2))
		left := makeColumn(t, c.typ, 9_000, func(i int) kernels.Scalar {
			switch k := c.key(r.IntN(c.n)); {
			case i%50 == 3:
				return kernels.Null(c.typ)
			case !k.Valid() || i%2 == 0 || c.name == "all the same" && i%900 > 0:
				return nextKey(c.typ, k, int64(i%40))
			default:
				return k
			}
		})
		t.Run(c.name, func(t *testing.T) {
			requireRanks(t, c, right)
			eachGroupLoops(t, func(t *testing.T) {
				for i, kind := range kinds {
					o := kernels.JoinOptions{NullsEqual: i%2 == 1}
					eachBackend(t, kerneltest.Tolerance{}, func(b *kernels.Backend) ([]*memory.Column, error) {
						return joinedRows(t, b, left, right, kind, o)
					})
				}
			})
		})
	}
}

// nextKey is a key some steps above another, around the end of the type.
func nextKey(typ arrow.DataType, k kernels.Scalar, by int64) kernels.Scalar {
	if !k.Valid() {
		return kernels.Int(typ, by)
	}
	if typ.ID() == arrow.UINT64 {
		return kernels.Int(typ, int64(k.Uint64())+by)
	}
	v := k.Int64() + by
	if memory.Width(typ) == 4 {
		v = int64(int32(v))
	}
	return kernels.Int(typ, v)
}

// requireRanks holds the kind of an index against what a shape says.
func requireRanks(t *testing.T, c rankShape, right *memory.Column) {
	t.Helper()
	s, err := onlyGroups(t).NewStream()
	require.NoError(t, err)
	defer s.Close()
	a := newArena(s)
	defer a.free()
	index, err := newJoinIndex(context.Background(), a, []*memory.Column{right}, false)
	require.NoError(t, err)
	require.Equal(t, c.ranks, index.ranks.b != nil, "ranks")
	require.Equal(t, c.among, index.among.b != nil, "among")
	require.Equal(t, c.unique, index.unique, "unique")
}

func joinedRows(t *testing.T, b *kernels.Backend, left, right *memory.Column, kind kernels.JoinKind, o kernels.JoinOptions) ([]*memory.Column, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx := context.Background()
	table, err := b.JoinBuild(ctx, s, []*memory.Column{right}, o)
	if err != nil {
		return nil, err
	}
	defer table.Release()
	pairs, err := table.Probe(ctx, s, []*memory.Column{left}, kind, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(pairs.Release)
	if pairs.Right == nil {
		return []*memory.Column{pairs.Left}, nil
	}
	return []*memory.Column{pairs.Left, pairs.Right}, nil
}

// Bits alone lead to a search for rows that may be there only.
func TestJoinAmong(t *testing.T) {
	i64 := arrow.PrimitiveTypes.Int64
	key := func(i int) kernels.Scalar { return kernels.Int64(int64(i) * 7919 % 20_011 * 64) }
	right := makeColumn(t, i64, 40_022, key)
	for _, step := range []int64{1, 16, 64} { // of 64, 4 and 1 left keys one is there
		left := makeColumn(t, i64, 9_000, func(i int) kernels.Scalar { return kernels.Int64(int64(i)*step*197%1_300_000 - 9000) })
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			eachGroupLoops(t, func(t *testing.T) {
				for _, kind := range []kernels.JoinKind{kernels.InnerJoin, kernels.AntiJoin, kernels.FullJoin} {
					eachBackend(t, kerneltest.Tolerance{}, func(b *kernels.Backend) ([]*memory.Column, error) {
						return joinedRows(t, b, left, right, kind, kernels.JoinOptions{})
					})
				}
			})
		})
	}
}
