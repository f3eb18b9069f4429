package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	amemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
)

// TestJoinOfManyPairs: keys that repeat on both sides give their pairs a piece
// at a time, in order, and can be stopped.
func TestJoinOfManyPairs(t *testing.T) {
	b := testBackend(t)
	left, err := New(b, Column("k", make([]int64, 200_001)), Column("l", rising(200_001)))
	if err != nil {
		t.Fatal(err)
	}
	defer left.Release()
	right, err := New(b, Column("k", make([]int64, 200)), Column("r", rising(200)))
	if err != nil {
		t.Fatal(err)
	}
	defer right.Release()
	for _, kind := range []Kind{Inner, Left, Right, Full} {
		next := int64(0)
		for batch, err := range From(left).Join(right, kind, On("k")).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if batch.Len() > probePairs {
				t.Fatalf("%s: %d pairs at once", kind, batch.Len())
			}
			last := next + batch.Len() - 1
			one, err := NewTable(b, batch.Schema(), []*Batch{batch.Retain()})
			if err != nil {
				t.Fatal(err)
			}
			for at, want := range map[int64]int64{0: next, batch.Len() - 1: last} {
				l, _ := one.Value(at, "l")
				r, _ := one.Value(at, "r")
				if l.Int64() != want/200 || r.Int64() != want%200 {
					t.Fatalf("%s: pair %d is %d and %d", kind, want, l.Int64(), r.Int64())
				}
			}
			one.Release()
			next = last + 1
		}
		if next != 200_001*200 {
			t.Errorf("%s: %d pairs", kind, next)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := From(left).Join(left, Inner, On("k")).Agg(Count()).Collect(ctx); !errors.Is(err, device.ErrCanceled) {
		t.Errorf("4e10 pairs: %v", err)
	}
}

func rising(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// TestNoGoroutineStays: what errors and ended contexts leave is nothing.
func TestNoGoroutineStays(t *testing.T) {
	b := testBackend(t)
	table := bigTable(t, b, 100_000)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	before := runtime.NumGoroutine()
	for range 5 {
		for name, q := range operations(From(table), table) {
			for _, q := range []*Query{q, q.Filter("nope > 1")} {
				if got, err := q.Collect(ended); err == nil {
					got.Release()
					t.Errorf("%s: no error", name)
				}
			}
		}
	}
	for wait := 0; runtime.NumGoroutine() > before && wait < 1000; wait++ {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines became %d", before, n)
	}
}

// TestEveryTypeInEveryShape runs the operations that move rows over columns of
// types that have arithmetic and types that have none, whole, sliced, in parts,
// of one row and of none. What a type cannot do is an error of a kind.
func TestEveryTypeInEveryShape(t *testing.T) {
	b := testBackend(t)
	lists := arrow.ListOf(arrow.BinaryTypes.String)
	for _, c := range []struct {
		typ  arrow.DataType
		json string
	}{
		{arrow.Null, `[null,null,null,null,null,null]`},
		{arrow.PrimitiveTypes.Int32, `[null,null,null,null,null,null]`},
		{arrow.PrimitiveTypes.Float64, `[null,1.5,-0.0,0.0,2.5,null]`},
		{arrow.FixedWidthTypes.Boolean, `[true,null,false,true,true,null]`},
		{arrow.BinaryTypes.String, `["",null,"a","","ü",null]`},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["",null,"a","","zz",null]`},
		{&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}, `[1711843200000,null,-1,1711843200000,9999999999999,null]`},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, `["1.10",null,"-0.01","1.10","99999999999999999999.99",null]`},
		{lists, `[["a"],null,[],[null],["","b"],null]`},
		{arrow.FixedWidthTypes.Float16, `[1.5,null,-2,0,65504,null]`},
		{arrow.ListOf(arrow.FixedWidthTypes.Float16), `[[1.5],null,[],[null],[-2,65504],null]`},
		{arrow.StructOf(arrow.Field{Name: "x", Type: lists, Nullable: true}), `[{"x":["a"]},null,{"x":null},{"x":[]},{"x":["b",null]},null]`},
	} {
		values, _, err := array.FromJSON(amemory.DefaultAllocator, c.typ, strings.NewReader(c.json))
		if err != nil {
			t.Fatal(err)
		}
		ids, _, _ := array.FromJSON(amemory.DefaultAllocator, arrow.PrimitiveTypes.Int64, strings.NewReader(`[0,1,2,3,4,5]`))
		schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.typ, Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
		whole := array.NewRecordBatch(schema, []arrow.Array{values, ids}, 6)
		for shape, records := range map[string][]arrow.RecordBatch{
			"whole": {whole}, "sliced": {whole.NewSlice(1, 5)}, "one": {whole.NewSlice(3, 4)}, "none": {whole.NewSlice(3, 3)}, "empty": nil,
			"parts": {whole.NewSlice(0, 2), whole.NewSlice(2, 2), whole.NewSlice(2, 3), whole.NewSlice(5, 6)},
		} {
			table, err := FromRecords(b, schema, records...)
			if err != nil {
				t.Fatalf("%s %s: %v", c.typ, shape, err)
			}
			checkShapes(t, fmt.Sprintf("%s %s", c.typ, shape), table)
			table.Release()
		}
	}
}

// TestTypesWithoutKernelsPrint: a type that only travels is shown.
func TestTypesWithoutKernelsPrint(t *testing.T) {
	b := testBackend(t)
	values, _, err := array.FromJSON(amemory.DefaultAllocator, arrow.FixedWidthTypes.Float16, strings.NewReader(`[null,1.5,-2]`))
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.FixedWidthTypes.Float16, Nullable: true}}, nil)
	table, err := FromRecord(b, array.NewRecordBatch(schema, []arrow.Array{values}, 3))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	equalRows(t, "float16", shown(table), []string{"null", "1.5", "-2"})
}

func checkShapes(t *testing.T, what string, table *Table) {
	t.Helper()
	q, all := From(table), shown(table)
	tail := all[min(1, len(all)):]
	for name, c := range map[string]struct {
		q    *Query
		want []string
	}{
		"filter":       {q.Filter("id >= 0"), all},
		"filtered out": {q.Filter("id < 0"), nil},
		"order":        {q.Sort(Desc(expr.Col("id").Mul(-1))), all},
		"slice":        {q.Slice(1, math.MaxInt64), tail},
		"far slice":    {q.Slice(math.MaxInt64, math.MaxInt64), nil},
		"head, slice":  {q.Head(100).Slice(1, math.MaxInt64), tail},
		"no head":      {q.Head(0), nil},
		"union":        {q.Union(q.Head(0)), all},
		"join":         {q.Join(q.Select("id"), Inner, On("id")), all},
		"join payload": {q.Select("id").Join(q, Left, On("id")).Select("c", "id"), all},
		"cross":        {q.Join(q.Select(expr.Col("id").As("other")).Head(1), Cross).Select("c", "id"), all},
		"no match":     {q.Join(q.Filter("id < 0"), Semi, On("id")), nil},
	} {
		equalRows(t, what+" "+name, collect(t, c.q), c.want)
	}
	for name, q := range map[string]*Query{
		"group": q.GroupBy("c").Agg(Count(), Sum("id")), "firsts": q.GroupBy("id").Agg(First("c"), Last("c"), Count("c")),
		"extremes": q.GroupBy("id").Agg(Min("c"), Max("c"), CountDistinct("c")), "sum": q.Agg(Sum("c"), Mean("c")),
		"distinct": q.Distinct("c"), "sort": q.Sort(Desc("c").NullsFirst()), "top": q.TopK(2, Asc("c")),
		"key": q.Join(q, Full, On("c"), NullsEqual()), "equal": q.Filter(expr.Col("c").Eq(expr.Col("c"))), "null": q.Filter(expr.Col("c").IsNull()),
	} {
		got, err := q.Collect(t.Context())
		if err != nil && !errors.Is(err, device.ErrUnsupported) && !errors.Is(err, device.ErrMismatch) || err != nil && strings.Contains(err.Error(), "internal") {
			t.Errorf("%s %s: %v", what, name, err)
		}
		if err != nil {
			continue
		}
		for _, chunk := range got.Chunks() {
			for i := range chunk.NumColumns() {
				if err := chunk.Column(i).Validate(); err != nil {
					t.Errorf("%s %s: %v", what, name, err)
				}
			}
		}
		if got.String() == "" {
			t.Errorf("%s %s prints as nothing", what, name)
		}
		got.Release()
	}
}
