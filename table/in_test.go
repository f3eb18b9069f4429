package table

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// chunked is a table of one column in chunks of some rows.
func chunked(t *testing.T, b *kernels.Backend, typ arrow.DataType, values []kernels.Scalar, size int) *Table {
	t.Helper()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
	var chunks []*Batch
	for at := 0; at < len(values); at += size {
		part := values[at:min(at+size, len(values))]
		c, err := b.FromScalars(context.Background(), s, typ, part)
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := NewBatch(schema, int64(len(part)), []*memory.Column{c})
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, chunk)
	}
	table, err := NewTable(b, schema, chunks)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// In of long lists finds what a map finds, for all classes of types, in one
// chunk and in many, filtered and computed.
func TestInOfMany(t *testing.T) {
	b := testBackend(t)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	decimal := &arrow.Decimal128Type{Precision: 12, Scale: 2}
	makers := map[arrow.DataType]func(n int64) kernels.Scalar{
		arrow.PrimitiveTypes.Int64:   func(n int64) kernels.Scalar { return kernels.Int64(n * 1_000_003) },
		arrow.PrimitiveTypes.Int8:    func(n int64) kernels.Scalar { return kernels.Int(arrow.PrimitiveTypes.Int8, n%100) },
		arrow.PrimitiveTypes.Float64: func(n int64) kernels.Scalar { return kernels.Float64(float64(n) / 8) },
		arrow.BinaryTypes.String:     func(n int64) kernels.Scalar { return kernels.Text(arrow.BinaryTypes.String, fmt.Sprintf("key %d", n)) },
		arrow.FixedWidthTypes.Date32: func(n int64) kernels.Scalar { return kernels.Int(arrow.FixedWidthTypes.Date32, n) },
		decimal:                      func(n int64) kernels.Scalar { return kernels.Decimal(decimal, decimal128.FromI64(n)) },
	}
	for typ, of := range makers {
		for _, withNull := range []bool{false, true} {
			values := make([]kernels.Scalar, 3000)
			for i := range values {
				if values[i] = of(rng.Int64N(2000)); i%11 == 0 {
					values[i] = kernels.Null(typ)
				}
			}
			list, found := []any{}, map[string]bool{}
			for range 1000 {
				v := of(rng.Int64N(4000))
				list, found[v.String()] = append(list, v), true
			}
			if withNull {
				list = append(list, nil)
			}
			var want int64
			var isIn []bool
			for _, v := range values {
				in := v.Valid() && found[v.String()] || !v.Valid() && withNull
				isIn = append(isIn, in)
				if in {
					want++
				}
			}
			for _, size := range []int{3000, 700, 40} {
				in := expr.Col("v").In(list...)
				table := chunked(t, b, typ, values, size)
				kept, err := table.Query().Filter(in).Collect(context.Background())
				if err != nil {
					t.Fatalf("%s: %v", typ, err)
				}
				if kept.NumRows() != want {
					t.Errorf("%s in chunks of %d, null %t: %d rows, want %d (seed %d)", typ, size, withNull, kept.NumRows(), want, seed)
				}
				kept.Release()
				made, err := table.Query().Select(in.As("in")).Collect(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				got, err := Values[bool](made, "in")
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if got[i] != isIn[i] {
						t.Fatalf("%s in chunks of %d, null %t: row %d is %t (seed %d)", typ, size, withNull, i, got[i], seed)
					}
				}
				made.Release()
				table.Release()
			}
		}
	}
}

// The set of an in is built once for all chunks and runs of rows.
func TestInBuildsItsSetOnce(t *testing.T) {
	b := testBackend(t)
	counted, built := *b, 0
	set := *b.Set
	set.Members.Types = set.IsIn.Types
	set.Members.Func = func(ctx context.Context, s device.Stream, c *memory.Column) (kernels.Members, error) {
		built++
		return b.Members(ctx, s, c)
	}
	counted.Set = &set
	values := make([]kernels.Scalar, 200_000)
	for i := range values {
		values[i] = kernels.Int64(int64(i))
	}
	for _, size := range []int{len(values), 1000} {
		for what, q := range map[string]func(*Query, *expr.Expr) *Query{
			"filter": func(q *Query, in *expr.Expr) *Query { return q.Filter(in) },
			"select": func(q *Query, in *expr.Expr) *Query { return q.Select(in.And(expr.Col("v").Gt(5)).As("x")) },
		} {
			table := chunked(t, &counted, arrow.PrimitiveTypes.Int64, values, size)
			built = 0
			made, err := q(table.Query(), expr.Col("v").In(1, 5, math.MaxInt64)).Collect(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			made.Release()
			table.Release()
			if built != 1 {
				t.Errorf("%s in chunks of %d: %d sets built", what, size, built)
			}
		}
	}
}
