package distributed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// numbers is rows of columns of all types that have one width, without nulls, in chunks of some rows: a key, the number of the row over all ranks, and the others.
func numbers(r *rank, from, n, chunk int64, nulls bool) (*table.Table, error) {
	var fields []arrow.Field
	for i, typ := range append([]arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64}, every...) {
		if directType(typ) {
			fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: typ, Nullable: true})
		}
	}
	schema := arrow.NewSchema(fields, nil)
	var chunks []*table.Batch
	for at := int64(0); at < n; at += chunk {
		var all []table.Series
		for i, f := range fields {
			c := column(r.t, f.Type, uint64(1000*i)+uint64(from+at), int(min(chunk, n-at)))
			if !nulls || i < 2 {
				full, err := memory.NewColumn(memory.Parts{Type: c.Type(), Len: c.Len(), Offset: c.Offset(), Buffers: []*memory.Buffer{nil, c.Buffer(1).Retain()}})
				require.NoError(r.t, err)
				c.Release()
				c = full
			}
			defer c.Release()
			if i < 2 {
				for j := range memory.Values[int64](c) {
					memory.Values[int64](c)[j] = []int64{(from + at + int64(j)) * 7 % 13, from + at + int64(j)}[i]
				}
			}
			all = append(all, table.Column(f.Name, c))
		}
		one, err := table.New(r.backend, all...)
		if err != nil {
			return nil, err
		}
		for _, c := range one.Chunks() {
			chunks = append(chunks, c.Retain())
		}
		one.Release()
	}
	return table.NewTable(r.backend, schema, chunks)
}

// Numbers go straight to their places, in rounds of a few rows: every row once, a key on one rank, by source rank and row, and in one chunk. Where one rank has a
// null they come as other columns do, to the same ranks in the same order.
func TestShuffleOfNumbers(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		for _, rows := range []int64{0, 1, 40, 173} {
			for _, nulls := range []bool{false, true} {
				t.Run(fmt.Sprintf("ranks=%d rows=%d nulls=%t", ranks, rows, nulls), func(t *testing.T) {
					each(t, ranks, func(r *rank) error { return shufflesNumbers(r, rows, nulls) })
				})
			}
		}
	}
}

func shufflesNumbers(r *rank, rows int64, nulls bool) error {
	n := rows
	if r.id() == 1 {
		n = 0 // a rank without rows
	}
	part, err := numbers(r, int64(r.id())*rows, n, 11+int64(r.id()), nulls && r.id() == 0)
	if err != nil {
		return err
	}
	defer part.Release()
	d, err := New(r, r.comm, part)
	if err != nil {
		return err
	}
	defer d.Release()
	got, err := d.Shuffle(r, Hash("c0"))
	if err != nil {
		return err
	}
	defer got.Release()
	if backends.OnHost() && !nulls && r.comm.Size() > 1 {
		require.LessOrEqual(r.t, len(got.Local().Chunks()), 1)
	}
	before, err := r.all(d)
	if err != nil {
		return err
	}
	after, err := r.all(got)
	if err != nil {
		return err
	}
	where, at := map[string]int{}, 0
	for rank, n := range got.Counts() {
		mine := after[at : at+int(n)]
		at += int(n)
		for _, row := range mine {
			key, _, _ := strings.Cut(row, "|")
			if other, is := where[key]; is {
				require.Equal(r.t, other, rank, "key %s", key)
			}
			where[key] = rank
		}
		want := slices.Clone(before)
		want = slices.DeleteFunc(want, func(row string) bool { return !slices.Contains(mine, row) })
		require.True(r.t, slices.Equal(want, mine), "rank %d: %q in place of %q", rank, mine, want)
	}
	require.Len(r.t, after, len(before))
	sorted, err := got.Sort(r, table.Asc("c1"))
	if err != nil {
		return err
	}
	defer sorted.Release()
	back, err := r.all(sorted)
	if err != nil {
		return err
	}
	require.True(r.t, slices.Equal(before, back), "%q in place of %q", back, before)
	return nil
}
