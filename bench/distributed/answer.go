package distributed

import (
	"context"
	"errors"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/distributed"
	"github.com/volley-go/volley/table"
)

// differs says how an answer is not the one that is wanted, "" where it is: the same columns and rows, in the same order where that is part of it.
func differs(ctx context.Context, want, got *table.Table, ordered bool) (text string, err error) {
	if want.NumRows() != got.NumRows() {
		return fmt.Sprintf("%d rows in place of %d", got.NumRows(), want.NumRows()), nil
	}
	if !want.Schema().Equal(got.Schema()) {
		return fmt.Sprintf("columns %s in place of %s", columnsOf(got), columnsOf(want)), nil
	}
	comm, err := collective.New(inproc.New(1)[0], collective.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, comm.Close()) }()
	w, err := distributed.New(ctx, comm, want)
	if err != nil {
		return "", err
	}
	defer w.Release()
	g, err := distributed.New(ctx, comm, got)
	if err != nil {
		return "", err
	}
	defer g.Release()
	compare, text := w.EqualRows, "other rows"
	if ordered {
		compare, text = w.Equal, "other rows, or in another order"
	}
	same, err := compare(ctx, g)
	if err != nil || same {
		return "", err
	}
	return text, nil
}

// columnsOf are the names and types of a table's columns.
func columnsOf(t *table.Table) (text string) {
	for i, f := range t.Schema().Fields() {
		if i > 0 {
			text += ", "
		}
		text += f.Name + " " + f.Type.String()
	}
	return text
}
