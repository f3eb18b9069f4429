package table

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
)

// TestWhatADeviceLacks: where a device has not got a kernel, or not for the type of a column, the error says what
// was to be done with which column of which type, and on what device that is missing.
func TestWhatADeviceLacks(t *testing.T) {
	b := testBackend(t)
	price := &arrow.Decimal128Type{Precision: 9, Scale: 2}
	made, err := New(b, Column("id", []int64{1, 2, 3, 1}), Column("price", []int64{5, 7, 5, 9}))
	require.NoError(t, err)
	defer made.Release()
	whole, err := From(made).WithColumn("price", expr.Col("price").Cast(price)).Collect(t.Context())
	require.NoError(t, err)
	defer whole.Release()
	name := b.Device.Name()
	for what, c := range map[string]struct {
		lacks func(*kernels.Set)
		q     func(q *Query) *Query
		want  string
	}{
		"a key":        {func(s *kernels.Set) { without(&s.GroupBy.Types) }, func(q *Query) *Query { return q.GroupBy("id", "price").Agg(Count()) }, `group by: unsupported: column "price": a key of decimal(9, 2)`},
		"an aggregate": {func(s *kernels.Set) { without(&s.GroupBy.Types) }, func(q *Query) *Query { return q.GroupBy("id").Agg(Count(), Max("id").As("m"), Sum("price").As("s")) }, `group by: unsupported: column "price": sum of decimal(9, 2)`},
		"all rows":     {func(s *kernels.Set) { without(&s.Reduce.Types); s.MinMax.Func = nil }, func(q *Query) *Query { return q.Agg(Sum("id").As("s"), Min("price").As("m")) }, `group by: unsupported: column "price": min of decimal(9, 2)`},
		"no groups":    {func(s *kernels.Set) { s.GroupBy.Func = nil }, func(q *Query) *Query { return q.GroupBy("id").Agg(Count()) }, `group by: unsupported: grouping`},
		"distinct":     {func(s *kernels.Set) { without(&s.Unique.Types) }, func(q *Query) *Query { return q.Distinct("id", "price") }, `distinct: unsupported: column "price": distinct rows of decimal(9, 2)`},
		"sort":         {func(s *kernels.Set) { without(&s.SortIndices.Types); without(&s.SortColumns.Types) }, func(q *Query) *Query { return q.Sort(Asc("id"), Asc("price")) }, `sort: unsupported: column "price": sort of decimal(9, 2)`},
		"top":          {func(s *kernels.Set) { without(&s.TopK.Types) }, func(q *Query) *Query { return q.TopK(2, Desc("price")) }, `sort: unsupported: column "price": sort of decimal(9, 2)`},
		"join":         {func(s *kernels.Set) { without(&s.JoinBuild.Types); s.JoinColumns.Func = nil }, func(q *Query) *Query { return q.Join(q.Rename("price", "cost"), Full, On("id"), Keys("price", "cost")) }, `join: unsupported: column "cost": join by a key of decimal(9, 2)`},
		"a comparison": {func(s *kernels.Set) { without(&s.Compare.Types); noPrograms(s) }, func(q *Query) *Query { return q.Filter(expr.Col("price").Gt(expr.Col("price"))) }, `filter: price > price: unsupported: > of column "price" of type decimal(9, 2) and column "price" of type decimal(9, 2)`},
		"arithmetic":   {func(s *kernels.Set) { without(&s.Arithmetic.Types); noPrograms(s) }, func(q *Query) *Query { return q.Select(expr.Col("price").Sub(expr.Col("price")).As("n")) }, `select: price - price: unsupported: - of column "price" of type decimal(9, 2) and column "price"`},
		"in":           {func(s *kernels.Set) { without(&s.IsIn.Types); without(&s.Members.Types); noPrograms(s) }, func(q *Query) *Query { return q.Filter("price in (5.00, 7.00)") }, `unsupported: in of column "price" of type decimal(9, 2)`},
		"a key of texts": {func(s *kernels.Set) { s.GroupBy.Types &^= kernels.BinaryTypes }, func(q *Query) *Query {
			return q.WithColumn("s", "case when id = 1 then 'x' else 'y' end").GroupBy("s").Agg(Count())
		}, `column "s": a key of utf8`},
		"a computed key": {func(s *kernels.Set) { without(&s.GroupBy.Types) }, func(q *Query) *Query {
			return q.GroupBy(expr.Col("price").Add(expr.Col("price")).As("twice")).Agg(Count())
		}, `column "twice": a key of decimal`},
		"a set operation": {func(s *kernels.Set) { without(&s.Unique.Types) }, func(q *Query) *Query { return q.Select("price").Intersect(q.Select("price")) }, `column "price"`},
	} {
		set := *b.Set
		c.lacks(&set)
		few := &kernels.Backend{Device: b.Device, Set: &set}
		on, err := NewTable(few, whole.Schema(), []*Batch{whole.Chunks()[0].Retain()})
		require.NoError(t, err, what)
		_, err = c.q(From(on)).Collect(t.Context())
		on.Release()
		require.ErrorIs(t, err, device.ErrUnsupported, what)
		require.ErrorContains(t, err, c.want, what)
		require.ErrorContains(t, err, " is not there on "+name, what)
	}
}

// without takes decimals from types.
func without(types *kernels.Types) { *types &^= kernels.DecimalTypes }

// noPrograms leaves the kernels alone to compute expressions.
func noPrograms(s *kernels.Set) {
	s.Evaluate.Func, s.FilterWhere.Func = nil, nil
}

// TestWhatGPUsLack: the kernels of GPUs make no texts of numbers, and no numbers of texts.
func TestWhatGPUsLack(t *testing.T) {
	b := testBackend(t)
	made, err := New(b, Column("id", []int64{1, 2}), Column("s", []string{"1", "2"}))
	require.NoError(t, err)
	defer made.Release()
	for e, want := range map[string]string{
		"cast(id as utf8)":  `cast of column "id" of type int64 to utf8`,
		"cast(s as int64)":  `cast of column "s" of type utf8 to int64`,
		"cast(s as date32)": `cast of column "s" of type utf8 to date32`,
	} {
		got, err := From(made).WithColumn("x", e).Collect(t.Context())
		if !backends.OnGPU() {
			if err == nil {
				got.Release()
			} else {
				require.ErrorIs(t, err, device.ErrValue, e)
			}
			continue
		}
		require.ErrorIs(t, err, device.ErrUnsupported, e)
		require.ErrorContains(t, err, e+" at line 1, column 1: unsupported: "+want+" is not there on "+b.Device.Name()+"; cpu has it")
	}
}

// TestKeysOfLists: columns of lists tell no rows apart, which each operation says of the column.
func TestKeysOfLists(t *testing.T) {
	b := testBackend(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}}, nil)
	lists, err := NewTable(b, schema, nil)
	require.NoError(t, err)
	defer lists.Release()
	q := From(lists)
	for want, q := range map[string]*Query{"distinct": q.Distinct(), "distinct: ": q.Distinct("l"), "intersect": q.Intersect(lists), "except": q.Except(lists)} {
		_, err := q.Collect(t.Context())
		require.ErrorIs(t, err, device.ErrUnsupported, want)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `column "l" of type list is no key`)
	}
}
