package table_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/flowtest"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// queryOf is a query as a subject over one or two sources.
func queryOf(name string, inputs int, make func(q, other *table.Query) *table.Query) flowtest.Subject {
	return flowtest.Subject{Name: name, Inputs: inputs, Run: func(ctx context.Context, b *kernels.Backend, in []flow.Source, each func(*flow.Batch) error) error {
		q, other := table.Scan(in[0]).On(b), table.Scan(in[len(in)-1]).On(b)
		for batch, err := range make(q, other).Batches(ctx) {
			if err == nil {
				err = each(batch.Retain())
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// tablesOf is a query over tables of the rows of two sources as a subject.
func tablesOf(name string, make func(q, other *table.Query) *table.Query) flowtest.Subject {
	return flowtest.Subject{Name: name, Inputs: 2, Run: func(ctx context.Context, b *kernels.Backend, in []flow.Source, each func(*flow.Batch) error) error {
		var tables []*table.Query
		for _, s := range in {
			t, err := table.Scan(s).On(b).Collect(ctx)
			if err != nil {
				return err
			}
			defer t.Release()
			tables = append(tables, table.From(t))
		}
		for batch, err := range make(tables[0], tables[1]).Batches(ctx) {
			if err == nil {
				err = each(batch.Retain())
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// TestFlow has every operator, sink and source of queries under the kit.
func TestFlow(t *testing.T) {
	tied := map[bool]int{}
	sums := []table.Aggregate{table.Sum("x"), table.Mean("d"), table.Min("s"), table.Max("m"), table.Count(), table.First("id"), table.Last("x")}
	join := func(kind table.Kind, options ...table.JoinOption) flowtest.Subject {
		return queryOf(kind.String()+" join", 2, func(q, other *table.Query) *table.Query {
			return q.Join(other.Select("m", "s", "id"), kind, append(options, table.On("m"))...)
		})
	}
	masked := map[string]int{}
	// kept keeps most rows just below a group, which takes them with a mask where it is thought to have few groups.
	kept := func(name string, above func(q *table.Query) *table.Query) func(q, _ *table.Query) *table.Query {
		masked[name] = -1 // -run may leave it out
		return func(q, _ *table.Query) *table.Query {
			q = above(q.Filter("id <> 3 and (m <> 7 or id > 30)"))
			if masked[name] < 1 { // morsels of few rows may have none
				text, err := q.Explain(t.Context())
				require.NoError(t, err)
				if masked[name] = 0; strings.Contains(text, "as a mask") {
					masked[name] = 1
				}
			}
			return q
		}
	}
	left := queryOf("left join where", 2, func(q, other *table.Query) *table.Query {
		return q.Join(other, table.Left, table.On("m"), table.Where("x < x_right"))
	})
	flowtest.Run(t,
		queryOf("scan", 1, func(q, _ *table.Query) *table.Query { return q }),
		queryOf("filter", 1, func(q, _ *table.Query) *table.Query { return q.Filter("m > 7 and x < 1") }),
		queryOf("project", 1, func(q, _ *table.Query) *table.Query {
			return q.Select("s", "x", "m", "id").WithColumn("y", "x * m").WithColumn("one", "1")
		}),
		queryOf("steps", 1, func(q, _ *table.Query) *table.Query {
			return q.Filter("m > 3").WithColumn("y", "x + m").Filter("y > 5")
		}),
		queryOf("limit", 1, func(q, _ *table.Query) *table.Query { return q.Filter("m > 3").Slice(9, 20) }),
		queryOf("union", 2, func(q, other *table.Query) *table.Query { return q.Union(other).Filter("id > 3") }),
		queryOf("group", 1, func(q, _ *table.Query) *table.Query { return q.GroupBy("k", "s").Agg(sums...) }),
		queryOf("group many", 1, func(q, _ *table.Query) *table.Query {
			return q.GroupBy("m", "id").Agg(append(sums, table.Var("x"), table.CountDistinct("s"))...)
		}),
		queryOf("variances and distinct values", 1, func(q, _ *table.Query) *table.Query {
			return q.GroupBy("k").Agg(table.Std("x"), table.Var("d"), table.Var("m"), table.CountDistinct("m"), table.CountDistinct("s"), table.Sum("d"))
		}),
		queryOf("group by constants", 1, func(q, _ *table.Query) *table.Query {
			return q.WithColumn("one", "1").GroupBy("one", "b").Agg(sums...)
		}),
		queryOf("aggregate", 1, func(q, _ *table.Query) *table.Query { return q.Agg(sums...) }),
		queryOf("distinct", 1, func(q, _ *table.Query) *table.Query { return q.Distinct("k", "s") }),
		queryOf("sort", 1, func(q, _ *table.Query) *table.Query { return q.Sort(table.Desc("x"), table.Asc("s").NullsFirst()) }),
		queryOf("top", 1, func(q, _ *table.Query) *table.Query { return q.TopK(6, table.Asc("m"), table.Desc("s")) }),
		queryOf("shared", 1, func(q, _ *table.Query) *table.Query {
			g := q.GroupBy("k").Agg(table.Sum("m"))
			return g.Join(g, table.Inner, table.On("k"))
		}),
		queryOf("texts", 1, func(q, _ *table.Query) *table.Query {
			return q.Filter("s like '%1' or s is null or s in ('a0', 'c2')").WithColumn("t", "substring(s, 2, 1)").WithColumn("u", "case when x < 0 then s else 'else' end").
				WithColumn("v", "coalesce(s, t, 'none')").WithColumn("same", "s = t or s < 'b'")
		}),
		queryOf("group by texts", 1, func(q, _ *table.Query) *table.Query {
			return q.GroupBy("s").Agg(table.First("s").As("a"), table.Last("s").As("z"), table.Max("s"), table.CountDistinct("s"), table.Count("s"), table.Sum("m"))
		}),
		queryOf("join by texts", 2, func(q, other *table.Query) *table.Query {
			return q.Select("s", "id").Join(other.Select("s", "k", "m").Filter("m < 6"), table.Full, table.On("s"))
		}),
		queryOf("join by null texts", 2, func(q, other *table.Query) *table.Query {
			return q.Select("s", "k", "id").Join(other.Filter("m < 6"), table.Semi, table.On("s", "k"), table.NullsEqual(), table.Where("id < id_right + 40"))
		}),
		join(table.Inner), join(table.Left), join(table.Right), join(table.Full, table.NullsEqual()), join(table.Semi), join(table.Anti), left,
		queryOf("inner join in any order", 2, func(q, other *table.Query) *table.Query {
			return q.Select("m", "id", "x").Join(other.Select("m", "id", "d"), table.Inner, table.On("m"), table.AnyOrder()).Sort(table.Asc("id"), table.Asc("id_right"))
		}),
		queryOf("joins of joins", 2, func(q, other *table.Query) *table.Query {
			return q.Join(other.Select("m", "x"), table.Full, table.On("m")).Filter("m > 2").Join(other.Select("m", "d"), table.Right, table.On("m")).GroupBy("m").Agg(table.Count(), table.Sum("x"))
		}),
		queryOf("joins of filtered rows", 2, func(q, other *table.Query) *table.Query {
			return q.Filter("m > 1 and s <> 'a'").Join(other.Select("m", "d"), table.Left, table.On("m")).Filter("x < 2 or s is null").Join(other.Select("m", "s"), table.Semi, table.On("m"))
		}),
		queryOf("cross join", 2, func(q, other *table.Query) *table.Query {
			return q.Select("id", "s").Join(other.Select("x").Head(7), table.Cross).Filter("id > 2")
		}),
		queryOf("intersect", 2, func(q, other *table.Query) *table.Query { return q.Select("k", "s").Intersect(other.Select("k", "s")) }),
		tablesOf("tables", func(q, other *table.Query) *table.Query {
			return q.Join(other.Select("m", "x"), table.Left, table.On("m"), table.Suffix("_2")).Filter("id > 4")
		}),
		tablesOf("ties as written", func(q, other *table.Query) *table.Query {
			q = other.Filter("m > 20").Select("m", "d").Join(q.Select("m", "x", "id"), table.Inner, table.On("m")).TopK(9, table.Asc("x").NullsFirst(), table.Asc("d").NullsFirst())
			text, err := q.Explain(t.Context())
			require.NoError(t, err)
			tied[strings.Contains(text, "ties as written")]++
			return q
		}),
		tablesOf("masked groups", kept("groups", func(q *table.Query) *table.Query { return q.GroupBy("s").Agg(sums...) })),
		queryOf("masked groups of expressions", 1, kept("expressions", func(q *table.Query) *table.Query {
			return q.WithColumn("y", "x * m").GroupBy("b").Agg(table.Sum("y"), table.Max("d"), table.Count("y"), table.Mean("m"), table.First("id"))
		})),
		queryOf("filtered distinct", 1, func(q, _ *table.Query) *table.Query { return q.Filter("id > 3 and m <> 7").Distinct("k", "s") }),
		queryOf("filtered sort", 1, func(q, _ *table.Query) *table.Query {
			return q.Filter("id > 3 and m <> 7").Sort(table.Asc("s"), table.Desc("m"))
		}),
		queryOf("filtered top", 1, func(q, _ *table.Query) *table.Query {
			return q.Filter("id > 3 and m <> 7").TopK(6, table.Desc("x"), table.Asc("s"))
		}),
		queryOf("scalar", 2, func(q, other *table.Query) *table.Query {
			return q.WithScalar("most", other.Agg(table.Max("m"))).Filter("m < most")
		}),
	)
	if len(tied) > 0 && !backends.Brief() { // which gives it few rows
		require.Positive(t, tied[true], tied)
	}
	for name, n := range masked {
		if n >= 0 && backends.OnHost() {
			require.Positive(t, n, name)
		}
	}
}

// constants gives a query columns of one value in all rows, in place of some that it has: a projection makes them.
func constants(q *table.Query) *table.Query {
	return q.WithColumn("k", "7").WithColumn("s", "'text'").WithColumn("d", "2.50").WithColumn("b", "true").WithColumn("none", "cast(null as int64)")
}

// TestFlowOfConstants has what groups, joins, sorts and looks up under the kit, over columns of one value.
func TestFlowOfConstants(t *testing.T) {
	flowtest.Rows(t,
		queryOf("filter", 1, func(q, _ *table.Query) *table.Query {
			return constants(q).Filter("s like 't%' and k = 7 and none is null and (b or m > 3)")
		}),
		queryOf("none pass", 1, func(q, _ *table.Query) *table.Query { return constants(q).Filter("k = 8 or none = 1") }),
		queryOf("group", 1, func(q, _ *table.Query) *table.Query {
			return constants(q).GroupBy("k", "s", "none").Agg(table.Sum("k").As("sum"), table.Min("s").As("least"), table.Mean("d"), table.Count("none").As("n"), table.CountDistinct("b"), table.First("id"))
		}),
		queryOf("group by a constant and a column", 1, func(q, _ *table.Query) *table.Query {
			return constants(q).GroupBy("m", "s").Agg(table.Max("none"), table.Sum("d"), table.Var("k"), table.Last("s").As("last"))
		}),
		queryOf("aggregate", 1, func(q, _ *table.Query) *table.Query {
			return constants(q).Agg(table.Sum("d"), table.Max("s"), table.Min("none"), table.Count(), table.Std("k"))
		}),
		queryOf("distinct", 1, func(q, _ *table.Query) *table.Query { return constants(q).Distinct("s", "none", "d") }),
		queryOf("sort", 1, func(q, _ *table.Query) *table.Query {
			return constants(q).Sort(table.Desc("s"), table.Asc("none"), table.Asc("x"))
		}),
		queryOf("top", 1, func(q, _ *table.Query) *table.Query {
			return constants(q).TopK(7, table.Asc("k"), table.Desc("none").NullsFirst())
		}),
		queryOf("union", 2, func(q, other *table.Query) *table.Query {
			return constants(q).Union(constants(other)).Distinct("s", "m")
		}),
		queryOf("join by constants", 2, func(q, other *table.Query) *table.Query {
			return constants(q).Select("k", "s", "id").Join(constants(other).Filter("m < 3").Select("k", "s", "d", "x"), table.Left, table.On("k", "s"))
		}),
		queryOf("join by null", 2, func(q, other *table.Query) *table.Query {
			return constants(q).Select("none", "id").Join(constants(other).Filter("m < 3").Select("none", "s"), table.Full, table.On("none"))
		}),
		queryOf("semi join", 2, func(q, other *table.Query) *table.Query {
			return constants(q).Join(constants(other), table.Semi, table.On("s", "m"), table.Where("k = k_right"))
		}),
		queryOf("constants of the right side", 2, func(q, other *table.Query) *table.Query {
			return q.Join(constants(other).Select("m", "s", "none", "b"), table.Left, table.On("m"), table.Suffix("_2")).GroupBy("s_2", "b_2").Agg(table.Count(), table.Count("none"))
		}),
		queryOf("intersect", 2, func(q, other *table.Query) *table.Query {
			return constants(q).Select("s", "none", "k").Intersect(constants(other).Select("s", "none", "k"))
		}),
	)
}

// TestFlowOfSpoiltTables has what groups, joins and looks up under the kit where all hashes are equal, and
// where tables begin with four slots.
func TestFlowOfSpoiltTables(t *testing.T) {
	trials := slots.Trials()
	if backends.OnGPU() { // whose tables are their own: only keys that are handed down are looked up on the host
		trials = trials[len(trials)-1:]
	}
	for _, trial := range trials {
		t.Run(trial.Name, func(t *testing.T) {
			defer trial.Begin()()
			handed := false
			flowtest.Rows(t,
				queryOf("group", 1, func(q, _ *table.Query) *table.Query {
					return q.GroupBy("k", "s").Agg(table.Sum("m"), table.Min("s"), table.CountDistinct("m"), table.First("id"))
				}),
				queryOf("group by text", 1, func(q, _ *table.Query) *table.Query { return q.GroupBy("s").Agg(table.Count(), table.Max("d")) }),
				queryOf("distinct", 1, func(q, _ *table.Query) *table.Query { return q.Distinct("m", "s", "d") }),
				queryOf("in", 1, func(q, _ *table.Query) *table.Query {
					return q.Filter("s in ('a0', 'b1', 'c2', 'e0') or m in (3, 1000000007, -5)")
				}),
				queryOf("join by text", 2, func(q, other *table.Query) *table.Query {
					return q.Select("s", "id").Join(other.Distinct("s", "k"), table.Full, table.On("s"), table.NullsEqual())
				}),
				queryOf("join by two keys", 2, func(q, other *table.Query) *table.Query {
					return q.Join(other.Select("m", "s", "x"), table.Left, table.On("m", "s"))
				}),
				queryOf("semi join of floats", 2, func(q, other *table.Query) *table.Query { return q.Join(other, table.Anti, table.On("x", "d")) }),
				queryOf("keys handed down", 2, func(q, other *table.Query) *table.Query {
					return q.Filter("x < 1").Join(other.Select("m", "d").Filter("m > 20"), table.Inner, table.On("m"))
				}),
				tablesOf("few keys handed down", func(q, other *table.Query) *table.Query { // those far apart as a Bloom filter
					q = q.WithColumn("y", "x * m").Join(other.Select("m", "d", "id").Filter("id < 9"), table.Inner, table.On("m"))
					if !handed {
						text, err := q.Explain(t.Context())
						require.NoError(t, err)
						require.Contains(t, text, "in keys")
						handed = true
					}
					return q
				}),
			)
			require.True(t, handed)
		})
	}
}
