package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// Groupings by several keys, texts among them whose values are few, many, or few at
// first, give what the reference gives, on every tier.
func TestGroupTextKeys(t *testing.T) {
	const rows = 2*morsel + 999
	text, wide := arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary
	few := func(typ arrow.DataType, words ...string) func(r *rand.Rand, i int) kernels.Scalar {
		return func(r *rand.Rand, _ int) kernels.Scalar { return kernels.Text(typ, words[r.IntN(len(words))]) }
	}
	numbered := func(format string, n int) func(r *rand.Rand, i int) kernels.Scalar {
		return func(r *rand.Rand, _ int) kernels.Scalar { return kernels.Text(text, fmt.Sprintf(format, r.IntN(n))) }
	}
	whole := func(n int64) func(r *rand.Rand, i int) kernels.Scalar {
		return func(r *rand.Rand, _ int) kernels.Scalar { return kernels.Int64(r.Int64N(n) - n/2) }
	}
	null := func(every int, f func(r *rand.Rand, i int) kernels.Scalar) func(r *rand.Rand, i int) kernels.Scalar {
		return func(r *rand.Rand, i int) kernels.Scalar {
			if v := f(r, i); i%every > 0 {
				return v
			}
			return kernels.Null(f(r, i).Type())
		}
	}
	long := strings.Repeat("long ", 20)
	for name, keys := range map[string][]func(r *rand.Rand, i int) kernels.Scalar{
		"flags":      {few(text, "A", "N", "R"), few(text, "F", "O")},
		"ids":        {numbered("id%03d", 100), numbered("id%03d", 100)},
		"long":       {few(text, long, long+"a", long+"b", "", "\x00", "fifteen letters", "sixteen letters!"), few(wide, "x", "y")},
		"nulls":      {null(7, few(text, "A", "", "B")), null(11, whole(5)), null(13, few(wide, "", "w"))},
		"many":       {numbered("customer %09d", 60_000), few(text, "x", "y")},
		"many short": {numbered("%d", 5000), few(text, "x", "y"), whole(3)},
		"many later": {func(r *rand.Rand, i int) kernels.Scalar {
			return kernels.Text(text, fmt.Sprint(r.IntN(max(3, i-9000))))
		}, few(text, "x", "y")},
		"wide with texts": {whole(1 << 60), few(text, "x", "y")},
		"one text":        {few(text, "same"), few(text, "same")},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			var columns []*memory.Column
			for _, key := range keys {
				typ := key(r, 1).Type()
				columns = append(columns, makeColumn(t, typ, rows, func(i int) kernels.Scalar { return key(r, i) }))
			}
			values := makeColumn(t, arrow.PrimitiveTypes.Int64, rows, func(i int) kernels.Scalar { return kernels.Int64(int64(i)) })
			aggs := []kernels.Aggregate{{Op: kernels.CountAll}, {Op: kernels.Sum, Values: values}, {Op: kernels.Min, Values: values}}
			eachGroupLoops(t, func(t *testing.T) {
				for _, drop := range []bool{false, true} {
					eachBackend(t, kerneltest.Tolerance{}, func(b *kernels.Backend) ([]*memory.Column, error) {
						return groupedColumns(t, b, columns, aggs, kernels.GroupOptions{DropNullKeys: drop})
					})
				}
			})
		})
	}
}

// groupedColumns is what Group, Unique and GroupBy give.
func groupedColumns(t *testing.T, b *kernels.Backend, keys []*memory.Column, aggs []kernels.Aggregate, o kernels.GroupOptions) ([]*memory.Column, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx := context.Background()
	groups, err := b.Group(ctx, s, keys, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(groups.Release)
	rows, err := b.Unique(ctx, s, keys, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(rows.Release)
	grouped, err := b.GroupBy(ctx, s, keys, aggs, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(grouped.Release)
	require.NotNil(t, grouped.First)
	return append([]*memory.Column{groups.IDs, groups.First, rows, grouped.First}, grouped.Values...), nil
}

// The words of keys are exact where their texts were numbered, and hashes else.
func TestNumberTexts(t *testing.T) {
	const rows = 3 * morsel
	flag := makeColumn(t, arrow.BinaryTypes.String, rows, func(i int) kernels.Scalar {
		return kernels.String([]string{"the first", "the second", "the third and last"}[i%3])
	})
	many := makeColumn(t, arrow.BinaryTypes.String, rows, func(i int) kernels.Scalar { return kernels.String(fmt.Sprint("customer ", i)) })
	later := makeColumn(t, arrow.BinaryTypes.String, rows, func(i int) kernels.Scalar { return kernels.String(fmt.Sprint("customer ", max(0, i-rows/2))) })
	s, err := onlyGroups(t).NewStream()
	require.NoError(t, err)
	defer s.Close()
	for _, c := range []struct {
		keys  []*memory.Column
		width uint
	}{{[]*memory.Column{flag, flag}, 4}, {[]*memory.Column{flag, many}, 64}, {[]*memory.Column{later, flag}, 64}, {[]*memory.Column{flag}, 2}} {
		a := newArena(s)
		ks, err := newGroupKeyspace(context.Background(), a, goLoops(), c.keys, false)
		require.NoError(t, err)
		require.Equal(t, c.width, ks.width)
		require.Equal(t, c.width < 64, ks.exact)
		a.free()
	}
}

// Texts of one key whose aggregates cannot be tallied are numbered where they are few.
func TestGroupOneText(t *testing.T) {
	const rows = morsel + 999
	values := makeColumn(t, arrow.PrimitiveTypes.Int64, rows, func(i int) kernels.Scalar { return kernels.Int64(int64(i * 7 % 1000)) })
	others := makeColumn(t, arrow.PrimitiveTypes.Int64, rows, func(i int) kernels.Scalar { return kernels.Int64(int64(i)) })
	for name, text := range map[string]func(i int) string{
		"few":  func(i int) string { return fmt.Sprint(i * i % 900) },
		"long": func(i int) string { return strings.Repeat("ab", 8+i%5) },
		"many": func(i int) string { return fmt.Sprint(i * 7919 % rows) },
	} {
		t.Run(name, func(t *testing.T) {
			key := makeColumn(t, arrow.BinaryTypes.String, rows, func(i int) kernels.Scalar {
				if i%17 == 5 {
					return kernels.Null(arrow.BinaryTypes.String)
				}
				return kernels.String(text(i))
			})
			aggs := []kernels.Aggregate{{Op: kernels.Sum, Values: values}, {Op: kernels.Max, Values: others}}
			eachGroupLoops(t, func(t *testing.T) {
				for _, drop := range []bool{false, true} {
					eachBackend(t, kerneltest.Tolerance{}, func(b *kernels.Backend) ([]*memory.Column, error) {
						return groupedColumns(t, b, []*memory.Column{key}, aggs, kernels.GroupOptions{DropNullKeys: drop})
					})
				}
			})
		})
	}
}
