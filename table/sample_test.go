package table

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/memory"
)

// ordered is a table that is ordered by its key k, with groups of 1 row and of several morsels of 100, some of which end with a
// morsel; w is k as a date, and u is not in order at one place.
func ordered(t *testing.T, rows int) *Table {
	r := rand.New(rand.NewPCG(7, uint64(rows)))
	var k, v, u []int64
	var f []float64
	key := int64(-40)
	for len(k) < rows {
		n := 1 + r.IntN(6)
		switch r.IntN(60) {
		case 0:
			n = 100 + r.IntN(250)
		case 1:
			n = 100 - len(k)%100
		}
		key += 1 + r.Int64N(3)
		for range n {
			k, v, f, u = append(k, key), append(v, r.Int64N(1000)), append(f, float64(r.Int64N(1000))/4), append(u, key)
		}
	}
	u[len(u)/2] = key + 1
	whole, err := New(testBackend(t), Column("k", k), Column("v", v), Column("f", f), Column("u", u))
	require.NoError(t, err)
	return inSlices(t, whole)
}

// inSlices is a table in chunks of 130 rows.
func inSlices(t *testing.T, whole *Table) *Table {
	defer whole.Release()
	var chunks []*Batch
	for from := int64(0); from < whole.NumRows(); from += 130 {
		chunk, err := whole.Chunks()[0].Slice(from, min(130, whole.NumRows()-from))
		require.NoError(t, err)
		chunks = append(chunks, chunk)
	}
	table, err := NewTable(whole.Backend(), whole.Schema(), chunks)
	require.NoError(t, err)
	t.Cleanup(table.Release)
	return table
}

// Groups of a table that is ordered by its key are made of each morsel, and put together where two morsels meet: the rows are those
// that one morsel gives, in their order, and a large result comes in several batches. So it is for distinct rows, for
// keys of other types, and where a key is out of order or null.
func TestGroupsOfRisingKeys(t *testing.T) {
	for _, rows := range []int{1, 99, 101, 5000} {
		table := ordered(t, rows)
		q := From(table).WithColumn("w", expr.Col("k").Cast(arrow.PrimitiveTypes.Int32).Cast(arrow.FixedWidthTypes.Date32)).
			WithColumn("n", "case when v = 500 then null else k end").WithColumn("d", expr.Col("v").Cast(&arrow.Decimal128Type{Precision: 12, Scale: 2})).
			WithColumn("s", "case when v % 3 = 0 then 'a' else 'b' end")
		aggs := []Aggregate{Sum("v"), Count(), Mean("f"), Sum("d"), Min("s"), First("v"), Last("f"), Max("d")}
		for name, c := range map[string]struct {
			q    *Query
			many bool // batches
		}{
			"k":            {q.GroupBy("k").Agg(aggs...), true},
			"a date":       {q.GroupBy("w").Agg(aggs...), true},
			"out of order": {q.GroupBy("u").Agg(aggs...), false},
			"nulls":        {q.GroupBy("n").Agg(aggs...), false},
			"two keys":     {q.GroupBy("k", "s").Agg(aggs...), false},
			"distinct":     {q.Distinct("k"), true},
			"filtered":     {q.Filter("v < 900").GroupBy("k").Agg(aggs...), true},
			"a condition":  {q.GroupBy("k").Agg(aggs...).Filter("count > 20"), false},
		} {
			t.Setenv(morselVariable, "")
			want := collect(t, c.q)
			t.Setenv(morselVariable, "100")
			what := fmt.Sprintf("%s of %d rows", name, rows)
			equalRows(t, what, collect(t, c.q), want)
			if !table.Backend().Device.Memory().Place().HostAccessible() || rows < 1000 {
				continue
			}
			batches := 0
			for _, err := range c.q.Batches(t.Context()) {
				require.NoError(t, err)
				batches++
			}
			if name != "a condition" {
				assert.Equal(t, c.many, batches > 1, "%s: %d batches", what, batches)
			}
		}
	}
}

// A sum that is too large where two morsels meet is the error that names it.
func TestRisingSumsThatAreTooLarge(t *testing.T) {
	k, v := make([]int64, 1000), make([]int64, 1000)
	for i := range k {
		k[i] = int64(i / 6)
	}
	v[99], v[100] = 1<<62, 1<<62
	b := testBackend(t)
	sums := func() *Query {
		whole, err := New(b, Column("k", k), Column("v", v))
		require.NoError(t, err)
		return From(inSlices(t, whole)).GroupBy("k").Agg(Sum("v"))
	}
	t.Setenv(morselVariable, "100")
	_, err := sums().Collect(t.Context())
	require.ErrorContains(t, err, "sum(v)")
	v[100] = -1 << 62
	equalRows(t, "a sum that fits again", collect(t, sums().Filter("sum_v > 0 or k = 16").Select("sum_v")), []string{"0"})
}

// How often keys come is guessed of rows spread over batches: not where all differ, and where each comes share times.
func TestRepeats(t *testing.T) {
	b := testBackend(t)
	stream, err := b.Device.NewStream()
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	for _, c := range []struct {
		each  int64 // rows of a key
		share int64
		want  bool
	}{{1, 2, false}, {40, 8, true}, {2, 8, false}, {4, 2, true}, {100_000, 8, true}} {
		var all []*Batch
		random := rand.New(rand.NewPCG(3, uint64(c.each)))
		for range 7 {
			k := make([]int64, 20_000)
			for i := range k {
				k[i] = random.Int64N(1 + 140_000/c.each)
				if c.each == 1 {
					k[i] = int64(len(all)*len(k) + i)
				}
			}
			table, err := New(b, Column("k", k))
			require.NoError(t, err)
			defer table.Release()
			all = append(all, table.Chunks()...)
		}
		r := &runner{backend: b, stream: stream}
		got, err := r.repeats(t.Context(), all, func(c []*memory.Column) []*memory.Column { return c }, c.share)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%d rows of a key, %d for a group", c.each, c.share)
	}
}
