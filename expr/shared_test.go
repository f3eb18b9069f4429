package expr

import (
	"context"
	"testing"
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
		if out[0].Len() != int64(n) || out[1].NullCount() != columns[2].NullCount() {
			t.Errorf("%d rows: %d values, %d nulls", n, out[0].Len(), out[1].NullCount())
		}
		for _, c := range out {
			c.Release()
		}
	}
}
