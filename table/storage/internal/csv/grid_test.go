package csv

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// both builds the columns of a text by the grid, if it is one, and record by record.
func both(t *testing.T, text []byte, types []arrow.DataType, want []int) (grid, careful string, isGrid bool) {
	t.Helper()
	var fault *Fault
	bad := func(e *Fault) error { fault = e; return e }
	b := &Builder{Nulls: []string{"", "NA"}, LongestNull: 2, Memory: memory.Heap, Bad: bad}
	tokens := &Tokens{Delimiter: ',', Slots: NoSlots(len(types)), Bad: bad}
	for i := range types {
		tokens.Names = append(tokens.Names, fmt.Sprint("c", i))
	}
	for slot, i := range want {
		p, err := ParserOf(types[i])
		if err != nil {
			t.Fatal(err)
		}
		tokens.Slots[i] = slot
		b.Columns = append(b.Columns, Column{Name: tokens.Names[i], Number: i + 1, Type: types[i], Parser: p})
	}
	show := func(columns []*memory.Column) string {
		var s strings.Builder
		for _, c := range columns {
			a, err := memory.ToArrow(c)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&s, a)
			if f, ok := a.(interface{ Float64Values() []float64 }); ok {
				fmt.Fprintf(&s, "%x\n", f.Float64Values())
			}
			a.Release()
			c.Release()
		}
		return s.String()
	}
	if g := GridOf(text, ',', len(types)); g != nil {
		columns, ok, err := b.Grid(g)
		if err != nil {
			t.Fatal(err)
		}
		if isGrid = ok; ok {
			grid = fmt.Sprintln(g.Rows) + show(columns)
		}
		g.Release()
	}
	r, err := tokens.Records(Block{Text: text, Line: 1}, 0)
	if err == nil {
		var columns []*memory.Column
		if columns, err = b.Build(r); err == nil {
			careful = fmt.Sprintln(r.Rows()) + show(columns)
		}
		r.Release()
	}
	if err != nil {
		careful = "fault: " + fault.Error()
	}
	return grid, careful, isGrid
}

// TestGrid: columns built many fields at a time are those built record by record, of texts of all
// sorts of fields; and what is wrong anywhere is left to the latter.
func TestGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64,
		arrow.PrimitiveTypes.Int16, arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Date32, arrow.BinaryTypes.LargeString}
	number := func() string {
		return []string{fmt.Sprint(int64(r.Uint64())), fmt.Sprint(r.IntN(100_000)), fmt.Sprint(-r.IntN(100)), "+7", " 12 ", "\"34\"", "", "NA", "007",
			fmt.Sprint(r.Uint64() >> r.UintN(64) >> 1), "-9223372036854775808", "9223372036854775807", "-0"}[r.IntN(13)]
	}
	float := func() string {
		return []string{fmt.Sprint(r.Float64()), fmt.Sprint(r.NormFloat64() * 1e6), fmt.Sprintf("%.*f", r.IntN(20), r.NormFloat64()), "", "1e-5", "-0.0", "NaN", "\"2.5\"", ".5", "5.",
			fmt.Sprint(r.IntN(1000)), "0.0000000000000000001", "12345678.5", "NA", " 1.5"}[r.IntN(15)]
	}
	word := func() string {
		return []string{"", "\"\"", "NA", "\"NA\"", "x", "\"in, quotes\"", "\"two\nlines\"", "\"a \"\"b\"\"\"", "\"\"\"\"", "a text that is longer than sixteen bytes",
			"\"and one in quotes, longer too\"", "ä", "a\rb", "sixteen bytes ..", "s"}[r.IntN(15)]
	}
	grids := 0
	for n := range 3000 {
		var text bytes.Buffer
		for range r.IntN(60) {
			fmt.Fprintf(&text, "%s,%s,%s,%d,%s,%s,%s%s", number(), word(), float(), r.IntN(30_000), []string{"true", "0", "F", ""}[r.IntN(4)],
				[]string{"2001-02-28", "", "1969-01-01"}[r.IntN(3)], word(), []string{"\n", "\r\n"}[n%2])
		}
		b := text.Bytes()
		if n%3 == 0 && len(b) > 0 { // no end of line, or none of a record either
			b = b[:len(b)-r.IntN(min(len(b), 12))]
		}
		if n%5 == 0 && len(b) > 0 { // something may be wrong somewhere
			b[r.IntN(len(b))] = ",\"\n\rx\xff-.0"[r.IntN(9)]
		}
		want := [][]int{{0, 1, 2, 3, 4, 5, 6}, {6}, {2, 5}, {0}, {}}[r.IntN(5)]
		grid, careful, isGrid := both(t, b, types, want)
		if isGrid && grid != careful {
			t.Fatalf("%q: columns %v are\n%s, not\n%s", b, want, grid, careful)
		}
		if isGrid {
			grids++
		} else if n%3 != 0 && n%5 != 0 {
			t.Fatalf("%q is no grid", b)
		}
	}
	if grids < 1600 {
		t.Errorf("only %d texts were grids", grids)
	}
}

// TestGridOneColumn: empty lines are empty fields there, and the last one need not end.
func TestGridOneColumn(t *testing.T) {
	for _, text := range []string{"", "\n", "1\n\n2\n", "1\r\n\r\n2", "\r\n", "5", "\"\"\n", "12345678901234567890123456\n1\n"} {
		grid, careful, isGrid := both(t, []byte(text), []arrow.DataType{arrow.BinaryTypes.String}, []int{0})
		if !isGrid || grid != careful {
			t.Errorf("%q: a grid is %v:\n%s, not\n%s", text, isGrid, grid, careful)
		}
	}
}

// Digits are taken from the last on, whatever stands before them.
func TestLastDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		n := 1 + r.IntN(21)
		b := make([]byte, numberReach+r.IntN(9))
		for i := range b {
			b[i] = byte(r.UintN(256))
		}
		to := numberReach + r.IntN(len(b)-numberReach+1)
		for i := to - n; i < to; i++ {
			b[i] = byte('0' + r.IntN(10))
		}
		if r.IntN(3) == 0 {
			b[to-1-r.IntN(n)] = byte(r.UintN(256))
		}
		want, ok := parseDigits(append([]byte(nil), b[to-n:to]...))
		if got, is := lastDigits(b, to, n); is != (ok && n <= sureDigits) || is && got != want {
			t.Fatalf("%q is %d, %v; not %d, %v", b[to-n:to], got, is, want, ok)
		}
	}
}

func BenchmarkCSVColumns(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	var text bytes.Buffer
	const rows = 1 << 14
	for range rows {
		fmt.Fprintf(&text, "%d,%v,%d,\"id%010d\"\n", int64(r.Uint64()), r.Float64(), r.IntN(100_000), r.IntN(100_000))
	}
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}
	for _, want := range [][]int{{0, 1, 2, 3}, {}, {0}, {1}, {2}, {3}} {
		b.Run(fmt.Sprintf("columns=%v/rows=%d", want, rows), func(b *testing.B) {
			builder := &Builder{Nulls: []string{""}, Memory: memory.Heap}
			for _, i := range want {
				p, err := ParserOf(types[i])
				if err != nil {
					b.Fatal(err)
				}
				builder.Columns = append(builder.Columns, Column{Number: i + 1, Type: types[i], Parser: p})
			}
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				g := GridOf(text.Bytes(), ',', 4)
				columns, ok, err := builder.Grid(g)
				if !ok {
					b.Fatal(err)
				}
				for _, c := range columns {
					c.Release()
				}
				g.Release()
			}
		})
	}
}
