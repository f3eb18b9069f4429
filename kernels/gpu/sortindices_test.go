package gpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// TestSortWideRows checks that row numbers of 64 bits, which only columns of
// billions of rows need, sort as those of 32 bits do: all rows, and rows of a
// list.
func TestSortWideRows(t *testing.T) {
	onDevices(t, func(t *testing.T, c *call) { testWideRows(t, c, 700, -15, 3, false, true) })
}

// testWideRows sorts n rows, or some of them, of numbers from low on and of texts
// with the same start up to starts-1 times: the more bytes differ, the more
// passes it takes.
func testWideRows(t *testing.T, c *call, n int, low int64, starts int, some ...bool) {
	r := rand.New(rand.NewPCG(3, 4))
	i64, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	column := func(t arrow.DataType, draw func() kernels.Scalar) *memory.Column {
		v := make([]kernels.Scalar, n)
		for i := range v {
			if v[i] = draw(); r.IntN(9) == 0 {
				v[i] = kernels.Null(t)
			}
		}
		col, err := kernels.FromScalars(memory.Heap, t, v)
		if err != nil {
			panic(err)
		}
		return col
	}
	words := func() kernels.Scalar {
		return kernels.String(strings.Repeat("the same ", r.IntN(starts)) + fmt.Sprint(r.IntN(20)))
	}
	number := column(i64, func() kernels.Scalar { return kernels.Int64(int64(r.IntN(30)) + low) })
	late := column(text, words)
	coded := column(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: text}, words)
	defer number.Release()
	defer late.Release()
	defer coded.Release()
	a, b, d := c.toDevice(number), c.toDevice(late), c.toDevice(coded)
	for i, keys := range [][]kernels.SortKey{{{Values: b}}, {{Values: a}}, {{Values: a}, {Values: b, Descending: true}}, {{Values: d, NullsFirst: true}, {Values: a}}} {
		for _, some := range some {
			rows := make([]uint64, n)
			for i := range rows {
				rows[i] = uint64(i)
			}
			if some {
				rows = rows[n/3 : n/2]
			}
			sorted := func(width int) []uint64 {
				list := sortList{n: int64(len(rows)), width: width}
				if some {
					list.rows = c.upload(wordBytes(rows, width))
				}
				return bytesWords(c.read(c.sortList(keys, list), 0, list.n*int64(width)), width)
			}
			narrow, wide := sorted(4), sorted(8)
			if c.err != nil {
				t.Fatal(c.err)
			}
			if !slices.Equal(narrow, wide) {
				t.Errorf("keys %d, some %v: %v and with 64 bits %v", i, some, narrow, wide)
			}
			slices.Sort(wide)
			if !slices.Equal(wide, rows) {
				t.Errorf("keys %d, some %v: rows %v are no order of %v", i, some, wide, rows)
			}
		}
	}
}
