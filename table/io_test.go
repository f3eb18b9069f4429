package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/memory"
)

func TestGoSlicesComeBack(t *testing.T) {
	b := testBackend(t)
	numbers := []float64{1.5, -2, math.Inf(1)}
	at := time.Date(2024, 2, 29, 12, 0, 0, 1000, time.UTC)
	table, err := New(b,
		Column("f", numbers), Column("i", []int{1, 2, 3}).Valid([]bool{true, false, true}), Column("b", []bool{true, false, true}),
		Column("s", []string{"x", "", "日本"}), Column("t", []time.Time{at, at, at}), Column("d", []int32{0, 1, 19782}).Of(arrow.FixedWidthTypes.Date32),
		Column("w", []time.Duration{1, 2, 3}), Column("r", [][]byte{{1}, nil, {2, 3}}))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	f, err := Values[float64](table, "f")
	if same := len(f) == 3 && unsafe.SliceData(f) == unsafe.SliceData(numbers); err != nil || same != backends.OnHost() || fmt.Sprint(f) != fmt.Sprint(numbers) {
		t.Errorf("floats were copied or lost: %v, %v", f, err)
	}
	i, valid, err := NullableValues[int64](table, "i")
	if err != nil || i[0] != 1 || i[2] != 3 || !slices.Equal(valid, []bool{true, false, true}) {
		t.Errorf("ints %v %v %v", i, valid, err)
	}
	if v, err := Values[bool](table, "b"); err != nil || !slices.Equal(v, []bool{true, false, true}) {
		t.Errorf("bools %v %v", v, err)
	}
	if v, err := Values[string](table, "s"); err != nil || !slices.Equal(v, []string{"x", "", "日本"}) {
		t.Errorf("strings %q %v", v, err)
	}
	if v, err := Values[time.Time](table, "t"); err != nil || !v[0].Equal(at) {
		t.Errorf("times %v %v", v, err)
	}
	if v, err := Values[time.Time](table, "d"); err != nil || v[2].Format("2006-01-02") != "2024-02-29" {
		t.Errorf("dates %v %v", v, err)
	}
	if v, err := Values[int64](table, "w"); err != nil || v[2] != 3 {
		t.Errorf("durations %v %v", v, err)
	}
	if v, err := table.Value(2, "r"); err != nil || v.Text() != "\x02\x03" {
		t.Errorf("bytes %v %v", v, err)
	}
	for name, err := range map[string]error{
		"null":    second(Values[int64](table, "i")),
		"type":    second(Values[int32](table, "f")),
		"unknown": second(Values[int64](table, "ii")),
		"row":     second(table.Value(3, "f")),
		"column":  second(table.Value(0, "g")),
		"lengths": second(New(b, Column("a", []int8{1}), Column("b", []int8{1, 2}))),
		"marks":   second(New(b, Column("a", []string{"x"}).Valid([]bool{}))),
		"names":   second(New(b, Column("a", []int8{1}), Column("a", []int8{1}))),
		"width":   second(New(b, Column("a", []int8{1}).Of(arrow.FixedWidthTypes.Date32))),
	} {
		if !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(b, Column("a", []complex128{1})); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("complex numbers: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestArrowGoesBothWaysWithoutACopy(t *testing.T) {
	alloc := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	b := testBackend(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	builder := array.NewRecordBuilder(alloc, schema)
	defer builder.Release()
	builder.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3, 4}, []bool{true, true, false, true})
	builder.Field(1).(*array.StringBuilder).AppendValues([]string{"a", "b", "c", "d"}, nil)
	record := builder.NewRecordBatch()
	defer record.Release()
	cut := record.NewSlice(1, 4)
	defer cut.Release()
	table, err := FromRecords(b, schema, record, cut)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	equalRows(t, "rows", shown(table), []string{"1|a", "2|b", "null|c", "4|d", "2|b", "null|c", "4|d"})
	address := unsafe.SliceData(record.Column(0).Data().Buffers()[1].Bytes())
	if got := unsafe.SliceData(table.Chunks()[1].Column(0).Buffer(1).Bytes()); (got == address) != backends.OnHost() {
		t.Errorf("coming in was a copy: %v", got != address)
	}
	out, err := table.ToRecords()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range out {
		if got := unsafe.SliceData(r.Column(0).Data().Buffers()[1].Bytes()); (got == address) != backends.OnHost() {
			t.Errorf("going out was a copy: %v", got != address)
		}
		if want := []arrow.RecordBatch{record, cut}[i]; !array.RecordEqual(r, want) {
			t.Errorf("record %d came back as %v", i, r)
		}
	}
	whole := array.NewTableFromRecords(schema, out)
	again, err := FromArrowTable(b, whole)
	if err != nil {
		t.Fatal(err)
	}
	equalRows(t, "arrow table", shown(again), shown(table))
	again.Release()
	whole.Release()
	for _, r := range out {
		r.Release()
	}
}

func TestPrint(t *testing.T) {
	b := testBackend(t)
	table, err := New(b,
		Column("name", []string{"a", "日本語", "tab\there", "a very long text that goes on", "e\u0301"}),
		Column("n", []int64{1, 20, -300, 4, 5}).Valid([]bool{true, true, true, false, true}),
		Column("x", []float64{0.5, 1e10, math.NaN(), 100, -1.0 / 3}))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	golden := map[string]struct {
		f    Format
		want string
	}{
		"all": {Format{Types: true, Cell: 12}, `name              n              x
utf8          int64        float64
a                 1            0.5
日本語           20  10000000000.0
tab\there      -300            NaN
a very long…   null          100.0
é                 5      -0.333333
5 rows × 3 columns
`},
		"head and tail": {Format{Head: 1, Tail: 2, Cell: 8, Plain: true}, `name         n          x
a            1        0.5
...
a ver...  null      100.0
é            5  -0.333333
5 rows x 3 columns
`},
		"narrow": {Format{Head: 1, Width: 12}, "name  n  …\na     1  …\n5 rows × 3 columns\n"},
	}
	for name, g := range golden {
		var out stringWriter
		if err := table.Print(&out, g.f); err != nil {
			t.Fatal(err)
		}
		if string(out) != g.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, out, g.want)
		}
	}
	if err := table.Print(broken{}, Format{}); err == nil {
		t.Error("a writer that fails was not noticed")
	}
}

type stringWriter []byte

func (w *stringWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestDescribe(t *testing.T) {
	b := testBackend(t)
	table, err := New(b, Column("n", []int64{1, 2, 3, 6}), Column("s", []string{"a", "b", "a", ""}).Valid([]bool{true, true, true, false}))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	stats, err := From(table).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Release()
	equalRows(t, "statistics", shown(stats), []string{
		"count|4|3", "nulls|0|1", "mean|3|null", fmt.Sprintf("std|%v|null", math.Sqrt(14.0/3)), "min|1|null", "max|6|null", "distinct|4|2"})
}

// TestPeakMemory holds operations to their bounds: of a filter and a grouping
// input, output and a quarter more; of a join both inputs, output and twice the
// build side.
//
// On a GPU more is there at once. Launches hold their memory until they have
// run, while the host goes on to the next piece or slice. And groups' sums are
// exact, whatever the order in which atomics add: for each group there are 40
// bytes of counts, scales, flags and sums, its first row, and the group of each
// row, all at once where every row is a group.
func TestPeakMemory(t *testing.T) {
	var counted *memory.Counted
	b := backendOver(t, func(a memory.Allocator) memory.Allocator {
		counted = memory.NewCounted(a)
		return counted
	})
	rows := 4_000_000
	ids, k, v := make([]int64, rows), make([]int64, rows), make([]float64, rows)
	for i := range ids {
		ids[i], k[i], v[i] = int64(i*7919%rows), int64(i%100), float64(i%1009)
	}
	big, err := New(b, Column("id", ids), Column("k", k), Column("v", v))
	if err != nil {
		t.Fatal(err)
	}
	defer big.Release()
	keys := make([]int64, 40_000)
	for i := range keys {
		keys[i] = int64(i * 100)
	}
	small, err := New(b, Column("id", keys), Column("name", keys))
	if err != nil {
		t.Fatal(err)
	}
	defer small.Release()
	var batches []*Batch
	for at := int64(0); at < big.NumRows(); at += 1 << 16 {
		part, err := big.Chunks()[0].Slice(at, min(1<<16, big.NumRows()-at))
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, part)
	}
	chunked, err := NewTable(b, big.Schema(), batches)
	if err != nil {
		t.Fatal(err)
	}
	defer chunked.Release()
	input := int64(3 * 8 * rows)
	distinct := int64(2*8+3*8) * int64(rows) / 4 // a quarter of id and v, and of as many groups
	side := int64(2 * 8 * len(keys))
	gpu := map[string]int64{}
	if backends.OnGPU() {
		piece, groups := int64(2*3*8*pieceRows), int64(48*rows)
		slice := int64(24 << 20)
		gpu = map[string]int64{
			"group of chunks": piece, "group of distinct keys": groups, "group of distinct keys in chunks": groups,
			"inner join": slice, "left join": slice,
		}
	}
	for name, c := range map[string]struct {
		q     *Query
		bound int64 // beyond the output
	}{
		"filter":                           {From(big).Filter("v < 900 and k > 3"), input / 4},
		"group":                            {From(big).GroupBy("k").Agg(Count(), Mean("v"), Max("v")), input / 4},
		"group of chunks":                  {From(chunked).GroupBy("k").Agg(Count(), Mean("v"), Max("v")), input / 4},
		"group of distinct keys":           {From(big).GroupBy("id").Agg(Count(), Sum("v")), distinct},
		"group of distinct keys in chunks": {From(chunked).GroupBy("id").Agg(Count(), Sum("v")), distinct + 2*8*int64(rows)}, // its columns are put together
		"inner join":                       {From(big).Join(small, Inner, On("id")), 2 * side},
		"left join":                        {From(big).Join(small, Left, On("id")), 2 * side},
	} {
		counted.Reset()
		before := counted.Stats().Bytes
		out, err := c.q.Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stats := counted.Stats()
		output := stats.Bytes - before
		out.Release()
		// A slice of a million left rows in work comes on top of what a join holds.
		slack := gpu[name]
		if c.bound == 2*side {
			slack += 24 << 20
		}
		if extra := stats.Peak - before - output; extra > c.bound+slack {
			t.Errorf("%s: %d bytes beyond input and output of %d, allowed %d", name, extra, output, c.bound+slack)
		}
	}
}
