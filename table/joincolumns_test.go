package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// bigSides are tables of enough rows for a join of whole columns: each left key
// has a partner but the last ones, in chunks.
func bigSides(t *testing.T, b *kernels.Backend) (left, right *Table) {
	t.Helper()
	const rows = wholeLeast + 77
	make := func(n int64, factor int64, name string, chunks int64) *Table {
		var all []*Table
		for c := range chunks {
			from, to := n*c/chunks, n*(c+1)/chunks
			k, v, s := []int64{}, []int32{}, []string{}
			for i := from; i < to; i++ {
				k, v = append(k, (i*factor%n)*0x1234567890ab), append(v, int32(i))
				s = append(s, string(rune('a'+i%26)))
			}
			chunk, err := New(b, Column("k", k), Column(name, v), Column("s", s))
			if err != nil {
				t.Fatal(err)
			}
			defer chunk.Release()
			all = append(all, chunk)
		}
		var batches []*Batch
		for _, c := range all {
			for _, batch := range c.Chunks() {
				batches = append(batches, batch.Retain())
			}
		}
		whole, err := NewTable(b, all[0].Schema(), batches)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(whole.Release)
		return whole
	}
	return make(rows+1000, 7919, "v", 3), make(rows, 104729, "w", 1)
}

// A join of two large sides as whole columns has the rows of the one past a table, in
// left order in the same order: with one column a side and with several, renamed keys,
// in chunks, and where memory does not allow it whole.
func TestJoinOfWholeColumns(t *testing.T) {
	t.Setenv("VOLLEY_OPTIMISER", "-joinorder,-reduce") // the right side is built
	var limit *budget
	b := backendOver(t, func(a memory.Allocator) memory.Allocator {
		limit = &budget{Allocator: a}
		return limit
	})
	left, right := bigSides(t, b)
	for name, q := range map[string]func(...JoinOption) *Query{
		"one column a side": func(o ...JoinOption) *Query {
			return From(left).Select("k", "v").Join(From(right).Select("k", "w").Rename("k", "key"), Inner, append(o, Keys("k", "key"))...)
		},
		"several and texts": func(o ...JoinOption) *Query {
			return From(left).Filter("v % 4 = 1").Join(right, Inner, append(o, On("k"), Suffix("_r"))...)
		},
	} {
		held := limit.allow(0)
		set, wholes := b.Set, 0
		past, counting := *set, *set
		past.JoinColumns.Func = nil
		if set.JoinColumns.Func != nil {
			counting.JoinColumns.Func = func(ctx context.Context, s device.Stream, left, right kernels.JoinSide, o kernels.JoinOptions) (kernels.JoinRows, error) {
				rows, err := set.JoinColumns.Func(ctx, s, left, right, o)
				if err == nil {
					wholes++
				}
				return rows, err
			}
		}
		b.Set = &past
		want := collect(t, q())
		b.Set = &counting
		most := limit.most - held
		if name != "one column a side" { // left rows are held, too
			most *= 2
		}
		for _, allowed := range []int64{0, most + most/4} { // how much more than before depends on which workers are ahead
			limit.allow(allowed)
			got, before := collect(t, q()), wholes
			equalRows(t, name, got, want)
			any := collect(t, q(AnyOrder()))
			slices.Sort(any)
			slices.Sort(got)
			equalRows(t, name+", in any order", any, got)
			if allowed == 0 && set.JoinColumns.Func != nil && (before == 0 || wholes == before) {
				t.Errorf("%s: %d joins of whole columns in left order, %d in any", name, before, wholes-before)
			}
			if left := limit.allow(0); left != held {
				t.Errorf("%s: %d bytes are still held", name, left-held)
			}
		}
		b.Set = set
	}
}

// A join of which few rows are needed asks for no more left ones than give these, in
// left order and any.
func TestJoinOfFirstRows(t *testing.T) {
	b := testBackend(t)
	left, right := bigSides(t, b)
	set, wholes := b.Set, 0
	counting := *set
	if set.JoinColumns.Func != nil {
		counting.JoinColumns.Func = func(ctx context.Context, s device.Stream, left, right kernels.JoinSide, o kernels.JoinOptions) (kernels.JoinRows, error) {
			wholes++
			return set.JoinColumns.Func(ctx, s, left, right, o)
		}
	}
	b.Set = &counting
	defer func() { b.Set = set }()
	join := func(o ...JoinOption) *Query {
		return From(left).Join(right, Inner, append(o, On("k"))...).Select("v", "w")
	}
	all := collect(t, join())
	if set.JoinColumns.Func != nil && wholes != 1 {
		t.Fatalf("%d joins of whole columns", wholes)
	}
	equalRows(t, "the first", collect(t, join().Slice(3, 5)), all[3:8])
	if n := len(collect(t, join(AnyOrder()).Head(7))); n != 7 {
		t.Errorf("%d rows of 7", n)
	}
	if set.JoinColumns.Func != nil && wholes != 1 {
		t.Errorf("%d joins of whole columns for a few rows", wholes-1)
	}
	equalRows(t, "many", collect(t, join().Head(probeRows+1)), all)
	if set.JoinColumns.Func != nil && wholes != 2 {
		t.Errorf("%d joins of whole columns for many rows", wholes-1)
	}
}

// A join in left order of which there are too many pairs for whole columns has the rows
// of one past a table.
func TestJoinOfTooManyPairs(t *testing.T) {
	t.Setenv("VOLLEY_OPTIMISER", "-joinorder,-reduce") // the right side is built, and whole
	b := testBackend(t)
	const rows = wholeLeast
	k, left := make([]int64, rows), make([]int64, 4000)
	for i := range k {
		k[i] = int64(mixed(uint64(i / 300)))
	}
	for i := range left {
		left[i] = k[i%600]
	}
	r, err := New(b, Column("k", k))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	l, err := New(b, Column("k", left))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	set, refused := b.Set, 0
	counting := *set
	if set.JoinColumns.Func != nil {
		counting.JoinColumns.Func = func(ctx context.Context, s device.Stream, left, right kernels.JoinSide, o kernels.JoinOptions) (kernels.JoinRows, error) {
			rows, err := set.JoinColumns.Func(ctx, s, left, right, o)
			var pairs *kernels.PairsError
			if errors.As(err, &pairs) {
				refused++
			}
			return rows, err
		}
	}
	b.Set = &counting
	defer func() { b.Set = set }()
	equalRows(t, "many pairs", collect(t, From(l).Join(r, Inner, On("k")).Agg(Count("k"))), []string{fmt.Sprint(300 * len(left))})
	if set.JoinColumns.Func != nil && refused != 1 {
		t.Errorf("%d joins of whole columns were refused", refused)
	}
}

// mixed is a number for each number, far from those of its neighbours.
func mixed(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 }
