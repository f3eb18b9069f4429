package distributed

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/table"
)

// textBytes are the bytes of the texts in each chunk.
func (r *rank) textBytes(t *table.Table, column string) (all []int) {
	for _, b := range t.Chunks() {
		one, err := table.NewTable(t.Backend(), t.Schema(), []*table.Batch{b.Retain()})
		if err != nil {
			panic(err)
		}
		only, err := one.Query().Select(column).Collect(r)
		one.Release()
		if err != nil {
			panic(err)
		}
		n := 0
		for _, row := range rows(only) {
			n += len(row)
		}
		only.Release()
		all = append(all, n)
	}
	return all
}

// TestTextsThatComeStayApart: texts of several chunks and ranks are never put together in one column, whose offsets have 32 bits: chunks that come are no larger than those that
// went. So all ranks' texts may have more than 2 GiB, on one rank too, as utf8.
func TestTextsThatComeStayApart(t *testing.T) {
	const n, chunk, chunks = 3, 20, 4
	each(t, n, func(r *rank) error {
		var batches []*table.Batch
		var schema *arrow.Schema
		for c := range chunks {
			var k []int64
			var texts []string
			for i := range chunk {
				row := (r.id()*chunks+c)*chunk + i
				k, texts = append(k, int64(row*7%13)), append(texts, strings.Repeat("x", 1+row%50))
			}
			one := ints(r.backend, "k", k, "s", texts)
			schema, batches = one.Schema(), append(batches, one.Chunks()[0].Retain())
			one.Release()
		}
		part, err := table.NewTable(r.backend, schema, batches)
		if err != nil {
			return err
		}
		defer part.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		went := wholeOf(r, d)
		defer went.Release()
		most := slices.Max(r.textBytes(went, "s"))
		require.Equal(r.t, arrow.STRING, d.Schema().Field(1).Type.ID())
		require.Greater(r.t, d.NumRows(), int64(chunk*chunks))
		for _, c := range []struct {
			name string
			move func() (*Table, error)
		}{
			{"hash", func() (*Table, error) { return d.Shuffle(r, Hash("k")) }},
			{"hash of the texts", func() (*Table, error) { return d.Shuffle(r, Hash("s")) }},
			{"round robin", func() (*Table, error) { return d.Shuffle(r, RoundRobin()) }},
			{"replicate", func() (*Table, error) { return d.Replicate(r) }},
			{"repartition", func() (*Table, error) { return d.Repartition(r, []int64{0, d.NumRows(), 0}) }},
			{"rebalance", func() (*Table, error) { return d.Rebalance(r, ByBytes) }},
		} {
			got, err := c.move()
			if err != nil {
				return err
			}
			defer got.Release()
			for _, n := range r.textBytes(got.Local(), "s") {
				require.LessOrEqual(r.t, n, most, c.name)
			}
		}
		return nil
	})
}
