package distributed

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// operator is an operation on ranks and what it is on one.
type operator struct {
	name  string
	ranks func(ctx context.Context, d *Table) (*Table, error)
	local func(q *table.Query) *table.Query
	keeps bool // rows stay where they are
}

var sumsAndMore = []table.Aggregate{
	table.Count(), table.Count("k").As("n"), table.Sum("v"), table.SumWrapping("v"), table.Min("v"), table.Max("s"), table.Mean("v"), table.First("s"), table.Last("v").As("last"),
	table.Min("d").As("least"), table.Sum(expr.Col("v").Mul(2)).As("twice"), table.Any(expr.Col("v").Gt(5)).As("any"), table.All(expr.Col("v").Gt(5)).As("all"),
	table.Share(expr.Col("v").Gt(100)).As("share"),
}

var operators = []operator{
	{"sort by key", func(ctx context.Context, d *Table) (*Table, error) { return d.Sort(ctx, table.Asc("k")) },
		func(q *table.Query) *table.Query { return q.Sort(table.Asc("k")) }, false},
	{"sort by several", func(ctx context.Context, d *Table) (*Table, error) {
		return d.Sort(ctx, table.Desc("s"), table.Asc("k").NullsFirst())
	}, func(q *table.Query) *table.Query { return q.Sort(table.Desc("s"), table.Asc("k").NullsFirst()) }, false},
	{"sort by an expression", func(ctx context.Context, d *Table) (*Table, error) {
		return d.Sort(ctx, table.Asc(expr.Col("v").Mod(7)), table.Desc("d"))
	}, func(q *table.Query) *table.Query { return q.Sort(table.Asc(expr.Col("v").Mod(7)), table.Desc("d")) }, false},
	{"top k", func(ctx context.Context, d *Table) (*Table, error) { return d.TopK(ctx, 5, table.Desc("k")) },
		func(q *table.Query) *table.Query { return q.TopK(5, table.Desc("k")) }, false},
	{"top many", func(ctx context.Context, d *Table) (*Table, error) { return d.TopK(ctx, 150, table.Asc("s")) },
		func(q *table.Query) *table.Query { return q.TopK(150, table.Asc("s")) }, false},
	{"head", func(ctx context.Context, d *Table) (*Table, error) { return d.Head(ctx, 101) },
		func(q *table.Query) *table.Query { return q.Head(101) }, true},
	{"head of nothing", func(ctx context.Context, d *Table) (*Table, error) { return d.Head(ctx, 0) },
		func(q *table.Query) *table.Query { return q.Head(0) }, true},
	{"slice", func(ctx context.Context, d *Table) (*Table, error) { return d.Slice(ctx, 50, 1<<62) },
		func(q *table.Query) *table.Query { return q.Slice(50, 1<<62) }, true},
	{"filter", func(ctx context.Context, d *Table) (*Table, error) { return d.Filter(ctx, "v % 3 = 0") },
		func(q *table.Query) *table.Query { return q.Filter("v % 3 = 0") }, true},
	{"select", func(ctx context.Context, d *Table) (*Table, error) {
		return d.Select(ctx, "s", expr.Col("v").Add(1).As("w"))
	},
		func(q *table.Query) *table.Query { return q.Select("s", expr.Col("v").Add(1).As("w")) }, true},
	{"distinct", func(ctx context.Context, d *Table) (*Table, error) { return d.Distinct(ctx, "s", "k") },
		func(q *table.Query) *table.Query { return q.Distinct("s", "k") }, true},
	{"distinct of all", func(ctx context.Context, d *Table) (*Table, error) { return d.Distinct(ctx) },
		func(q *table.Query) *table.Query { return q.Distinct() }, true},
	{"group by", func(ctx context.Context, d *Table) (*Table, error) { return d.GroupBy("k").Agg(ctx, sumsAndMore...) },
		func(q *table.Query) *table.Query { return q.GroupBy("k").Agg(sumsAndMore...) }, false},
	{"group by several", func(ctx context.Context, d *Table) (*Table, error) {
		return d.GroupBy("d", expr.Col("v").Mod(3).As("m")).DropNullKeys().Agg(ctx, table.Count(), table.First("v"))
	}, func(q *table.Query) *table.Query {
		return q.GroupBy("d", expr.Col("v").Mod(3).As("m")).DropNullKeys().Agg(table.Count(), table.First("v"))
	}, false},
	{"group by, rows", func(ctx context.Context, d *Table) (*Table, error) {
		return d.GroupBy("s").Agg(ctx, table.CountDistinct("k"), table.Last("v"), table.Sum("v").With(kernels.AggregateOptions{MinCount: 3}))
	}, func(q *table.Query) *table.Query {
		return q.GroupBy("s").Agg(table.CountDistinct("k"), table.Last("v"), table.Sum("v").With(kernels.AggregateOptions{MinCount: 3}))
	}, false},
	{"group by, rows once", func(ctx context.Context, d *Table) (*Table, error) {
		return d.GroupBy("s").Agg(ctx, table.CountDistinct("k"), table.Max("k"))
	}, func(q *table.Query) *table.Query { return q.GroupBy("s").Agg(table.CountDistinct("k"), table.Max("k")) }, false},
	{"keys alone", func(ctx context.Context, d *Table) (*Table, error) { return d.GroupBy("d").Agg(ctx) },
		func(q *table.Query) *table.Query { return q.GroupBy("d").Agg() }, false},
}

// TestOperatorsAsOnOneRank holds every operator against the local one on the rows of all ranks.
func TestOperatorsAsOnOneRank(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	for _, small := range []bool{false, true} {
		if groupLimits = usual; small { // groups and rows move
			groupLimits.few, groupLimits.sample = 3, 20
		}
		everyShape(t, 200, func(r *rank, s *source) error {
			whole := s.whole(r.backend, "")
			defer whole.Release()
			d, err := r.spread(s, "")
			if err != nil {
				return err
			}
			defer d.Release()
			hashed, err := d.Shuffle(r, Hash("s"))
			if err != nil {
				return err
			}
			defer hashed.Release()
			for _, op := range operators {
				if small && !strings.HasPrefix(op.name, "group") {
					continue
				}
				got, err := op.ranks(r, d)
				if err != nil {
					return fmt.Errorf("%s: %w", op.name, err)
				}
				all, err := r.all(got)
				if err != nil {
					return err
				}
				if r.id() == 0 {
					want, err := op.local(whole.Query()).Collect(r)
					if err != nil {
						return err
					}
					require.Equal(r.t, rows(want), all, "%s", op.name)
					require.Equal(r.t, want.NumRows(), got.NumRows(), "%s", op.name)
					require.Equal(r.t, names(want.Schema()), names(got.Schema()))
					want.Release()
				}
				if op.keeps {
					for i, n := range got.Counts() {
						require.LessOrEqual(r.t, n, d.Counts()[i], "%s", op.name)
					}
				}
				got.Release()
				if len(d.Counts()) != 3 {
					continue
				}
				if got, err = op.ranks(r, hashed); err != nil {
					return fmt.Errorf("%s of a shuffled table: %w", op.name, err)
				}
				require.Equal(r.t, int(got.Local().NumRows()), int(got.Counts()[r.id()]))
				got.Release()
			}
			return nil
		})
	}
}

// TestOperatorsOfAReplicatedTable: every rank has the local result.
func TestOperatorsOfAReplicatedTable(t *testing.T) {
	for _, n := range []int{1, 3} {
		each(t, n, func(r *rank) error {
			s := newSource("zipf", 3, 200, n)
			whole := s.whole(r.backend, "")
			defer whole.Release()
			d, err := New(r, r.comm, whole)
			if err != nil {
				return err
			}
			defer d.Release()
			copied := &Table{part: whole, comm: r.comm, counts: d.counts, bytes: d.bytes, by: Partitioning{Scheme: Replicated}}
			for _, op := range operators {
				want, err := op.local(whole.Query()).Collect(r)
				if err != nil {
					return err
				}
				got, err := op.ranks(r, copied)
				if err != nil {
					return fmt.Errorf("%s: %w", op.name, err)
				}
				require.Equal(r.t, want.NumRows(), got.NumRows(), "%s", op.name)
				if got.by.Scheme == Replicated {
					require.Equal(r.t, rows(want), rows(got.Local()), "%s", op.name)
				} else {
					all, err := r.all(got)
					if err != nil {
						return err
					}
					require.Equal(r.t, rows(want), all, "%s", op.name)
				}
				got.Release()
				want.Release()
			}
			return nil
		})
	}
}

// TestSortIsBalanced: ranks get equal shares of rows of one key too.
func TestSortIsBalanced(t *testing.T) {
	for _, shape := range []string{"one key", "zipf", "null keys", "all on one rank"} {
		for _, n := range sizes {
			each(t, n, func(r *rank) error {
				d, err := r.spread(newSource(shape, 5, 7000, n), "")
				if err != nil {
					return err
				}
				defer d.Release()
				sorted, err := d.Sort(r, table.Asc("k"))
				if err != nil {
					return err
				}
				defer sorted.Release()
				require.Less(r.t, balanced(sorted.Counts()), 1.1, "%s: %v", shape, sorted.Counts())
				require.Equal(r.t, Ranged, sorted.Partitioning().Scheme)
				return nil
			})
		}
	}
}

// TestOperatorsRefuse: what is wrong is one error on all ranks in the caller's words, also
// where one rank alone has it, and the Comm goes on.
func TestOperatorsRefuse(t *testing.T) {
	for what, c := range map[string]struct {
		call func(r *rank, d *Table) error
		want string
	}{
		"no such key":       {func(r *rank, d *Table) error { _, err := d.GroupBy("nobody").Agg(r, table.Count()); return err }, "nobody"},
		"no such value":     {func(r *rank, d *Table) error { _, err := d.GroupBy("k").Agg(r, table.Sum("nobody")); return err }, "nobody"},
		"sum of texts":      {func(r *rank, d *Table) error { _, err := d.GroupBy("k").Agg(r, table.Sum("s")); return err }, "sum of s"},
		"no sort keys":      {func(r *rank, d *Table) error { _, err := d.Sort(r); return err }, "sort without a key"},
		"a key of no type":  {func(r *rank, d *Table) error { _, err := d.Sort(r, table.Asc(5)); return err }, "int"},
		"rows below 0":      {func(r *rank, d *Table) error { _, err := d.Head(r, -1); return err }, "-1 rows"},
		"distinct":          {func(r *rank, d *Table) error { _, err := d.Distinct(r, "nobody"); return err }, "nobody"},
		"a name twice":      {func(r *rank, d *Table) error { _, err := d.WithRowNumber(r, "k", 0); return err }, `"k"`},
		"sets of others":    {func(r *rank, d *Table) error { _, err := d.Intersect(r, nil); return err }, "no table"},
		"other arguments":   {func(r *rank, d *Table) error { _, err := d.Head(r, int64(r.id())); return err }, "it calls distributed Head"},
		"other operations":  {otherCalls, "it calls distributed Tail"},
		"one rank's filter": {oneRanksError, "rank 1: "},
	} {
		t.Run(what, func(t *testing.T) {
			each(t, 3, func(r *rank) error {
				d, err := r.spread(newSource("even", 2, 30, 3), "")
				if err != nil {
					return err
				}
				defer d.Release()
				err = c.call(r, d)
				var e *agree.Error
				require.ErrorAs(r.t, err, &e)
				require.ErrorContains(r.t, err, c.want)
				return nil // the Comm goes on, as each holds
			})
		})
	}
}

func otherCalls(r *rank, d *Table) error {
	if r.id() == 1 {
		_, err := d.Tail(r, 3)
		return err
	}
	_, err := d.Head(r, 3)
	return err
}

// oneRanksError casts a text that only rank 1 has.
func oneRanksError(r *rank, d *Table) error {
	_, err := d.Filter(r, expr.IfElse(expr.Col("v").Eq(15), expr.Lit("no number"), expr.Lit("7")).Cast(int64s).Gt(0))
	return err
}
