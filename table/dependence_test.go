package table

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// provenKeys runs a query and gives the keys that tell the groups of its uppermost group by apart, and
// whether they are fewer than all.
func provenKeys(t *testing.T, q *Query) (_ string, fewer bool) {
	t.Helper()
	stream, err := q.backend.NewStream()
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	morsel, err := morselRows()
	require.NoError(t, err)
	r := &runner{backend: q.backend, stream: stream, morsel: morsel}
	defer r.shared.close()
	defer r.keys.close()
	plan, _, err := q.resolved(t.Context(), nil)
	require.NoError(t, err)
	rows, err := r.plan(resultPlan, plan)
	require.NoError(t, err)
	defer rows.Close()
	batches, err := drain(context.Background(), rows)
	require.NoError(t, err)
	defer exec.ReleaseAll(batches)
	for {
		if g, ok := plan.(*groupNode); ok {
			var list []string
			for _, k := range g.told(r) {
				list = append(list, g.keys[k].name)
			}
			return strings.Join(list, " "), len(list) < len(g.keys)
		}
		plan = plan.inputs()[0]
	}
}

// Keys of groups that others determine are not compared: those of a row of a side whose key comes once, or
// of a table whose column rises, and what is computed of them. It is proven of the rows that are there: not where keys
// repeat, where rows without a match are among the groups of another column, where a projection has given the name to
// something else, where null is a key, and not of floats.
func TestKeysThatOthersDetermine(t *testing.T) {
	fact, part, shop, town := star(t, 700)
	host := fact.Backend().Device.Memory().Place().HostAccessible()
	byPart, byShop, byTown := Keys("part", "pk"), Keys("shop", "sk"), Keys("town", "tk")
	f64 := arrow.PrimitiveTypes.Float64
	inner := From(fact).Join(part, Inner, byPart)
	twice := From(part).Union(part)
	holes := From(part).WithColumn("pk", "case when pk % 10 = 3 then null else pk end")
	pairs := From(fact).Distinct("part", "shop").Select(expr.Col("part").As("p"), expr.Col("shop").As("s"), expr.Col("v").As("w"))
	zeros := From(fact).WithColumn("z", "case when v % 2 = 0 then 0.0 else -0.0 end").WithColumn("over", "1.0 / z")
	group := func(q *Query, keys ...any) *Query {
		return q.GroupBy(keys...).Agg(Sum("v").As("sum"), Count(), First("v").As("first"), Mean("v").As("mean"))
	}
	for name, c := range map[string]struct {
		q    *Query
		want string
	}{
		"an inner join":         {group(inner, "part", "colour"), "part"},
		"the right key":         {group(inner, "colour", "pk"), "pk"},
		"both keys":             {group(inner, "colour", "part", "pk"), "part"},
		"renamed":               {group(inner.Select(expr.Col("part").As("a"), expr.Col("colour").As("b"), "v"), "a", "b"), "a"},
		"swapped names":         {group(inner.Select(expr.Col("part").As("colour"), expr.Col("colour").As("part"), "v"), "part", "colour"), "colour"},
		"another of its name":   {group(inner.WithColumn("colour", "v % 3"), "part", "colour"), "part colour"},
		"a key of its name":     {group(inner.WithColumn("part", "v % 3"), "part", "colour"), "part colour"},
		"computed of it":        {group(inner.WithColumn("next", "pk * 2 + 1"), "part", "next", "colour"), "part"},
		"computed of others":    {group(inner.WithColumn("next", "pk + v"), "part", "next", "colour"), "part next"},
		"computed of floats":    {group(zeros, "z", "over"), "z over"},
		"expressions":           {group(inner, "part", expr.Col("pk").Mul(3).As("x")), "part"},
		"filters and sorts":     {group(inner.Filter("v > 100").Sort(Desc("v")).Head(300), "part", "colour"), "part"},
		"a left join":           {group(From(fact).Join(part, Left, byPart), "part", "colour", "pk"), "part"},
		"a left join, right":    {group(From(fact).Join(From(part).Filter("pk % 2 = 0").Select("pk", "colour"), Left, byPart), "pk", "colour"), "pk colour"},
		"a left join where":     {group(From(fact).Join(part, Left, byPart, Where("v > 70")), "part", "colour"), "part colour"},
		"a right join":          {group(From(fact).Join(part, Right, byPart), "part", "colour"), "part colour"},
		"a full join":           {group(From(fact).Join(part, Full, byPart), "part", "colour"), "part colour"},
		"left, then inner":      {group(From(fact).Join(shop, Left, byShop).Join(town, Inner, byTown), "shop", "town", "v_right"), "shop"},
		"inner, then left":      {group(From(fact).Join(shop, Inner, byShop).Join(From(town).Filter("tk > 1"), Left, byTown), "shop", "tk", "v_right"), "shop"},
		"semi, anti":            {group(inner.Join(From(town).Filter("tk > 1"), Anti, Keys("shop", "tk")).Join(shop, Semi, byShop), "part", "colour"), "part"},
		"two joins":             {group(From(fact).Join(shop, Inner, byShop).Join(town, Inner, byTown), "shop", "town", "v_right"), "shop"},
		"two joins, no first":   {group(From(fact).Join(shop, Inner, byShop).Join(town, Inner, byTown), "tk", "town", "v_right"), "tk"},
		"two of the same":       {group(inner.Join(From(part).Select(expr.Col("pk").As("k"), expr.Col("colour").As("c")), Inner, Keys("shop", "k")), "part", "colour", "c"), "part c"},
		"repeated keys":         {group(From(fact).Join(twice, Inner, byPart), "part", "colour"), "part colour"},
		"null keys":             {group(From(fact).Join(holes, Inner, byPart), "part", "colour"), "part"},
		"null keys, left":       {group(From(fact).Join(holes, Left, byPart), "part", "colour"), "part"},
		"null equals null":      {group(From(fact).Join(holes, Left, byPart, NullsEqual()), "part", "colour"), "part colour"},
		"floats":                {group(From(fact).WithColumn("part", expr.Col("part").Cast(f64)).Join(From(part).WithColumn("pk", expr.Col("pk").Cast(f64)), Inner, byPart), "part", "colour"), "part colour"},
		"keys of other types":   {group(From(fact).WithColumn("part", expr.Col("part").Cast(arrow.PrimitiveTypes.Int32)).Join(part, Inner, byPart), "part", "colour"), "part"},
		"two keys":              {group(From(fact).Join(pairs, Inner, Keys("part", "p"), Keys("shop", "s")), "part", "shop", "w"), "part shop"},
		"two keys, one grouped": {group(From(fact).Join(pairs, Inner, Keys("part", "p"), Keys("shop", "s")), "part", "w"), "w"},
		"groups of groups":      {group(From(fact).GroupBy("part", "shop").Agg(Max("v").As("v")).GroupBy("shop").Agg(Max("v").As("v"), Sum("part").As("s")), "shop", "s"), "shop"},
		"null keys left out":    {inner.GroupBy("part", "colour").DropNullKeys().Agg(Sum("v")), "part colour"},
		"not of parts":          {inner.GroupBy("part", "colour").Agg(CountDistinct("shop"), Std("v")), "part"},
		"a union":               {group(inner.Union(inner), "part", "colour"), "part colour"},
		"constants":             {group(inner.WithColumn("one", expr.Lit(int64(1))).WithColumn("two", expr.Lit("2")), "one", "two"), "one"},
		"below a filter":        {group(inner.Filter("v <> 5"), "part", "colour").Filter("count > 3"), "part"},
		"a rising column":       {group(From(part).Join(fact, Inner, Keys("pk", "part")), "colour", "pk"), "pk"},
		"a column that repeats": {group(From(fact), "shop", "v"), "v"},
	} {
		t.Setenv(morselVariable, "")
		onlyRule(t, ruleDependence)
		got, fewer := provenKeys(t, c.q)
		if host {
			require.Equal(t, c.want, got, name)
		} else { // nobody looks at keys and tables on a device: fewer are proven, and none that is not on the host
			require.Subset(t, strings.Fields(got), strings.Fields(c.want), name)
		}
		require.True(t, !fewer || strings.Contains(shape(t, c.q), "alone if that is unique"), name)
		sameUnder(t, ruleDependence, name, c.q)
		sameRows(t, name, c.q)
		for _, morsel := range []string{"3", "100"} {
			t.Setenv(morselVariable, morsel)
			sameUnder(t, ruleDependence, name, c.q)
		}
	}
}

// A table whose memory has changed since it was looked at is looked at anew.
func TestDependenceIsProvenAnew(t *testing.T) {
	b := testBackend(t)
	id, text := []int64{1, 2, 3, 4, 5, 6}, []string{"a", "b", "c", "d", "e", "f"}
	all, err := New(b, Column("id", id), Column("text", text))
	require.NoError(t, err)
	defer all.Release()
	q := From(all).GroupBy("id", "text").Agg(Count().As("n"))
	onlyRule(t, ruleDependence)
	require.Len(t, collect(t, q), 6)
	id[1], id[4] = 1, 4
	sameUnder(t, ruleDependence, "changed", q)
}
