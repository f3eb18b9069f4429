package distributed

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// narrow is 100 texts of a rank's own as a dictionary with indices of 8 bits: those of three
// ranks together are more than 8 bits number.
func narrow(t *testing.T, b *kernels.Backend, rank int) *table.Table {
	builder := array.NewDictionaryBuilder(arrowmem.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
	const n = 100
	k, v, s := make([]int64, n), make([]int64, n), make([]string, n)
	for i := range n {
		text := fmt.Sprintf("text %d", (i*37+rank*90)%300)
		require.NoError(t, builder.AppendValueFromString(text))
		k[i], v[i], s[i] = int64(i%11), int64(rank*n+i), text
	}
	texts := builder.NewArray()
	d, err := memory.FromArrow(texts)
	require.NoError(t, err)
	defer d.Release()
	made, err := table.New(b, table.Column("k", k), table.Column("v", v), table.Column("s", s), table.Column("d", d))
	require.NoError(t, err)
	return made
}

// TestDictionariesThatDoNotFitTogether: indices become wider on all ranks where one needs it.
func TestDictionariesThatDoNotFitTogether(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	more := append([]operator{
		{name: "distinct dictionaries", ranks: func(ctx context.Context, d *Table) (*Table, error) { return d.Distinct(ctx, "d") },
			local: func(q *table.Query) *table.Query { return q.Distinct("d") }},
		{name: "top dictionaries", ranks: func(ctx context.Context, d *Table) (*Table, error) { return d.TopK(ctx, 80, table.Asc("d")) },
			local: func(q *table.Query) *table.Query { return q.TopK(80, table.Asc("d")) }},
		{name: "last of dictionaries", ranks: func(ctx context.Context, d *Table) (*Table, error) {
			return d.GroupBy("d").Agg(ctx, table.Last("d"), table.Count())
		}, local: func(q *table.Query) *table.Query { return q.GroupBy("d").Agg(table.Last("d"), table.Count()) }},
		{name: "intersect", ranks: func(ctx context.Context, d *Table) (*Table, error) { return d.Intersect(ctx, d) },
			local: func(q *table.Query) *table.Query { return q.Intersect(q) }},
	}, operators...)
	for _, few := range []int64{usual.few, 3} {
		groupLimits.few = few
		each(t, 3, func(r *rank) error {
			var chunks []*table.Batch
			var schema *arrow.Schema
			for i := range 3 {
				one := narrow(r.t, r.backend, i)
				schema = one.Schema()
				chunks = append(chunks, one.Chunks()[0].Retain())
				one.Release()
			}
			whole, err := table.NewTable(r.backend, schema, chunks)
			if err != nil {
				return err
			}
			defer whole.Release()
			part := narrow(r.t, r.backend, r.id())
			defer part.Release()
			d, err := New(r, r.comm, part)
			if err != nil {
				return err
			}
			defer d.Release()
			for _, op := range more {
				got, err := op.ranks(r, d)
				if err != nil {
					return fmt.Errorf("%s: %w", op.name, err)
				}
				all, err := r.all(got)
				if err != nil {
					return fmt.Errorf("%s: %w", op.name, err)
				}
				want, err := op.local(whole.Query()).Collect(r)
				if err != nil {
					return err
				}
				require.Equal(r.t, rows(want), all, "%s", op.name)
				want.Release()
				got.Release()
			}
			return nil
		})
	}
}
