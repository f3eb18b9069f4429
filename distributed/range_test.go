package distributed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/table"
)

// cutsOf finds, by looking at all rows, whether rows that are equal in the columns of these numbers are on several ranks.
func cutsOf(all []string, counts []int64, columns ...int) bool {
	where, at := map[string]int{}, 0
	for rank, n := range counts {
		for _, row := range all[at : at+int(n)] {
			values, key := strings.Split(row, "|"), ""
			for _, c := range columns {
				key += values[c] + "|"
			}
			if other, is := where[key]; is && other != rank {
				return true
			}
			where[key] = rank
		}
		at += int(n)
	}
	return false
}

// ranges are keys by which rows are sorted. columns are the numbers of the columns, in order.
var ranges = []struct {
	orders  []table.Order
	names   []string
	columns []int
}{
	{[]table.Order{table.Asc("k")}, []string{"k"}, []int{0}},
	{[]table.Order{table.Desc("k").NullsFirst()}, []string{"k"}, []int{0}},
	{[]table.Order{table.Asc("k"), table.Desc("v")}, []string{"k", "v"}, []int{0, 1}},
	{[]table.Order{table.Desc("d"), table.Asc("k").NullsFirst()}, []string{"d", "k"}, []int{3, 0}},
}

// TestRangesAreKnown: which keys are whole on a rank after a Sort or a Shuffle by range is known, and is true; keys of a few rows are.
func TestRangesAreKnown(t *testing.T) {
	everyShape(t, 1500, func(r *rank, s *source) error {
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		for i, by := range ranges {
			if (r.comm.Size()+slices.Index(shapes, s.shape)+i)%2 > 0 {
				continue // other shapes and numbers of ranks have these
			}
			sorted, err := d.Sort(r, by.orders...)
			if err != nil {
				return err
			}
			defer sorted.Release()
			shuffled, err := d.Shuffle(r, Range(by.orders...))
			if err != nil {
				return err
			}
			defer shuffled.Release()
			for _, got := range []*Table{sorted, shuffled} {
				all, err := r.all(got)
				if err != nil {
					return err
				}
				for n := range by.names {
					together := got.Partitioning().Together(append([]string{"s"}, by.names[:n+1]...)...)
					require.Equal(r.t, !cutsOf(all, got.Counts(), by.columns[:n+1]...), together, "order %d, %d keys, %v rows", i, n+1, got.Counts())
				}
				require.False(r.t, got.Partitioning().Together("s"))
			}
			if s.shape == "even" && r.comm.Size() < 5 { // keys of some three rows, and some hundreds of rows on a rank
				require.True(r.t, sorted.Partitioning().Together(by.names...))
			}
			if s.shape == "one key" && r.comm.Size() > 1 {
				require.False(r.t, sorted.Partitioning().Together("k"))
			}
			require.Less(r.t, balanced(sorted.Counts()), 1.1)
			moved, err := sorted.Repartition(r, slices.Insert(make([]int64, r.comm.Size()-1), 0, sorted.NumRows()))
			if err != nil {
				return err
			}
			if r.comm.Size() > 1 && sorted.NumRows() > 0 {
				require.False(r.t, moved.Partitioning().Together(by.names...), "of other ranges nothing is known")
			}
			moved.Release()
		}
		return nil
	})
}

// onRanges are operations on sorted rows and what they are on one rank's. local gets the sorted rows and those of v below 300.
var onRanges = []struct {
	name   string
	keys   []string
	ranks  func(ctx context.Context, d, some *Table) (*Table, error)
	local  func(l, some *table.Table) *table.Query
	sorted bool // the order over all ranks is promised
}{
	{"group by", []string{"k"}, func(ctx context.Context, d, _ *Table) (*Table, error) {
		return d.GroupBy("k").Agg(ctx, table.Sum("v"), table.CountDistinct("s"), table.First("v").As("first"))
	}, func(l, _ *table.Table) *table.Query {
		return l.Query().GroupBy("k").Agg(table.Sum("v"), table.CountDistinct("s"), table.First("v").As("first"))
	}, true},
	{"group by in any order", []string{"s", "k"}, func(ctx context.Context, d, _ *Table) (*Table, error) {
		return d.GroupBy("s", "k").AnyOrder().DropNullKeys().Agg(ctx, table.Sum("v").As("v"))
	}, func(l, _ *table.Table) *table.Query {
		return l.Query().GroupBy("s", "k").DropNullKeys().Agg(table.Sum("v").As("v"))
	}, false},
	{"distinct", []string{"k"}, func(ctx context.Context, d, _ *Table) (*Table, error) { return d.Distinct(ctx, "k") },
		func(l, _ *table.Table) *table.Query { return l.Query().Distinct("k") }, true},
	{"distinct of several", []string{"s", "k"}, func(ctx context.Context, d, _ *Table) (*Table, error) { return d.Distinct(ctx, "s", "k") },
		func(l, _ *table.Table) *table.Query { return l.Query().Distinct("s", "k") }, true},
	{"except", []string{"k", "v", "s", "d"}, func(ctx context.Context, d, some *Table) (*Table, error) { return d.Except(ctx, some) },
		func(l, some *table.Table) *table.Query { return l.Query().Except(some.Query()) }, true},
}

// TestNoRowsMoveOnRanges: groups, distinct rows and joins by keys that are whole on a rank are made where the rows are; where a key is cut, or other
// rows are joined, they are right all the same.
func TestNoRowsMoveOnRanges(t *testing.T) {
	everyShape(t, 600, func(r *rank, s *source) error {
		d, err := r.spread(s, "")
		if err != nil {
			return err
		}
		defer d.Release()
		whole := s.whole(r.backend, "")
		defer whole.Release()
		i := (r.comm.Size() + slices.Index(shapes, s.shape)) % len(ranges)
		by := ranges[i]
		sorted, err := d.Sort(r, by.orders...)
		if err != nil {
			return err
		}
		defer sorted.Release()
		some, err := sorted.Filter(r, "v < 300")
		if err != nil {
			return err
		}
		defer some.Release()
		local, err := whole.Query().Sort(by.orders...).Collect(r)
		if err != nil {
			return err
		}
		defer local.Release()
		localSome, err := local.Query().Filter("v < 300").Collect(r)
		if err != nil {
			return err
		}
		defer localSome.Release()
		for _, op := range onRanges {
			stays := sorted.Partitioning().Together(op.keys...)
			err := r.onRanges(fmt.Sprintf("%s, order %d", op.name, i), stays, func() (*Table, error) { return op.ranks(r, sorted, some) }, op.local(local, localSome), op.sorted)
			if err != nil {
				return err
			}
		}
		return r.joinsOnRanges(s.shape, sorted, some, local, localSome)
	})
}

// moves is how often this rank has sent or received rows.
func (r *rank) moves() (n uint64) {
	for _, op := range r.comm.Stats().Operations {
		if op.Op == "SendRecv" {
			n += op.Calls
		}
	}
	return n
}

// onRanges holds an operation against the local one. Where stays is set no rows may move, and what is known of where they are must be known of the result.
func (r *rank) onRanges(name string, stays bool, do func() (*Table, error), want *table.Query, sorted bool) error {
	before := r.moves()
	got, err := do()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer got.Release()
	if r.comm.Size() > 1 {
		require.Equal(r.t, stays, r.moves() == before, "%s: rows move", name)
		require.True(r.t, !stays || got.Partitioning().Together("k", "v", "s", "d"), "%s", name)
	}
	all, err := r.all(got)
	if err != nil || r.id() > 0 {
		return err
	}
	local, err := want.Collect(r)
	if err != nil {
		return err
	}
	defer local.Release()
	wanted := rows(local)
	if !sorted {
		slices.Sort(wanted)
		slices.Sort(all)
	}
	require.Equal(r.t, wanted, all, "%s", name)
	require.Equal(r.t, names(local.Schema()), names(got.Schema()), "%s", name)
	return nil
}

// joinsOnRanges joins sorted rows with groups of some of them, which are where they are.
func (r *rank) joinsOnRanges(shape string, sorted, some *Table, local, localSome *table.Table) error {
	groups, err := some.GroupBy("k").AnyOrder().Agg(r, table.Sum("v").As("sum"), table.Count())
	if err != nil {
		return err
	}
	defer groups.Release()
	localGroups, err := localSome.Query().GroupBy("k").Agg(table.Sum("v").As("sum"), table.Count()).Collect(r)
	if err != nil {
		return err
	}
	defer localGroups.Release()
	stays := sorted.Partitioning().Together("k")
	require.True(r.t, !stays || r.comm.Size() == 1 || groups.Partitioning().Together("k"))
	at := (r.comm.Size() + slices.Index(shapes, shape)) % 3
	for i, kind := range []table.Kind{kinds[at], kinds[at+3]} {
		options := []table.JoinOption{table.On("k"), table.NullsEqual()}[:1+(i+r.comm.Size())%2]
		name := fmt.Sprintf("%s join, %d options", kind, len(options))
		if err := r.onRanges(name, stays, func() (*Table, error) { return sorted.Join(r, groups, kind, options...) }, local.Query().Join(localGroups, kind, options...), false); err != nil {
			return err
		}
		name += ", turned"
		if err := r.onRanges(name, stays, func() (*Table, error) { return groups.Join(r, sorted, kind, options...) }, localGroups.Query().Join(local, kind, options...), false); err != nil {
			return err
		}
	}
	if shape == "one key" || shape == "zipf" {
		return nil // the pairs are many
	}
	// Keys by other ranges are on other ranks.
	other, err := some.Shuffle(r, Range(table.Desc("k")))
	if err != nil {
		return err
	}
	defer other.Release()
	got, err := r.joins(sorted, other, local, localSome, table.Inner, table.On("k"))
	if err != nil {
		return err
	}
	got.Release()
	return nil
}
