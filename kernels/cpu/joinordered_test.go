package cpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// smallPieces makes pieces, blocks and slabs of joins small.
func smallPieces(t *testing.T, piece int, block uint64) {
	oldPiece, oldBlock := orderedPiece, joinBlock
	orderedPiece, joinBlock = piece, block
	t.Cleanup(func() { orderedPiece, joinBlock = oldPiece, oldBlock })
}

// In left order a join of columns has the pairs of a table that is probed: of keys and
// payloads with nulls and without, of all widths and as texts, whose keys come once or
// often on either side, on every tier and with 1, 2 and 7 threads, with and without
// lines, of many groups of pieces.
func TestJoinOrderedLikeProbe(t *testing.T) {
	smallPieces(t, 64, 1<<14)
	ctx, r := context.Background(), rand.New(rand.NewPCG(testSeed, 61))
	n := 40_000
	if testing.Short() || raceDetector {
		n = 12_000
	}
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int8}
	for turn, shape := range []struct {
		name        string
		left, right int
		key         func(side, i int) (int64, bool)
	}{
		{"once", n, n, func(side, i int) (int64, bool) { return int64(mix(uint64((i*7919 + side) % n))), true }},
		{"all left rows once", n, n, func(side, i int) (int64, bool) { return int64(mix(uint64((i*7919 + 31*side) % n))), true }},
		{"drawn, with nulls", n, n / 2, func(_, _ int) (int64, bool) { return int64(mix(r.Uint64N(uint64(n)))), r.IntN(7) > 0 }},
		{"one left key", n, n, func(side, i int) (int64, bool) { return int64(mix(uint64(side * i))), true }},
		{"most of one key", n, 2000, func(side, i int) (int64, bool) { return int64(mix(uint64(i % (2 + 5*side) * i % 1000))), i%11 > 0 }},
		{"none", n, n, func(side, i int) (int64, bool) { return int64(mix(uint64(2*i + side))), true }},
		{"few", 70, n, func(_, i int) (int64, bool) { return int64(mix(uint64(i % 90))), true }},
	} {
		column := func(rows int, nulls bool, k int) *memory.Column {
			typ := types[(turn+k)%len(types)]
			return makeColumn(t, typ, rows, func(i int) kernels.Scalar {
				if nulls && i%5 == 0 {
					return kernels.Null(typ)
				}
				return kernels.Int(typ, int64(i%(113+k)))
			})
		}
		var sides [2]kernels.JoinSide
		for s, rows := range []int{shape.left, shape.right} {
			key := makeColumn(t, arrow.PrimitiveTypes.Int64, rows, func(i int) kernels.Scalar {
				if k, is := shape.key(s, i); is {
					return kernels.Int64(k)
				}
				return kernels.Null(arrow.PrimitiveTypes.Int64)
			})
			sides[s] = kernels.JoinSide{Keys: []*memory.Column{key}, Columns: []*memory.Column{key, column(rows, turn%3 == 2, s)}}
			if turn%3 == 1 { // so that the right row's number is carried
				texts := textsWithNulls(t, rows, func(i int) (string, bool) {
					if i%3 == 0 {
						return "", false
					}
					return fmt.Sprint("text ", i), true
				})
				sides[s].Columns = append(sides[s].Columns, texts)
			}
		}
		var want []*memory.Column
		d := host.New()
		plain := &kernels.Backend{Device: d, Set: withoutJoinColumns()}
		s, err := plain.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		if want, err = orderedColumns(ctx, plain, s, sides, 1<<20); err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int64{1, 1 << 22} {
			eachSame(t, shape.name, func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				got, err := orderedColumns(ctx, b, s, sides, rows)
				if err == nil && len(got) != len(want) {
					t.Fatalf("%s: %d columns, want %d", shape.name, len(got), len(want))
				}
				for k, c := range got {
					if !alikeColumns(c, want[k]) {
						t.Errorf("%s: column %d of %d at a time is not that of a table", shape.name, k, rows)
					}
				}
				return got, err
			})
		}
		releaseAll(want)
		if err := errors.Join(s.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}
}

// orderedColumns are the columns of a join in left order, in one piece each.
func orderedColumns(ctx context.Context, b *kernels.Backend, s device.Stream, sides [2]kernels.JoinSide, rows int64) ([]*memory.Column, error) {
	joined, err := b.JoinColumns(ctx, s, sides[0], sides[1], kernels.JoinOptions{})
	if err != nil {
		return nil, err
	}
	defer joined.Release()
	if _, ours := joined.(*orderedJoin); ours != (b.Set.JoinColumns.Func != nil) {
		return nil, fmt.Errorf("the join is a %T", joined)
	}
	return allJoined(ctx, b, s, joined, rows)
}

// allJoined are the columns of a join, in one piece each. Where memory is short it is
// asked again.
func allJoined(ctx context.Context, b *kernels.Backend, s device.Stream, joined kernels.JoinRows, rows int64) (all []*memory.Column, err error) {
	var columns [][]*memory.Column
	defer func() {
		for _, pieces := range columns {
			releaseAll(pieces)
		}
	}()
	for {
		next, err := joined.Next(ctx, rows)
		if err == io.EOF {
			break
		}
		if errors.Is(err, device.ErrOutOfMemory) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if columns == nil {
			columns = make([][]*memory.Column, len(next))
		}
		for k, c := range next {
			columns[k] = append(columns[k], c)
		}
	}
	for _, pieces := range columns {
		whole, err := b.Concat(ctx, s, pieces)
		if err != nil {
			releaseAll(all)
			return nil, err
		}
		all = append(all, whole)
	}
	return all, nil
}

func withoutJoinColumns() *kernels.Set {
	set := *Tiers()[0]
	set.JoinColumns.Func = nil
	return &set
}

// A join in left order is refused as soon as there are too many pairs, and before any is
// given; up to so many it is not.
func TestJoinOrderedLimit(t *testing.T) {
	smallPieces(t, 64, 1<<14)
	left, right := make([]int64, 3000), make([]int64, 100)
	for i := range left {
		left[i] = int64(i % 2)
	}
	for i := range right {
		right[i] = int64(i % 4)
	}
	const pairs = 3000 * 25
	for most, want := range map[int64]bool{0: true, pairs: true, pairs - 1: false, 5: false} {
		all, _, err := joinedSides(t.Context(), t, left, right, kernels.JoinOptions{MaxPairs: most}, 1<<20)
		var refused *kernels.PairsError
		if got := err == nil; got != want || !got && (!errors.As(err, &refused) || refused.Max != most) {
			t.Errorf("at most %d pairs: %v", most, err)
		}
		if want && (len(all) != pairs || !slices.IsSorted(all)) {
			t.Errorf("at most %d pairs: %d pairs", most, len(all))
		}
	}
	// So many pairs of one piece of left rows are refused where pairs are limited at all.
	clear(left)
	crowd := make([]int64, orderedMost/len(left)+1)
	var refused *kernels.PairsError
	if _, _, err := joinedSides(t.Context(), t, left[:64], crowd, kernels.JoinOptions{MaxPairs: 1 << 40}, 1<<20); err != nil {
		t.Error(err)
	}
	orderedPiece = 1 << 15
	_, _, err := joinedSides(t.Context(), t, left, crowd, kernels.JoinOptions{MaxPairs: 1 << 40}, 1<<20)
	if !errors.As(err, &refused) || refused.Max != orderedMost {
		t.Errorf("%d left rows with %d partners each: %v", len(left), len(crowd), err)
	}
}
