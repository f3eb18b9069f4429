package table

import (
	"slices"
	"testing"

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

// A join in any order of two large sides has the rows of the one in order: with
// one column a side and with several, renamed keys, in chunks, and where memory
// does not allow it whole.
func TestJoinOfWholeColumns(t *testing.T) {
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
		want := collect(t, q())
		slices.Sort(want)
		most := limit.most - held
		if name != "one column a side" { // left rows are held, too
			most *= 2
		}
		for _, allowed := range []int64{0, most + most/16} { // in order it takes less
			limit.allow(allowed)
			got := collect(t, q(AnyOrder()))
			slices.Sort(got)
			equalRows(t, name, got, want)
			if left := limit.allow(0); left != held {
				t.Errorf("%s: %d bytes are still held", name, left-held)
			}
		}
	}
}
