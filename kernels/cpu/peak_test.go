package cpu

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// peakRows are enough for several workers and for every way of many rows.
const peakRows = 1 << 20

// held runs f and checks that at most perRow bytes of device memory a row were held
// at one time above what was held before.
func held(t *testing.T, what string, count *memory.Counted, rows int, perRow float64, f func() error) {
	t.Helper()
	before := count.Stats().Bytes
	count.Reset()
	if err := f(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	peak := float64(count.Stats().Peak-before) / float64(rows)
	if t.Logf("%s: %.1f bytes a row", what, peak); peak > perRow {
		t.Errorf("%s: %.1f bytes a row were held at a time, at most %.1f are to be", what, peak, perRow)
	}
}

// Sorting rows' numbers takes a word and a number a row: the result, and the room
// of one part for each worker.
func TestSortIndicesPeak(t *testing.T) {
	b, s, count := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 31))
	v := make([]int64, peakRows)
	for i := range v {
		v[i] = int64(r.Uint64())
	}
	c := fixedColumn(t, arrow.PrimitiveTypes.Int64, v)
	defer c.Release()
	held(t, "SortIndices", count, peakRows, 8+4+1, func() error {
		rows, err := b.SortIndices(context.Background(), s, []kernels.SortKey{{Values: c}})
		rows.Release()
		return err
	})
}

// A join of two large sides holds the records of both, and beside them what two
// workers write: as their blocks are joined they become the room of the result.
func TestJoinColumnsPeak(t *testing.T) {
	r := [2]*rand.Rand{rand.New(rand.NewPCG(testSeed, 32)), rand.New(rand.NewPCG(testSeed, 33))}
	joinPeak(t, "of far keys", kernels.JoinOptions{AnyOrder: true}, joinHeld, func(side, _ int) int64 { return int64(mix(r[side].Uint64N(peakRows))) })
}

// joinHeld is how many bytes a row such a join holds.
const joinHeld = (16+16)*17./16 + 24*17./16/2 + 2

// A join of close keys holds right records and left words, in whose place the result
// comes. If a key comes twice these are gone before records of hashes are made.
func TestJoinClosePeak(t *testing.T) {
	smallClose(t, 16, 14, 1<<20)
	rows := rand.New(rand.NewPCG(testSeed, 34)).Perm(peakRows)
	o := kernels.JoinOptions{AnyOrder: true, Distinct: true}
	joinPeak(t, "of close keys", o, 16*33./32+8+1, func(_, i int) int64 { return int64(rows[i]) })
	rows[peakRows/2] = rows[peakRows-1]
	joinPeak(t, "of close keys one of which comes twice", o, joinHeld, func(_, i int) int64 { return int64(rows[i]) })
}

// joinPeak joins sides of such keys, which carry them.
func joinPeak(t *testing.T, what string, o kernels.JoinOptions, perRow float64, key func(side, i int) int64) {
	b, s, count := counted(t)
	b.Set = linedSet()
	keys := make([]int64, peakRows)
	var sides [2]kernels.JoinSide
	for k := range sides {
		for i := range keys {
			keys[i] = key(k, i)
		}
		c, v := fixedColumn(t, arrow.PrimitiveTypes.Int64, keys), fixedColumn(t, arrow.PrimitiveTypes.Int64, keys)
		t.Cleanup(c.Release)
		t.Cleanup(v.Release)
		sides[k] = kernels.JoinSide{Keys: []*memory.Column{c}, Columns: []*memory.Column{c, v}}
	}
	left, right := sides[0], sides[1]
	right.Columns = right.Columns[1:]
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var all [][]*memory.Column
	defer func() {
		for _, columns := range all {
			releaseAll(columns)
		}
	}()
	held(t, "a join "+what, count, peakRows, perRow, func() error {
		joined, err := b.JoinColumns(context.Background(), s, left, right, o)
		if err != nil {
			return err
		}
		defer joined.Release()
		for {
			columns, err := joined.Next(context.Background(), 1)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			all = append(all, columns)
		}
	})
}
