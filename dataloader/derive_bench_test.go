package dataloader

import (
	"context"
	"testing"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// BenchmarkEvaluated is one epoch of a million rows of 32 float32 in batches of 4096, of
// which four columns are expressions, or all go through a function that keeps them.
func BenchmarkEvaluated(b *testing.B) {
	backend, _ := onHost(b)
	t := numbers(b, backend, benchRows, benchColumns)
	derived, err := DeriveBeside(backend, FromTable(t), Column{"aa", expr.Col("aa").Sub(3).Div(7)}, Column{"ab", expr.Col("ab").Mul(expr.Col("ac"))},
		Column{"y", expr.Col("ad").Add(1)}, Column{"z", expr.Col("ae").Sub(expr.Col("af"))})
	if err != nil {
		b.Fatal(err)
	}
	kept := mapOver(b, backend, FromTable(t), BatchMap{Name: "kept", Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }})
	for name, s := range map[string]Source{"derived": derived, "mapped": kept} {
		b.Run("by="+name, func(b *testing.B) { epoch(b, s, Options{Batch: benchBatch, Shuffle: true, Seed: 7}) })
	}
}
