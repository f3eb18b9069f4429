package table

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/volley-go/volley/expr"
)

// The right side of a join is aggregated before it where groups above read its columns in counts, least and greatest
// values and sums of floats alone, and the left side's as keys. Rows and their order are the same: of both kinds, with left keys
// that repeat and have no match, nulls among keys and values, null equal to null, keys of other types and several keys.
func TestRightSidesAreAggregatedBefore(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, shop, _ := star(t, 9000)
	large := From(fact).WithColumn("f", "case when v % 7 = 0 then null else v * 0.25 end").WithColumn("s", "case when v % 3 = 0 then 'a' else 'b' end")
	left := From(part).Union(From(part).Filter("pk < 7")).Union(From(part).Select(expr.Col("pk").Add(1000).As("pk"), "colour"))
	byPart, all := Keys("pk", "part"), []Aggregate{Count(), Count("f"), Sum("f"), Min("s"), Max("v")}
	for name, c := range map[string]struct {
		q      *Query
		before bool
	}{
		"inner":               {left.Join(large, Inner, byPart).GroupBy("pk").Agg(all...), true},
		"left":                {left.Join(large, Left, byPart).GroupBy("pk").Agg(all...), true},
		"by another column":   {left.Join(large, Left, byPart).GroupBy("colour").Agg(all...), true},
		"by an expression":    {left.Join(large, Left, byPart).GroupBy(expr.Col("pk").Mod(5).As("m")).Agg(all...), true},
		"null is null":        {From(fact).Head(300).Join(large, Left, Keys("part", "part"), NullsEqual()).GroupBy("part").Agg(Count("f"), Count()), true},
		"nulls":               {From(fact).Head(300).Join(large, Left, Keys("part", "part")).GroupBy("part").Agg(Count("f"), Count()), true},
		"other types":         {left.Select(expr.Col("pk").Cast(arrow.PrimitiveTypes.Int16).As("pk")).Join(large, Left, byPart).GroupBy("pk").Agg(all...), true},
		"two keys":            {left.WithColumn("sk", "pk % 3").Join(large, Left, byPart, Keys("sk", "shop")).GroupBy("pk").Agg(all...), true},
		"none on the right":   {left.Join(large.Filter("v < 0"), Left, byPart).GroupBy("pk").Agg(all...), false},
		"of whole numbers":    {left.Join(large, Left, byPart).GroupBy("pk").Agg(Sum("v")), false}, // could be too large for a key without a left row
		"of the left side":    {left.Join(large, Left, byPart).GroupBy("pk").Agg(Count("colour")), false},
		"by the right side":   {left.Join(large, Left, byPart).GroupBy("pk", "shop").Agg(Count()), false},
		"of an expression":    {left.Join(large, Left, byPart).GroupBy("pk").Agg(Count(expr.Col("f").FillNull(1))), false},
		"a mean":              {left.Join(large, Left, byPart).GroupBy("pk").Agg(Mean("f")), false},
		"a condition":         {left.Join(large, Left, byPart, Where("v > pk")).GroupBy("pk").Agg(Count()), false},
		"right":               {left.Join(large, Right, byPart).GroupBy("pk").Agg(Count()), false},
		"full":                {left.Join(large, Full, byPart).GroupBy("pk").Agg(Count()), false},
		"without keys":        {left.Join(large, Inner, byPart).Agg(Count("f")), false},
		"few rows of a key":   {left.Join(From(shop), Left, Keys("pk", "sk")).GroupBy("pk").Agg(Count()), false},
		"keys that are float": {left.Select(expr.Col("pk").Cast(arrow.PrimitiveTypes.Float64).As("pk")).Join(large.WithColumn("part", expr.Col("part").Cast(arrow.PrimitiveTypes.Float64)), Left, byPart).GroupBy("pk").Agg(Count()), false},
		"names that are here": {left.Select("pk", expr.Col("pk").As("of a key 0")).Join(large, Left, byPart).GroupBy("of a key 0").Agg(Count("f")), true},
	} {
		plan := shape(t, c.q)
		if part.Backend().Device.Memory().Place().HostAccessible() {
			assert.Equal(t, c.before, strings.Contains(plan, "of a key ") && strings.Contains(plan, "coalesce") == strings.Contains(plan, "left join"), "%s\n%s", name, plan)
		}
		sameRows(t, name, c.q)
		sameUnder(t, ruleEager, name+", this rule alone", c.q)
	}
}
