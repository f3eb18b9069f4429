package table

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
)

// Parts that stand in a plan twice, or in that of a scalar, too, are run once with the columns
// that all of them need; and rows are the same.
func TestEqualPartsAreRunOnce(t *testing.T) {
	fact, part, shop, _ := star(t, 4000)
	joined := From(part).Join(fact, Inner, Keys("pk", "part")).Join(shop, Inner, Keys("shop", "sk"))
	least := joined.GroupBy("town").Agg(Min("v").As("least"))
	sums := joined.GroupBy("colour").Agg(Sum("v").As("sum"))
	for name, c := range map[string]struct {
		q    *Query
		runs int // joins in the plan
	}{
		"a semi join":          {joined.Join(least, Semi, On("town"), Where("v = least")).Select("colour", "v").Sort(Asc("v")), 3},
		"in order":             {joined.Join(least, Semi, On("town"), Where("v < least + 100")).Select("colour", "v"), 3},
		"a scalar":             {sums.WithScalar("most", sums.Agg(Max("sum"))).Filter("sum * 2 > most"), 2},
		"scalar of the part":   {sums.WithScalar("all", joined.Agg(Sum("v"))).Filter("sum * 10 > all").Select("colour"), 2},
		"three times":          {sums.Join(sums.Rename("sum", "b"), Inner, On("colour")).WithScalar("n", sums.Agg(Count())), 3},
		"in one another":       {sums.Union(sums).Join(least.Union(least), Cross).Sort(Asc("colour"), Asc("town")), 3},
		"other conditions":     {joined.Filter("v < 10").Agg(Count()).Join(joined.Filter("v < 20").Agg(Count().As("b")), Cross), 5},
		"other constants":      {joined.Select(expr.Col("v").Add(int32(1)).As("x")).Agg(Sum("x")).Join(joined.Select(expr.Col("v").Add(int64(1)).As("x")).Agg(Sum("x").As("b")), Cross), 3},
		"of no rows":           {sums.Filter("sum < 0").WithScalar("n", sums.Filter("sum < 0").Agg(Max("sum"))), 2},
		"a sum that none sees": {sums.Select("colour").Union(sums.Select("colour")).Agg(Count()), 2},
	} {
		sameRows(t, name, c.q)
		plan := shape(t, c.q)
		require.Equal(t, c.runs, strings.Count(plan, " join"), "%s\n%s", name, plan)
	}
	t.Setenv("VOLLEY_OPTIMISER", "-shared")
	require.NotContains(t, shape(t, sums.Union(sums)), "shared")
}

// What two parts differ in, though their texts are the same, keeps them apart.
func TestUnequalPartsAreNotShared(t *testing.T) {
	fact, part, _, _ := star(t, 500)
	join := func(o ...JoinOption) *Query {
		return From(part).Join(fact, Inner, append(o, Keys("pk", "part"))...)
	}
	sum := func(q *Query, name string) *Query { return q.Agg(Count().As(name)) }
	for name, q := range map[string]*Query{
		"nulls":      sum(join(), "a").Join(sum(join(NullsEqual()), "b"), Cross),
		"null keys":  sum(From(fact).GroupBy("part").Agg(Count()), "a").Join(sum(From(fact).GroupBy("part").DropNullKeys().Agg(Count()), "b"), Cross),
		"scalars":    sum(From(fact).WithScalar("x", From(part).Agg(Min("pk"))).Filter("part = x").Distinct(), "a").Join(sum(From(fact).WithScalar("x", From(part).Agg(Max("pk"))).Filter("part = x").Distinct(), "b"), Cross),
		"tables":     sum(From(fact).Distinct("shop"), "a").Join(sum(From(part).Distinct("pk"), "b"), Cross),
		"narrow":     From(fact).Select(expr.Col("shop").Cast(arrow.PrimitiveTypes.Int8).As("x")).Distinct().Union(From(fact).Select(expr.Col("shop").Cast(arrow.PrimitiveTypes.Int8).As("x")).Distinct()),
		"any ending": join().Head(3).Union(join()),
	} {
		sameRows(t, name, q)
		if name != "narrow" {
			require.NotContains(t, shape(t, q), "shared", name)
		}
	}
}

// A shared part that fails fails the query, and one that is not read to its end is given back.
func TestSharedPartsEnd(t *testing.T) {
	fact, part, _, _ := star(t, 2000)
	joined := From(part).Join(fact, Inner, Keys("pk", "part")).GroupBy("colour").Agg(Sum("v").As("sum"))
	failing := joined.Select(expr.Col("sum").Cast(arrow.PrimitiveTypes.Int8).As("x")).Distinct()
	_, err := failing.Union(failing).Collect(t.Context())
	require.Error(t, err)
	for b, err := range joined.Union(joined).Batches(t.Context()) {
		require.NoError(t, err)
		require.Positive(t, b.Len())
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = joined.Union(joined).Collect(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
