package table

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/kernels"
)

// onlyRule leaves one rule on.
func onlyRule(t *testing.T, name string) {
	var off []string
	for _, r := range rules {
		if r != name {
			off = append(off, "-"+r)
		}
	}
	t.Setenv("VOLLEY_OPTIMISER", strings.Join(off, ","))
}

// sameUnder holds a query under one rule against itself without rules.
func sameUnder(t *testing.T, rule, what string, q *Query) {
	t.Helper()
	t.Setenv("VOLLEY_OPTIMISER", "-all")
	want := collect(t, q)
	onlyRule(t, rule)
	equalRows(t, what, collect(t, q), want)
}

// Keys of a build side leave rows out below filters, projections, inner and semi joins and groups by the
// key, and nowhere else: not below limits, top-n, the sides of outer and anti joins that keep all rows, nor where
// null equals null. The rows are the same.
func TestKeysAreHandedDown(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, shop, town := star(t, 5000)
	few, wide := From(part).Filter("pk < 5"), From(fact).WithColumn("name", "case when v % 2 = 0 then 'even' else 'odd' end")
	byPart := Keys("part", "pk")
	on := func(q *Query, kind Kind, o ...JoinOption) *Query {
		return q.Join(few, kind, append([]JoinOption{byPart}, o...)...)
	}
	for name, c := range map[string]struct {
		q    *Query
		text string // of the place; "" that no key is handed down
	}{
		"a filter":               {on(wide.Filter("v > 10").Select("part", "name", "v"), Inner), "and part in keys 1"},
		"a semi join":            {on(wide.Filter("v > 10"), Semi), "and part in keys 1"},
		"a condition":            {on(wide.Filter("v > 10"), Semi, Where("v > pk")), "and part in keys 1"},
		"a projection":           {on(From(fact).Select(expr.Col("part"), expr.Col("v").Add(1).As("w")), Inner), "filter part in keys 1"},
		"a renaming":             {From(fact).Select(expr.Col("part").As("p"), expr.Col("v").Add(1).As("w")).Join(few, Inner, Keys("p", "pk")), "filter part in keys 1"},
		"a computed key":         {From(fact).Select(expr.Col("part").Add(1).As("p"), "v").Join(few, Inner, Keys("p", "pk")), ""},
		"an inner join":          {on(From(fact).Join(shop, Inner, Keys("shop", "sk")), Inner), "filter part in keys 1"},
		"a key of the right":     {From(fact).Join(part, Inner, byPart).Join(few.Select(expr.Col("pk").As("k")), Inner, Keys("pk", "k")), "filter part in keys 1"},
		"another of the right":   {From(fact).Join(shop, Inner, Keys("shop", "sk")).Join(From(town).Filter("tk < 1"), Inner, Keys("town", "tk")), ""},
		"a left join":            {on(From(fact).Join(shop, Left, Keys("shop", "sk")), Inner), ""},
		"a left join of a right": {From(fact).Join(shop, Left, Keys("shop", "sk")).Select("town", "v").Join(From(town).Filter("tk < 1"), Inner, Keys("town", "tk")), ""},
		"an anti join":           {on(From(fact).Join(From(shop).Filter("sk < 3"), Anti, Keys("shop", "sk")), Inner), ""},
		"groups by the key":      {on(From(fact).GroupBy("part", "shop").Agg(Sum("v").As("v"), First("v").As("f")), Inner), "filter part in keys 1"},
		"groups of groups":       {on(wide.Filter("v > 7").GroupBy("part", "name").Agg(Sum("v").As("v")).Filter("v > 9").GroupBy("part").Agg(Max("v")), Inner), "v > 7 and part in keys 1"},
		"groups by another":      {on(From(fact).GroupBy("shop").Agg(Max("part").As("part")), Inner), ""},
		"distinct rows":          {on(From(fact).Distinct("part"), Inner), ""},
		"a limit":                {on(wide.Head(3000), Inner), ""},
		"a limit of groups":      {on(From(fact).GroupBy("part").Agg(Sum("v")).Head(50), Inner), ""},
		"a limit below groups":   {on(From(fact).Head(4000).GroupBy("part").Agg(Sum("v")), Inner), "filter part in keys 1\n      limit 4000"},
		"top n":                  {on(wide.TopK(3000, Asc("v")), Inner), ""},
		"top n of groups":        {on(From(fact).GroupBy("part").Agg(Sum("v").As("v")).TopK(50, Desc("v")), Inner), ""},
		"left":                   {on(wide.Filter("v > 10"), Left), ""},
		"anti":                   {on(wide.Filter("v > 10"), Anti), ""},
		"right":                  {on(wide.Filter("v > 10"), Right), ""},
		"full":                   {on(wide.Filter("v > 10"), Full), ""},
		"null is null":           {wide.Filter("v > 10").Join(few.WithColumn("pk", "case when pk = 3 then null else pk end"), Inner, byPart, NullsEqual()), ""},
		"nulls":                  {wide.Filter("v > 10").Join(few.WithColumn("pk", "case when pk = 3 then null else pk end"), Inner, byPart), "and part in keys 1"},
		"the first rows":         {on(wide.Filter("v > 10"), Inner).Head(3), ""},
		"no rows":                {wide.Filter("v > 10").Join(From(part).Filter("pk < 0"), Inner, byPart), "and part in keys 1"},
		"most of the rows":       {wide.Filter("v > 10").Join(From(part).Filter("pk + 0 > 1"), Semi, byPart), "and part in keys 1"},
		"a text":                 {wide.Filter("v > 10").Join(From(part).Filter("colour = 'even'").Select("colour").Distinct(), Inner, Keys("name", "colour")), ""},
		"a union":                {on(From(fact).Union(From(fact)).GroupBy("part").Agg(Sum("v")), Inner), "filter part in keys 1\n      union"},
		"narrower":               {wide.Filter("v > 10").Join(few.Select(expr.Col("pk").Cast(arrow.PrimitiveTypes.Int8).As("pk")), Inner, byPart), "and part in keys 1"},
		"wider": {From(fact).WithColumn("part", expr.Col("part").Cast(arrow.PrimitiveTypes.Int8)).WithColumn("w", "v + 1").Filter("w > 10").
			Join(few.WithColumn("pk", "case when pk = 3 then 259 else pk end"), Inner, byPart), "and part in keys 1"},
		"as floats": {wide.Filter("v > 10").WithColumn("part", expr.Col("part").Cast(arrow.PrimitiveTypes.Float64)).
			Join(few.WithColumn("pk", expr.Col("pk").Cast(arrow.PrimitiveTypes.Float64)), Inner, byPart), ""},
	} {
		onlyRule(t, ruleJoinFilter)
		plan := shape(t, c.q)
		switch host := part.Backend().Device.Memory().Place().HostAccessible(); { // else nothing is known of columns
		case c.text == "":
			assert.NotContains(t, plan, "in keys", name)
		case host:
			assert.Contains(t, plan, c.text, name)
			assert.Contains(t, plan, ", keys 1 of ", name)
		}
		sameUnder(t, ruleJoinFilter, name, c.q)
		sameRows(t, name, c.q)
		sameRows(t, name+", counted", c.q.Agg(Count()))
	}
	t.Setenv("VOLLEY_OPTIMISER", "-joinfilter")
	require.NotContains(t, shape(t, on(wide.Filter("v > 10"), Inner)), "keys")
}

// Every type of key, dates and times among them, with values of both sides that the other lacks.
func TestKeysOfEachTypeAreHandedDown(t *testing.T) {
	t.Setenv(morselVariable, "10")
	b := testBackend(t)
	n := 500
	values, id := make([]int64, n), seriesOf(n)
	for i := range values {
		values[i] = int64(i * 7 % 120)
	}
	large, err := New(b, Column("k", values), Column("id", id), Column("text", make([]string, n)))
	require.NoError(t, err)
	defer large.Release()
	small, err := New(b, Column("s", []int64{3, 119, 5, 200, 3}))
	require.NoError(t, err)
	defer small.Release()
	types := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8,
		arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64}
	for _, left := range types {
		for _, right := range types {
			q := From(large).WithColumn("k", expr.Col("k").Cast(left)).Filter("id > 3").
				Join(From(small).Filter("s < 120 or s > 190").WithColumn("s", expr.When(expr.Col("s").Gt(190), 6).Else(expr.Col("s")).Cast(right)), Inner, Keys("k", "s"))
			sameUnder(t, ruleJoinFilter, left.String()+" "+right.String(), q)
		}
	}
	for _, typ := range []arrow.DataType{arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Duration_ns, arrow.FixedWidthTypes.Time64us} {
		cast := func(name string) *expr.Expr {
			e := expr.Col(name)
			if typ.ID() == arrow.DATE32 {
				e = e.Cast(arrow.PrimitiveTypes.Int32)
			}
			return e.Cast(typ)
		}
		q := From(large).WithColumn("k", cast("k")).Filter("id > 3").Join(From(small).WithColumn("s", cast("s")), Inner, Keys("k", "s"))
		sameUnder(t, ruleJoinFilter, typ.String(), q)
	}
	sparse := From(large).WithColumn("k", "k * 1000000007 * 1000").Filter("id > 3").Join(From(small).WithColumn("s", "s * 1000000007 * 1000"), Inner, Keys("k", "s"))
	sameUnder(t, ruleJoinFilter, "far apart", sparse)
}

// NaN, -0 and null as keys stay with the join, whatever rules are on.
func TestFloatKeysAreNotHandedDown(t *testing.T) {
	t.Setenv(morselVariable, "10")
	b := testBackend(t)
	values := make([]float64, 400)
	for i := range values {
		values[i] = float64(i%40) - 1
	}
	values[7], values[8], values[9] = math.NaN(), math.Copysign(0, -1), math.Inf(1)
	large, err := New(b, Column("x", values), Column("id", seriesOf(len(values))))
	require.NoError(t, err)
	defer large.Release()
	small, err := New(b, Column("y", []float64{math.NaN(), 0, math.Inf(1), -1}))
	require.NoError(t, err)
	defer small.Release()
	q := From(large).Filter("id >= 2").WithColumn("w", "id + 1").Join(From(small), Inner, Keys("x", "y"))
	sameUnder(t, ruleJoinFilter, "floats", q)
	sameRows(t, "floats", q)
}

// toldSource notes the condition that it is given, and keeps rows exactly by it.
type toldSource struct {
	statedSource
	told *[]string
}

func (s toldSource) Scan(ctx context.Context, b *kernels.Backend, o ScanOptions) (BatchReader, error) {
	if o.Predicate == nil {
		*s.told = append(*s.told, "")
		return s.statedSource.Scan(ctx, b, o)
	}
	*s.told = append(*s.told, o.Predicate.String())
	kept, err := From(s.Table).Filter(o.Predicate).Collect(ctx)
	return &keptReader{kept: kept, o: o}, err
}

// keptReader gives the batches of a table that it owns.
type keptReader struct {
	kept *Table
	at   int
	o    ScanOptions
}

func (r *keptReader) Next(context.Context) (*Batch, error) {
	if r.at >= len(r.kept.Chunks()) {
		return nil, io.EOF
	}
	b := r.kept.Chunks()[r.at]
	r.at++
	if r.o.Columns == nil {
		return b.Retain(), nil
	}
	return project(b, subset(b.Schema(), r.o.Columns))
}

func (r *keptReader) Close() error {
	if r.kept != nil {
		r.kept.Release()
	}
	r.kept = nil
	return nil
}

// A source is told the keys where they are few, and their bounds where these are closer than what it states; what
// it states may be wrong.
func TestSourcesAreToldKeys(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, _, _ := star(t, 5000)
	for name, c := range map[string]struct {
		small  string // of part
		stated [2]int64
		told   string
	}{
		"few":        {"pk < 3", [2]int64{0, 99}, "is_in(part, 0, 1, 2)"},
		"a range":    {"pk >= 20 and pk < 60", [2]int64{0, 99}, "part >= 20 and part <= 59"},
		"no range":   {"pk % 2 = 0", [2]int64{0, 99}, ""},
		"none":       {"pk < 0", [2]int64{0, 99}, "false"},
		"wrong":      {"pk >= 20 and pk < 60", [2]int64{30, 35}, ""},
		"also wrong": {"pk >= 20 and pk < 60", [2]int64{-1000, -900}, "part >= 20 and part <= 59"},
	} {
		var told []string
		source := Scan(toldSource{statedSource{tableSource{fact}, map[string][2]int64{"part": c.stated, "v": {0, 4999}}}, &told}).On(fact.backend)
		for _, q := range []*Query{
			source.Join(From(part).Filter(c.small), Inner, Keys("part", "pk")),
			source.Filter("v > 10").GroupBy("part").Agg(Sum("v")).Join(From(part).Filter(c.small), Semi, Keys("part", "pk")),
		} {
			t.Setenv("VOLLEY_OPTIMISER", "-all")
			want := collect(t, q)
			onlyRule(t, ruleJoinFilter)
			plan, err := q.Explain(t.Context())
			require.NoError(t, err)
			told = nil
			equalRows(t, name, collect(t, q), want)
			if fact.Backend().Device.Memory().Place().HostAccessible() {
				require.True(t, c.told == "" || strings.Contains(plan, "bounds of part in keys 1"), plan)
				require.Len(t, told, 1)
				require.Equal(t, c.told, strings.TrimPrefix(strings.TrimPrefix(told[0], "v > 10"), " and "), name)
			}
		}
	}
	limited := Scan(statedSource{tableSource{fact}, map[string][2]int64{"part": {0, 99}}}).On(fact.backend).Head(2000).
		Join(From(part).Filter("pk < 3"), Inner, Keys("part", "pk"))
	onlyRule(t, ruleJoinFilter)
	require.NotContains(t, shape(t, limited), "in keys")
	sameUnder(t, ruleJoinFilter, "limited", limited)
}

// Keys that lie far apart are handed down as a Bloom filter, which no set of a bit each would hold. It loses none of
// them, where its hashes are as they are and where tables are spoilt.
func TestFarKeysAreHandedDown(t *testing.T) {
	t.Setenv(morselVariable, "100")
	b, n := testBackend(t), 3000
	key, v, valid := make([]int64, n), seriesOf(n), make([]bool, n)
	for i := range n {
		key[i], valid[i] = int64(i*7%500-250)<<40, i%11 != 5
	}
	fact, err := New(b, Column("key", key).Valid(valid), Column("v", v))
	require.NoError(t, err)
	defer fact.Release()
	few := From(fact).Filter("v < 90").Select(expr.Col("key").As("k"), expr.Col("v").As("r"))
	wide := From(fact).Select(expr.Col("key"), expr.Col("v").Add(1).As("w"))
	for _, trial := range append(slots.Trials(), slots.Trial{Name: "as they are", Kept: slots.All}) {
		end := trial.Begin()
		for _, kind := range []Kind{Inner, Semi} {
			q := wide.Join(few, kind, Keys("key", "k"))
			onlyRule(t, ruleJoinFilter)
			if b.Device.Memory().Place().HostAccessible() {
				require.Contains(t, shape(t, q), "filter key in keys 1", trial.Name)
			}
			sameUnder(t, ruleJoinFilter, trial.Name+", "+kind.String(), q)
		}
		end()
	}
}
