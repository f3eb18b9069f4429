package table

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/memory"
)

// A CSV file may have a column without a name, and queries of it give the rows that they give
// if it has one, whichever column of their tables it is.
func TestColumnsWithoutAName(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, shop, town := star(t, 3000)
	queries := func(empty string) map[string]*Query {
		of := func(name string) string {
			if name == empty {
				return ""
			}
			return name
		}
		from := func(table *Table) *Query {
			if !table.Schema().HasField(empty) || empty == "v" && table != fact {
				return From(table)
			}
			return From(table).Rename(empty, "")
		}
		return queriesOfStar(of, func(name string) *expr.Expr { return expr.Col(of(name)) }, from(fact), from(part), from(shop), from(town))
	}
	want := map[string][]string{}
	for what, q := range queries("none") {
		want[what] = collect(t, q)
		require.NotEmpty(t, want[what], what)
	}
	for _, unnamed := range []string{"part", "shop", "v", "pk", "colour", "sk", "town", "tk"} {
		for what, q := range queries(unnamed) {
			got, err := q.Collect(t.Context())
			if assert.NoError(t, err, "%s: %s has no name", what, unnamed) {
				equalRows(t, what+": "+unnamed+" has no name", shown(got), want[what])
				got.Release()
			}
		}
	}
}

// queriesOfStar are queries of star's tables, whose columns are called what of says.
func queriesOfStar(of func(string) string, col func(string) *expr.Expr, fact, part, shop, town *Query) map[string]*Query {
	few := part.Filter(col("pk").Lt(5))
	byPart, byShop, byTown := Keys(of("part"), of("pk")), Keys(of("shop"), of("sk")), Keys(of("town"), of("tk"))
	all := few.Join(fact, Inner, Keys(of("pk"), of("part"))).Join(shop, Inner, byShop).Join(town, Inner, byTown)
	ids := fact.Select(col("v").As(of("pk")), col("shop"))
	queries := map[string]*Query{
		"chain":         all,
		"groups":        all.GroupBy(col("colour"), col("town")).Agg(Sum(of("v")).As("s"), Max(of("v")).As("m")).Sort(Asc("s"), Asc("m")),
		"few groups":    fact.GroupBy(of("part")).Agg(Count(), Min(of("v")).As("least")).Sort(Asc("least")),
		"dependent":     fact.Join(part, Inner, byPart).GroupBy(of("part"), of("colour")).Agg(Count(), Sum(of("v")).As("s")).Sort(Asc("s")),
		"top":           all.TopK(7, Desc(of("v"))),
		"sort":          fact.Sort(Desc(of("shop")), Asc(of("part")), Desc(of("v"))).Slice(100, 50),
		"distinct":      fact.Distinct(of("part"), of("shop")).Sort(Asc(of("part")), Asc(of("shop"))),
		"distinct rows": fact.Select(of("shop"), of("part")).Distinct().Sort(Asc(of("part")), Asc(of("shop"))),
		"computed":      fact.WithColumn("w", col("v").Add(col("shop"))).Filter(col("v").Gt(7).And(expr.Col("w").Lt(900))).Select("w", of("part")),
		"replaced":      fact.WithColumn(of("v"), col("v").Add(1)).Filter(col("v").Mod(3).Eq(1)),
		"dropped":       fact.Join(few, Left, byPart).Drop(of("v")),
		"same name":     ids.Join(few, Full, On(of("pk"))),
		"same name on":  few.Join(ids, Right, On(of("pk"))),
		"above groups":  fact.GroupBy(of("part")).Agg(Sum(of("v")).As("s")).Join(few, Inner, byPart),
		"below groups":  few.Join(fact.GroupBy(of("part")).Agg(Sum(of("v")).As("s")), Left, Keys(of("pk"), of("part"))),
		"two renamings": fact.Select(col("part").As("a"), col("v").As(of("part"))).Join(few, Inner, Keys("a", of("pk"))),
		"condition":     fact.Join(few, Semi, byPart, Where(col("v").Gt(col("pk").Mul(100)))),
		"over a left":   fact.Join(few, Left, byPart, Where(col("v").Gt(col("pk").Mul(100)))),
		"cross":         few.Join(town.Drop("v"), Cross),
		"union":         fact.Union(fact.Filter(col("shop").Eq(3))),
		"with":          fact.Intersect(fact.Filter(col("shop").Lt(3))),
		"without":       fact.Except(fact.Filter(col("shop").Lt(3))),
		"a scalar":      fact.WithScalar("mean", fact.Agg(Mean(of("v")).As("m"))).Filter(col("v").Gt(expr.Col("mean"))),
		"shared":        few.Join(fact, Inner, Keys(of("pk"), of("part"))).Join(fact.GroupBy(of("part")).Agg(Count().As("n")), Inner, Keys(of("pk"), of("part"))),
	}
	for kind := Inner; kind <= Anti; kind++ {
		if kind != Cross {
			queries[kind.String()] = fact.Join(few, kind, byPart)
			queries["small "+kind.String()] = few.Join(fact.Filter(col("v").Lt(50)), kind, Keys(of("pk"), of("part")))
		}
	}
	return queries
}

// A file's last column may be called what a mask is called inside, with any metadata: it is a column.
func TestMaskOfAFile(t *testing.T) {
	t.Setenv(morselVariable, "100")
	fact, part, _, _ := star(t, 1000)
	late := From(fact).Select("part", "v", expr.Col("v").Mod(2).Eq(0).As("even"))
	held, err := late.Collect(t.Context())
	require.NoError(t, err)
	defer held.Release()
	f := held.Schema().Field(2)
	f.Name, f.Metadata = "", arrow.NewMetadata([]string{"volley.mask"}, []string{""})
	var chunks []*Batch
	for _, c := range held.Chunks() {
		columns := []*memory.Column{c.Column(0).Retain(), c.Column(1).Retain(), c.Column(2).Retain()}
		b, err := NewBatch(arrow.NewSchema([]arrow.Field{held.Schema().Field(0), held.Schema().Field(1), f}, nil), c.Len(), columns)
		require.NoError(t, err)
		chunks = append(chunks, b)
	}
	named, err := NewTable(held.Backend(), chunks[0].Schema(), chunks)
	require.NoError(t, err)
	defer named.Release()
	few := From(part).Filter("pk < 5")
	equalRows(t, "joined", collect(t, From(named).Join(few, Inner, Keys("part", "pk"))), collect(t, late.Join(few, Inner, Keys("part", "pk"))))
	equalRows(t, "filtered", collect(t, From(named).Filter("v > 10")), collect(t, late.Filter("v > 10")))
}
