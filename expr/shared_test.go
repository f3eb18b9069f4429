package expr

import (
	"context"
	"testing"

	"github.com/volley-go/volley/memory"
)

// TestResultsShareSteps: a column that is a result and an operand, and a result
// asked for twice, are references of their own.
func TestResultsShareSteps(t *testing.T) {
	b, s := testBackend(t)
	for _, n := range []int{40, run + 40} {
		_, columns := randomRows(t, b, n, 5)
		bound, err := BindAll(rowSchema, Col("f"), Col("f").Gt(10), Col("f").Gt(10), Col("f").Add(1).Mul(2))
		if err != nil {
			t.Fatal(err)
		}
		out, err := bound.EvalAll(context.Background(), b, s, int64(n), columns)
		if err != nil {
			t.Fatal(err)
		}
		nulls := func(c *memory.Column) (n int) {
			for _, v := range scalars(t, b, s, c) {
				if !v.Valid() {
					n++
				}
			}
			return n
		}
		if got, want := nulls(out[1]), nulls(columns[2]); out[0].Len() != int64(n) || got != want {
			t.Errorf("%d rows: %d values, %d nulls, not %d", n, out[0].Len(), got, want)
		}
		for _, c := range out {
			c.Release()
		}
	}
}
