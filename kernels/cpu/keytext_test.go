package cpu

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// packableTexts are keys of the kinds that keyspaces tell apart: flags, texts of up to
// seven bytes of which some end with a zero byte, and such with a longer one among them.
var packableTexts = map[string]func(r *rand.Rand) string{
	"flags": func(r *rand.Rand) string { return "ANR"[r.IntN(3):][:1] },
	"ends":  func(r *rand.Rand) string { return []string{"", "a", "a\x00", "\x00", "\x00\x00", "ab"}[r.IntN(6)] },
	"codes": func(r *rand.Rand) string { return strings.Repeat("x", r.IntN(8)) },
	"limit": func(r *rand.Rand) string {
		return []string{"\xff\xff\xff\xff\xff\xff\xff", "1234567", "1234568"}[r.IntN(3)]
	},
	"one has": func(r *rand.Rand) string { return []string{"12345678", "1"}[min(1, r.IntN(50))] },
}

// Groups by short texts, with nulls and without, have their rows and the sums of their
// decimals, on every tier: short ones, such as fill 64 bits after a few rows, and blocks
// with longer ones.
func TestGroupShortTexts(t *testing.T) {
	const rows = 5000
	dev := host.New()
	s, err := dev.NewStream()
	require.NoError(t, err)
	defer s.Close()
	ctx, r := context.Background(), rand.New(rand.NewPCG(73, 1))
	d := &arrow.Decimal128Type{Precision: 30, Scale: 2}
	for name, text := range packableTexts {
		for turn, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.String} {
			key := func(i int) kernels.Scalar {
				if turn == 2 && r.IntN(5) == 0 {
					return kernels.Null(typ)
				}
				return kernels.Text(typ, text(r))
			}
			first, second := makeColumn(t, typ, rows, key), makeColumn(t, typ, rows, key)
			value := makeColumn(t, d, rows, func(i int) kernels.Scalar {
				v := decimal128.FromI64(int64(r.Uint64()) >> 30)
				switch {
				case turn > 0 && i/1024 == 1:
					v = decimal128.FromI64(int64(r.Uint64()) >> 3)
				case turn > 0 && i == 3000:
					v = decimal128.New(1<<20, r.Uint64())
				}
				return kernels.Decimal(d, v)
			})
			for _, keys := range [][]*memory.Column{{first}, {first, second}} {
				for _, drop := range []bool{false, true} {
					want := sumsByKey(keys, value, drop)
					for _, set := range Tiers() {
						b := &kernels.Backend{Device: dev, Set: set}
						what := fmt.Sprintf("%s of %s, %d keys, dropped %t, %s", name, typ, len(keys), drop, set.Name)
						got, err := b.GroupBy(ctx, s, keys, []kernels.Aggregate{{Op: kernels.Sum, Values: value}, {Op: kernels.Min, Values: value},
							{Op: kernels.CountAll}}, kernels.GroupOptions{DropNullKeys: drop})
						require.NoError(t, err, what)
						require.Equal(t, int64(len(want)), got.First.Len(), what)
						for i := range got.First.Len() {
							group := want[i]
							require.EqualValues(t, group.row, kernels.ScalarAt(got.First, i).Uint64(), what)
							require.Zero(t, group.sum.Cmp(kernels.ScalarAt(got.Values[0], i).Big()), what)
							require.Zero(t, group.least.Cmp(kernels.ScalarAt(got.Values[1], i).Big()), what)
							require.Equal(t, group.count, kernels.ScalarAt(got.Values[2], i).Int64(), what)
						}
						got.Release()
					}
				}
			}
		}
	}
}

type summedGroup struct {
	row, count int64
	sum, least *big.Int
}

// sumsByKey groups by the texts of the keys, in the order of first rows.
func sumsByKey(keys []*memory.Column, value *memory.Column, drop bool) (all []*summedGroup) {
	at := map[string]*summedGroup{}
	for i := range value.Len() {
		key, null := "", false
		for _, k := range keys {
			v := kernels.ScalarAt(k, i)
			null = null || !v.Valid()
			key += fmt.Sprintf("%t %q ", v.Valid(), v.Text())
		}
		if null && drop {
			continue
		}
		g := at[key]
		v := kernels.ScalarAt(value, i).Big()
		if g == nil {
			g = &summedGroup{row: i, sum: new(big.Int), least: v}
			at[key], all = g, append(all, g)
		}
		g.count++
		g.sum.Add(g.sum, v)
		if v.Cmp(g.least) < 0 {
			g.least = v
		}
	}
	return all
}

// A filter keeps texts of one byte as bytes, also where one of another length makes up
// for a null's, and windows of a column.
func TestFilterFlags(t *testing.T) {
	dev := host.New()
	s, err := dev.NewStream()
	require.NoError(t, err)
	defer s.Close()
	ctx, r := context.Background(), rand.New(rand.NewPCG(74, 1))
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString} {
		for _, rows := range []int{1, 3, 70, morsel + 300} {
			for turn := range 3 {
				whole := makeColumn(t, typ, rows, func(i int) kernels.Scalar {
					switch {
					case turn == 1 && i%7 == 2:
						return kernels.Null(typ)
					case turn == 1 && i%7 == 3, turn == 2 && i == 1: // of two bytes
						return kernels.Text(typ, "é")
					case turn == 2 && i == 2:
						return kernels.Text(typ, "")
					}
					return kernels.Text(typ, string(rune('A'+r.IntN(26))))
				})
				mask := makeColumn(t, arrow.FixedWidthTypes.Boolean, rows, func(int) kernels.Scalar { return kernels.Bool(r.IntN(9) > 0) })
				for _, from := range []int64{0, min(5, int64(rows)-1)} {
					n := int64(rows) - from
					texts, err := whole.Slice(from, n)
					require.NoError(t, err)
					keeps, err := mask.Slice(from, n)
					require.NoError(t, err)
					for _, set := range Tiers() {
						got, err := (&kernels.Backend{Device: dev, Set: set}).Filter(ctx, s, texts, keeps, kernels.FilterOptions{})
						require.NoError(t, err)
						at := int64(0)
						for i := range n {
							if kernels.ScalarAt(keeps, i).Bool() {
								want, have := kernels.ScalarAt(texts, i), kernels.ScalarAt(got, at)
								require.Equal(t, want.Valid(), have.Valid(), "row %d of %d on %s", i, n, set.Name)
								require.Equal(t, want.Text(), have.Text(), "row %d of %d on %s", i, n, set.Name)
								at++
							}
						}
						require.Equal(t, at, got.Len())
						got.Release()
					}
					texts.Release()
					keeps.Release()
				}
			}
		}
	}
}
