package table

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// The written forms of states carry when they are to be shrunk, so that those that were read merge to
// the same bits.
func TestWrittenStates(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(20, 5, 1), 2, 1)
	n := &groupNode{keys: []named{{"k", expr.Col("k")}}, aggs: []Aggregate{Sum("v"), Mean("v")}}
	n.out = table.Schema()
	g := &grouping{r: &runner{backend: b}, node: n}
	exprs := []*expr.Expr{expr.Col("k"), expr.Col("v"), expr.Col("v")}
	var err error
	g.bound, err = expr.BindAll(table.Schema(), exprs...)
	require.NoError(t, err)
	require.NoError(t, g.once(table.Schema(), exprs))
	require.NoError(t, g.plan())
	batch := func(names ...string) *Batch {
		out, err := project(table.Chunks()[0], subset(table.Schema(), names))
		require.NoError(t, err)
		return out
	}
	pass := func(s, fresh exec.SinkState) {
		batches, err := s.Write(t.Context())
		require.NoError(t, err)
		require.NoError(t, fresh.Read(t.Context(), batches))
		require.Equal(t, s.Rows(), fresh.Rows())
		require.Equal(t, s.Size(), fresh.Size())
		require.Positive(t, s.Size())
	}

	c := &compactor{schema: table.Schema()}
	s := c.make()
	s.held, s.rows, s.limit, s.done = []*Batch{batch(fieldNames(table.Schema())...)}, 10, 62, true
	defer s.Close()
	back := c.make()
	defer back.Close()
	pass(s, back)
	require.EqualValues(t, []any{int64(62), true, table.Chunks()[0].Len()}, []any{back.limit, back.done, back.rows})
	require.Same(t, c.schema, back.held[0].Schema())

	made, err := g.Make(t.Context())
	require.NoError(t, err)
	full := made.(*groupState)
	full.raw, full.rawRows, full.most, full.whole = []*Batch{batch("k", "v"), batch("k", "v")}, 20, 77, true
	defer full.Close()
	made, err = g.Make(t.Context())
	require.NoError(t, err)
	again := made.(*groupState)
	defer again.Close()
	pass(full, again)
	require.EqualValues(t, []any{int64(77), true, exec.RowsOf(full.raw)}, []any{again.most, again.whole, again.rawRows})
	require.Empty(t, again.merged.held)
	require.Same(t, g.rows, again.raw[0].Schema())
}
