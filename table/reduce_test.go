package table

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
)

// The large side of a join is cut to the keys of the small one before it is built or grouped, and
// rows are the same: of each kind, with nulls in keys, null equal to null, keys that repeat,
// keys of other types, and sides without rows.
func TestLargeSidesAreReduced(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, shop, _ := star(t, 5000)
	few, large := From(part).Filter("pk < 5"), From(fact)
	sums := large.GroupBy("part", "shop").Agg(Sum("v").As("sum"), Count())
	byPart := Keys("pk", "part")
	cut := "semi join on part = pk"
	for name, c := range map[string]struct {
		q       *Query
		reduced bool
	}{
		"semi":               {few.Join(large, Semi, byPart), true},
		"anti":               {few.Join(large.Filter("v < 3000"), Anti, byPart), true},
		"left":               {few.Join(large, Left, byPart), true},
		"inner in order":     {few.Join(large, Inner, byPart), true},
		"right":              {few.Join(large, Right, byPart).Select("v"), false},
		"full":               {few.Join(large, Full, byPart).Select("v"), false},
		"a condition":        {few.Join(large, Semi, byPart, Where("v > 1000 and shop < pk")), true},
		"nulls":              {few.WithColumn("pk", "case when pk = 3 then null else pk end").Join(large, Semi, byPart), true},
		"null is null":       {large.Filter("v < 100").Join(large, Anti, On("part"), NullsEqual(), Where("v_right > v + 4800")), false},
		"other types":        {few.Select(expr.Col("pk").Cast(arrow.PrimitiveTypes.Int8).As("pk"), "colour").Join(large, Semi, byPart), true},
		"twice":              {few.Union(few).Join(large, Left, byPart), true},
		"two keys":           {few.WithColumn("sk", "pk + 0").Join(large, Semi, byPart, Keys("sk", "shop")), true},
		"none on the left":   {From(part).Filter("pk < 0").Join(large, Left, byPart), true},
		"none on the right":  {few.Join(large.Filter("v < 0"), Anti, byPart), false},
		"groups":             {few.Join(sums, Left, byPart), true},
		"groups renamed":     {few.Join(sums.Filter("sum > 1000").Select(expr.Col("part").As("p"), "sum"), Inner, Keys("pk", "p")), true},
		"groups on the left": {sums.Join(few, Inner, Keys("part", "pk")), false}, // the join hands its keys down
		"groups by another":  {few.Join(large.GroupBy("shop").Agg(Max("part").As("part")), Semi, byPart), false},
		"all parts":          {From(part).Join(large, Left, byPart), false},
		"the first rows":     {few.Join(large, Inner, byPart).Head(3), false},
		"of limits":          {few.Join(large.Head(200), Semi, byPart), true},
		"one in another":     {few.Join(large, Semi, byPart).Join(large.Join(shop, Inner, Keys("shop", "sk")).GroupBy("part").Agg(Sum("v")), Left, byPart), true},
	} {
		plan := shape(t, c.q)
		if part.Backend().Device.Memory().Place().HostAccessible() {
			assert.Equal(t, c.reduced, strings.Contains(plan, cut) && strings.Contains(plan, "shared"), "%s\n%s", name, plan)
		}
		sameRows(t, name, c.q)
		sameRows(t, name+", summed", c.q.Agg(Count()))
	}
	t.Setenv("VOLLEY_OPTIMISER", "-joinfilter")
	onLeft := sums.Join(few, Inner, Keys("part", "pk"))
	plan := shape(t, onLeft)
	if part.Backend().Device.Memory().Place().HostAccessible() {
		require.Contains(t, plan, cut)
	}
	equalRows(t, "groups on the left", collect(t, onLeft), func() []string { t.Setenv("VOLLEY_OPTIMISER", "-all"); return collect(t, onLeft) }())
	t.Setenv("VOLLEY_OPTIMISER", "-reduce")
	require.NotContains(t, shape(t, few.Join(large, Semi, byPart)), cut)
}

// Floats as keys: NaN equals NaN and -0 equals 0, or not, as in the join itself.
func TestReducedByFloats(t *testing.T) {
	t.Setenv(morselVariable, "10")
	b := testBackend(t)
	values := make([]float64, 4000)
	for i := range values {
		values[i] = float64(i%400) - 1
	}
	values[7], values[8], values[9] = math.NaN(), math.Copysign(0, -1), math.Inf(1)
	large, err := New(b, Column("x", values), Column("id", seriesOf(len(values))))
	require.NoError(t, err)
	defer large.Release()
	small, err := New(b, Column("y", []float64{math.NaN(), 0, math.Inf(1), -1}))
	require.NoError(t, err)
	defer small.Release()
	for _, kind := range []Kind{Inner, Left, Semi, Anti} {
		q := From(small).Join(From(large), kind, Keys("y", "x"))
		sameRows(t, kind.String(), q)
		sameRows(t, kind.String()+" of groups", From(small).Join(From(large).GroupBy("x").Agg(Count(), Min("id")), kind, Keys("y", "x")))
	}
}

func seriesOf(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

// An expression that fails on a row that is left out does not fail, and none fails that did not.
func TestReducedRowsDoNotFail(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, _, _ := star(t, 5000)
	narrow := From(fact).GroupBy("part").Agg(Max("v").As("most")).Select("part", expr.Col("most").Cast(arrow.PrimitiveTypes.Int16).As("most"))
	q := From(part).Filter("pk < 5").Join(narrow, Left, Keys("pk", "part"))
	sameRows(t, "all fit", q)
	wrong := From(part).Filter("pk < 5").Select(expr.Col("pk").Mul(100).Cast(arrow.PrimitiveTypes.Int8).As("pk")).Join(narrow, Left, Keys("pk", "part"))
	_, err := wrong.Collect(t.Context())
	require.ErrorContains(t, err, "int8")
}

// The right side of a join is cut to the keys of a small side that a join below its left side has: below filters, projections and
// other joins, on the left and on the right of these, for one of two keys. Rows are the same, with nulls and keys that repeat.
func TestRightSidesAreReducedFurther(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, shop, _ := star(t, 5000)
	few, large := From(part).Filter("pk < 28"), From(fact).Select(expr.Col("part").As("p"), expr.Col("shop").As("s"), expr.Col("v").As("w"))
	lines := From(fact).Join(few, Inner, Keys("part", "pk"))
	two := []JoinOption{Keys("part", "p"), Keys("shop", "s")}
	cut := "semi join on p = pk"
	for name, c := range map[string]struct {
		q       *Query
		reduced bool
	}{
		"inner":             {lines.Join(large, Inner, two...), true},
		"the right key":     {lines.Join(large, Inner, Keys("pk", "p"), Keys("shop", "s")), true},
		"semi":              {lines.Join(large, Semi, two...), true},
		"anti":              {lines.Join(large.Filter("w < 3000"), Anti, two...), true},
		"left":              {lines.Join(large.Filter("w % 3 = 0"), Left, two...), true},
		"a condition":       {lines.Join(large, Semi, append(two, Where("w > v"))...), true},
		"below a filter":    {lines.WithColumn("x", "v % 7").Filter("x > 2").Join(large, Inner, two...), true},
		"renamed":           {lines.Select(expr.Col("part").As("q"), "shop", "v").Join(large, Inner, Keys("q", "p"), Keys("shop", "s")), true},
		"on the right":      {From(shop).Join(lines, Inner, Keys("sk", "shop")).Join(large, Inner, Keys("part", "p"), Keys("sk", "s")), true},
		"nulls":             {lines.WithColumn("shop", "case when shop = 3 then null else shop end").Join(large, Left, two...), true},
		"null is null":      {lines.Join(large, Left, append(two, NullsEqual())...), false},
		"right":             {lines.Join(large, Right, two...).Select("w"), false},
		"a computed key":    {lines.WithColumn("part", "part + 1").Join(large, Inner, two...), false},
		"other types":       {lines.Join(large.WithColumn("p", expr.Col("p").Cast(arrow.PrimitiveTypes.Int32)), Inner, two...), false},
		"below a left join": {From(fact).Join(few, Left, Keys("part", "pk")).Join(large, Inner, two...), false},
		"all parts":         {From(fact).Join(From(part), Inner, Keys("part", "pk")).Join(large, Inner, two...), false},
	} {
		onlyRule(t, ruleReduce)
		plan := shape(t, c.q)
		if part.Backend().Device.Memory().Place().HostAccessible() {
			assert.Equal(t, c.reduced, strings.Contains(plan, cut) && strings.Contains(plan, "shared"), "%s\n%s", name, plan)
		}
		sameUnder(t, ruleReduce, name, c.q)
		sameRows(t, name, c.q)
	}
}
