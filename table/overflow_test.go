package table

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// numbers is a table of one row for each value of a type, and a key that is 1 for
// all but the last, in chunks of some rows.
func numbers(t *testing.T, b *kernels.Backend, typ arrow.DataType, rows int, values ...kernels.Scalar) *Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: typ, Nullable: true}}, nil)
	s, err := b.Device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var batches []*Batch
	for from := 0; from < len(values); from += rows {
		part := values[from:min(from+rows, len(values))]
		keys := make([]kernels.Scalar, len(part))
		for i := range keys {
			keys[i] = kernels.Int64(1)
			if from+i == len(values)-1 {
				keys[i] = kernels.Int64(2)
			}
		}
		k, err := b.FromScalars(context.Background(), s, arrow.PrimitiveTypes.Int64, keys)
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.FromScalars(context.Background(), s, typ, part)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		batch, err := NewBatch(schema, int64(len(part)), []*memory.Column{k, v})
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, batch)
	}
	out, err := NewTable(b, schema, batches)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSumsNeverWrap: sums and products by expression, of all rows and by group, of
// one chunk and of many, name what does not fit.
func TestSumsNeverWrap(t *testing.T) {
	b := testBackend(t)
	i64, u64, d38 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, &arrow.Decimal128Type{Precision: 38, Scale: 2}
	nine, _ := new(big.Int).SetString("90000000000000000000000000000000000000", 10)
	big9 := kernels.Decimal(d38, decimal128.FromBigInt(nine))
	for _, c := range []struct {
		name   string
		typ    arrow.DataType
		value  kernels.Scalar
		agg    Aggregate
		call   string
		advice string
	}{
		{"int64", i64, kernels.Int64(math.MaxInt64 - 7), Sum("v").As("total"), "sum(v)", "sum_wrapping wraps"},
		{"uint64", u64, kernels.Int(u64, -2), Sum("v"), "sum(v)", "sum_wrapping wraps"},
		{"negative", i64, kernels.Int64(math.MinInt64 + 3), Sum(expr.Col("v").Sub(1)), "sum(v - 1)", "int64"},
		{"decimal", d38, big9, Sum("v"), "sum(v)", "decimal(38, 2)"},
		{"product", i64, kernels.Int64(1 << 40), Product("v"), "product(v)", "int64"},
	} {
		for _, rows := range []int{100, 2} {
			values := make([]kernels.Scalar, 40)
			for i := range values {
				values[i] = c.value
			}
			table := numbers(t, b, c.typ, rows, values...)
			for what, q := range map[string]*Query{
				"all rows": From(table).Agg(Count(), c.agg), "by group": From(table).GroupBy("k").Agg(Count(), c.agg),
				"any order": From(table).GroupBy("k").AnyOrder().Agg(Count(), c.agg), "with distinct": From(table).GroupBy("k").Agg(CountDistinct("v"), c.agg),
			} {
				out, err := q.Collect(context.Background())
				if err == nil {
					t.Errorf("%s, %s, chunks of %d: got %s", c.name, what, rows, out)
					out.Release()
					continue
				}
				if !errors.Is(err, device.ErrValue) || !strings.Contains(err.Error(), c.call) || !strings.Contains(err.Error(), "does not fit") || !strings.Contains(err.Error(), c.advice) {
					t.Errorf("%s, %s, chunks of %d: %v", c.name, what, rows, err)
				}
			}
			table.Release()
		}
	}
}

// TestSumWrapping takes the same modulo 2^64.
func TestSumWrapping(t *testing.T) {
	b := testBackend(t)
	table := numbers(t, b, arrow.PrimitiveTypes.Int64, 2, kernels.Int64(math.MaxInt64), kernels.Int64(2), kernels.Int64(5), kernels.Int64(1))
	defer table.Release()
	equalRows(t, "all", collect(t, From(table).Agg(SumWrapping("v"))), []string{"-9223372036854775801"})
	equalRows(t, "by group", collect(t, From(table).GroupBy("k").Agg(SumWrapping("v"))), []string{"1|-9223372036854775802", "2|1"})
}

// TestSumsThatFitAtTheEnd: a part of the rows that does not fit by itself is no
// error where the whole does.
func TestSumsThatFitAtTheEnd(t *testing.T) {
	b := testBackend(t)
	rows := pieceRows
	k, v := make([]int64, rows), make([]int64, rows)
	low := make([]int64, rows)
	for i := range v {
		k[i] = int64(i % 5)
		v[i], low[i] = math.MaxInt64/1000+int64(i), -math.MaxInt64/1000-int64(i)
	}
	up, err := New(b, Column("k", k), Column("v", v))
	if err != nil {
		t.Fatal(err)
	}
	defer up.Release()
	down, err := New(b, Column("k", k), Column("v", low))
	if err != nil {
		t.Fatal(err)
	}
	defer down.Release()
	q := From(up).Union(From(down))
	equalRows(t, "all", collect(t, q.Agg(Sum("v"))), []string{"0"})
	equalRows(t, "by group", collect(t, q.GroupBy("k").Agg(Sum("v"), Count())), []string{"0|0|419432", "1|0|419430", "2|0|419430", "3|0|419430", "4|0|419430"})
	_, err = From(up).Union(From(up)).GroupBy("k").Agg(Mean("v"), Sum("v").As("total")).Collect(context.Background())
	if !errors.Is(err, device.ErrValue) || !strings.Contains(err.Error(), "sum(v)") {
		t.Errorf("both high: %v", err)
	}
}

// TestUnsignedBesideSigned compares and joins uint64 past 2^63 with signed integers.
func TestUnsignedBesideSigned(t *testing.T) {
	b := testBackend(t)
	left, err := New(b, Column("i", []int64{-1, 5, math.MinInt64, math.MaxInt64, 0}).Valid([]bool{true, true, true, true, false}),
		Column("u", []uint64{math.MaxUint64, 5, 1 << 63, math.MaxInt64, 7}), Column("small", []int8{-1, 5, 0, 127, 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer left.Release()
	for text, want := range map[string][]string{
		"i = u": {"false", "true", "false", "true", "null"}, "u <> i": {"true", "false", "true", "false", "null"}, "i < u": {"true", "false", "true", "false", "null"},
		"i >= u": {"false", "true", "false", "true", "null"}, "u > small": {"true", "false", "true", "true", "true"}, "18446744073709551615 = i": {"false", "false", "false", "false", "null"},
		"18446744073709551615 > -1": {"true", "true", "true", "true", "true"},
	} {
		e, err := expr.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		equalRows(t, text, collect(t, From(left).Select(e.As("is"))), want)
	}
	right, err := New(b, Column("u", []uint64{5, math.MaxUint64, 1 << 63, math.MaxInt64}), Column("n", []int64{1, 2, 3, 4}))
	if err != nil {
		t.Fatal(err)
	}
	defer right.Release()
	q := From(left).Select("i")
	equalRows(t, "inner", collect(t, q.Join(From(right), Inner, Keys("i", "u"))), []string{"5|5|1", "9223372036854775807|9223372036854775807|4"})
	equalRows(t, "left", collect(t, q.Join(From(right), Left, Keys("i", "u")).Select("i", "n")), []string{"-1|null", "5|1", "-9223372036854775808|null", "9223372036854775807|4", "null|null"})
	equalRows(t, "anti", collect(t, From(right).Join(From(left).Select("small"), Anti, Keys("u", "small")).Select("n")), []string{"2", "3", "4"})
}
