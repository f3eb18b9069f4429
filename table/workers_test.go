package table

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/flowtest"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
)

// workerCounts are the numbers of workers that give the same bits.
var workerCounts = []int{1, 2, 3, 8}

// uneven is a table whose sums of floats depend on the order in which they are added:
// random fractions of many sizes, with nulls, NaN and zeros of both signs.
func uneven(t *testing.T, b *kernels.Backend, rows int, seed uint64) *Table {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 31))
	x, y, f := make([]float64, rows), make([]float64, rows), make([]float32, rows)
	few, many := make([]int64, rows), make([]int64, rows)
	s, valid := make([]string, rows), make([]bool, rows)
	d, rise := make([]int64, rows), make([]int64, rows)
	for i := range rows {
		rise[i] = int64(i / 3)
		x[i] = r.NormFloat64() * math.Exp2(float64(r.IntN(60)-30))
		y[i], f[i] = r.Float64(), float32(r.NormFloat64())
		few[i], many[i] = r.Int64N(7), r.Int64N(int64(rows)/3+1)
		s[i] = fmt.Sprintf("%c%d", 'a'+rune(r.IntN(5)), r.IntN(40))
		valid[i], d[i] = r.IntN(9) > 0, r.Int64N(1e6)
		switch r.IntN(5000) {
		case 0:
			y[i] = math.NaN()
		case 1:
			y[i] = math.Copysign(0, float64(r.IntN(2))-0.5)
		}
	}
	table, err := New(b, Column("x", x).Valid(valid), Column("y", y), Column("f", f), Column("few", few), Column("many", many), Column("s", s), Column("d", d), Column("rise", rise))
	require.NoError(t, err)
	t.Cleanup(table.Release)
	return table
}

// cut is a table in chunks of odd lengths.
func cut(t *testing.T, whole *Table) *Table {
	t.Helper()
	var chunks []*Batch
	for at, n := int64(0), int64(1); at < whole.NumRows(); at, n = at+n, n*3+7 {
		part, err := whole.Chunks()[0].Slice(at, min(n, whole.NumRows()-at))
		require.NoError(t, err)
		chunks = append(chunks, part)
	}
	table, err := NewTable(whole.backend, whole.Schema(), chunks)
	require.NoError(t, err)
	t.Cleanup(table.Release)
	return table
}

// unevenPlans are the operations of tables over columns of floats.
func unevenPlans(a, b *Table) map[string]*Query {
	sums := func() []Aggregate {
		return []Aggregate{Sum("x"), Mean("x"), Sum("f"), Var("y"), Std("x"), Min("y"), Max("y"), First("x"), Last("y"), Count("x"), Mean("d")}
	}
	q, other := From(a), From(b)
	on := On("many")
	plans := map[string]*Query{
		"project":              q.Select(expr.Col("x").Mul(expr.Col("y")).As("p"), expr.Col("x").Div(expr.Col("y").Add(0.1)).Sqrt().As("q"), expr.Col("f").Exp().As("e")),
		"filter":               q.Filter("x * y > 0.1 and s <> 'a11' or y < 0.01"),
		"aggregate":            q.Agg(append(sums(), Product(expr.Col("y").Add(0.5)).As("product"), CountDistinct("x"), Share(expr.Col("x").Gt(0.0)))...),
		"aggregate filtered":   q.Filter("x > 0.0 and few <> 3").Agg(sums()...),
		"group by few":         q.GroupBy("few").Agg(sums()...),
		"group by many":        q.GroupBy("many").Agg(sums()...),
		"group by text":        q.GroupBy("s").Agg(sums()...),
		"group by two":         q.GroupBy("s", "few").Agg(sums()...),
		"group by float":       q.GroupBy("y").Agg(Sum("x"), Count()),
		"group in any order":   q.GroupBy("many").AnyOrder().Agg(Sum("x"), Mean("y"), Std("x")).Sort(Asc("many")),
		"group an expression":  q.GroupBy(expr.Col("many").Mod(100).As("m")).Agg(Sum(expr.Col("x").Mul(expr.Col("y")).Sub(expr.Col("f"))).As("s")),
		"states":               q.Filter("few <> 3").GroupBy("s").Agg(Sum("x"), Std("d"), Var("few"), CountDistinct("few"), CountDistinct("d")),
		"distinct":             q.Select("y", "few").Distinct(),
		"count distinct":       q.GroupBy("few").Agg(CountDistinct("x"), CountDistinct("s")),
		"sort":                 q.Sort(Desc("x"), Asc("y").NullsFirst()),
		"top":                  q.TopK(1000, Asc("y"), Desc("x")),
		"union":                q.Union(other).GroupBy("few").Agg(sums()...),
		"inner join":           q.Join(other, Inner, on).GroupBy("few").Agg(Sum("x"), Sum("y_right"), Mean("f_right")),
		"left join":            q.Join(other, Left, on).Agg(Sum("x_right"), Mean("y"), Var("f_right")),
		"full join":            q.Join(other, Full, on).GroupBy("few_right").Agg(Sum("x"), Sum("x_right")),
		"semi join where":      q.Join(other, Semi, on, Where("x < x_right and y <> y_right")).Agg(Sum("x"), Mean("f")),
		"left join where":      q.Join(other, Left, on, Where("x + y < x_right")).Agg(Sum("x_right"), Count("x_right")),
		"before a left join":   other.Select("few").Distinct().Join(q, Left, On("few")).GroupBy("few").Agg(Sum("x"), Sum("f"), Count("x"), Min("y")),
		"before an inner join": other.Select("s", "few").Join(q, Inner, On("s")).GroupBy("few").Agg(Sum("x"), Count()),
		"group by rising":      q.GroupBy("rise").Agg(Sum("x"), Mean("f"), First("y")),
		"filter texts":         q.Filter("x * y > 0.1 and s like 'a%1%' or y < 0.01"),
		"scalar of other rows": q.WithScalar("m", other.Agg(Mean("x"))).Filter("x > m").WithColumn("z", "x / m").Agg(Sum("z"), Count()),
	}
	return plans
}

// TestWorkersGiveTheSameBits: whatever number of workers a query has, its rows are the
// same to the last bit, from whole columns and from chunks.
func TestWorkersGiveTheSameBits(t *testing.T) {
	b := testBackend(t)
	rows := 300_000
	switch {
	case backends.OnGPU():
		rows = 5_000
	case !backends.OnHost():
		rows = 70_000
	}
	whole := uneven(t, b, rows, 1)
	right := uneven(t, b, rows/10, 2)
	sameBits(t, unevenPlans(whole, right))
	sameBits(t, unevenPlans(cut(t, whole), cut(t, right)))
}

// TestWorkersGiveTheSameBitsOfManyRows has more rows than are aggregated at a time and
// than are probed at a time.
func TestWorkersGiveTheSameBitsOfManyRows(t *testing.T) {
	b := testBackend(t)
	if !backends.OnHost() {
		return // whose workers the smaller test sets too
	}
	whole := uneven(t, b, pieceRows+pieceRows/4, 3)
	plans := unevenPlans(whole, uneven(t, b, 20_000, 4))
	some := map[string]*Query{}
	for _, name := range []string{"aggregate", "group by few", "group by text", "group by many", "inner join", "left join where", "semi join where"} {
		some[name] = plans[name]
	}
	sameBits(t, some)
	sameBitsShuffled(t, some, 8)
}

// TestShuffledWorkersGiveTheSameBits: the same holds for any order in which workers go on, with many morsels of few
// rows under way.
func TestShuffledWorkersGiveTheSameBits(t *testing.T) {
	b := testBackend(t)
	if !backends.OnHost() {
		return // one worker drives a device
	}
	t.Setenv(morselVariable, "1024")
	whole, right := uneven(t, b, 60_000, 5), uneven(t, b, 9_000, 6)
	sameBitsShuffled(t, unevenPlans(whole, right), 3, 8)
	sameBitsShuffled(t, unevenPlans(cut(t, whole), cut(t, right)), 3)
}

// sameBits holds the rows of plans with some workers against those with one.
func sameBits(t *testing.T, plans map[string]*Query) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, q := range plans {
		var want []arrow.Array
		for _, n := range workerCounts {
			runtime.GOMAXPROCS(n)
			want = hasBits(t, fmt.Sprintf("%s, %d workers", name, n), q, t.Context(), want)
		}
	}
}

// sameBitsShuffled does so where which worker goes on is drawn.
func sameBitsShuffled(t *testing.T, plans map[string]*Query, counts ...int) {
	t.Helper()
	for name, q := range plans {
		want := hasBits(t, name, q, flowtest.Shuffled(t.Context(), 1, 1), nil)
		for _, n := range counts {
			hasBits(t, fmt.Sprintf("%s, %d shuffled workers", name, n), q, flowtest.Shuffled(t.Context(), n, uint64(n)), want)
		}
	}
}

// hasBits runs a plan, which must give the rows that are wanted, to the last bit. What it gives is wanted
// where nothing is yet.
func hasBits(t *testing.T, name string, q *Query, ctx context.Context, want []arrow.Array) []arrow.Array {
	t.Helper()
	got, err := q.Collect(ctx)
	require.NoError(t, err, name)
	defer got.Release()
	require.Positive(t, got.NumRows(), name)
	columns := wholeColumns(t, got)
	if want == nil {
		return columns
	}
	require.Len(t, columns, len(want), name)
	for i, c := range columns {
		row := differentRow(want[i], c)
		require.Negative(t, row, "%s: row %d of column %s is not that of 1 worker", name, row, got.Schema().Field(i).Name)
	}
	return want
}

// wholeColumns are the columns of a table, each in one piece of its own memory.
func wholeColumns(t *testing.T, from *Table) []arrow.Array {
	t.Helper()
	records, err := from.ToRecords()
	require.NoError(t, err)
	columns := make([]arrow.Array, from.NumColumns())
	for i := range columns {
		var parts []arrow.Array
		for _, r := range records {
			parts = append(parts, r.Column(i))
		}
		columns[i], err = array.Concatenate(parts, memory.DefaultAllocator)
		require.NoError(t, err)
	}
	for _, r := range records {
		r.Release()
	}
	return columns
}

// differentRow is the first row in which two columns differ in a bit; -1 where none does.
func differentRow(a, b arrow.Array) int {
	if a.Len() != b.Len() {
		return min(a.Len(), b.Len())
	}
	for i := range a.Len() {
		if a.IsNull(i) != b.IsNull(i) {
			return i
		}
		if a.IsNull(i) {
			continue
		}
		same := true
		switch a := a.(type) {
		case *array.Float64:
			same = math.Float64bits(a.Value(i)) == math.Float64bits(b.(*array.Float64).Value(i))
		case *array.Float32:
			same = math.Float32bits(a.Value(i)) == math.Float32bits(b.(*array.Float32).Value(i))
		case *array.Int64:
			same = a.Value(i) == b.(*array.Int64).Value(i)
		case *array.String:
			same = a.Value(i) == b.(*array.String).Value(i)
		default:
			same = a.ValueStr(i) == b.ValueStr(i)
		}
		if !same {
			return i
		}
	}
	return -1
}
