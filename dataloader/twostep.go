package dataloader

import (
	"context"

	"github.com/volley-go/volley/table"
)

// twoStep is a Reader that makes tensors by expressions or functions of what it reads: one
// goroutine reads, and another may evaluate. Where sources nest, the first step reads the
// innermost, and the second evaluates them all, one after the other. Read takes both steps.
type twoStep interface {
	Reader
	// gather reads what rows are made of. Of tensors it may write some already, and the
	// second step the others; they and rows stay as they are until then. It gives nil where
	// no second step is needed.
	gather(ctx context.Context, ticket int64, rows []int64, to []Tensor) (gathered, error)
}

// gathered is what was read for a batch. It is evaluated or dropped, once.
type gathered interface {
	// evaluate makes the tensors, and says how many rows they have. room gives those of a
	// number of rows, where it is not the number that was asked for. Errors are about
	// positions among the rows that were asked for.
	evaluate(ctx context.Context, room func(n int64) []Tensor) (int64, error)
	drop()
}

// twoStepOf is a reader as one of two steps, nil where all is done in one.
func twoStepOf(r Reader) twoStep {
	switch r := r.(type) {
	case *derivedReader:
		return r
	case *mapReader:
		return r
	case *windowReader:
		for _, s := range r.stretches {
			if twoStepOf(s.reader) != nil {
				return r
			}
		}
	}
	return nil
}

// firstStep reads, in whole where there is one step only: it gives nil then.
func firstStep(ctx context.Context, r Reader, ticket int64, rows []int64, to []Tensor) (gathered, error) {
	if two := twoStepOf(r); two != nil {
		return two.gather(ctx, ticket, rows, to)
	}
	return nil, r.Read(ctx, rows, to)
}

// bothSteps reads and evaluates.
func bothSteps(ctx context.Context, r twoStep, ticket int64, rows []int64, to []Tensor) error {
	g, err := r.gather(ctx, ticket, rows, to)
	if err != nil || g == nil {
		return err
	}
	_, err = g.evaluate(ctx, func(int64) []Tensor { return to })
	return err
}

// gatheredTable is the same of a table.
type gatheredTable interface {
	// table is a reference of the caller's.
	table(ctx context.Context) (*table.Table, error)
	drop()
}

// twoStepTables are rowTables that evaluate.
type twoStepTables interface {
	gatherTable(ctx context.Context, ticket int64, rows []int64) (gatheredTable, error)
}

// firstStepOfTable reads rows as a table, in whole where there is one step only.
func firstStepOfTable(ctx context.Context, r rowTables, ticket int64, rows []int64) (gatheredTable, error) {
	if two, ok := r.(twoStepTables); ok {
		return two.gatherTable(ctx, ticket, rows)
	}
	t, err := r.table(ctx, ticket, rows)
	if err != nil {
		return nil, err
	}
	return wholeTable{t}, nil
}

// bothStepsOfTable reads and evaluates.
func bothStepsOfTable(ctx context.Context, r twoStepTables, ticket int64, rows []int64) (*table.Table, error) {
	g, err := r.gatherTable(ctx, ticket, rows)
	if err != nil {
		return nil, err
	}
	return g.table(ctx)
}

// wholeTable is a table that needs no second step.
type wholeTable struct{ t *table.Table }

func (w wholeTable) table(context.Context) (*table.Table, error) { return w.t, nil }

func (w wholeTable) drop() { w.t.Release() }
