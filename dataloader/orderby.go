package dataloader

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// WeightedBy is order.Weighted by a column of numbers of a query over the source's
// rows, which runs on the host: table.From of a table, table.Scan of files. draws
// is how many rows an epoch has; 0 means as many as there are. A null is an
// ErrMismatch that names its row.
func WeightedBy(ctx context.Context, rows *table.Query, column string, draws int64, seed uint64) (order.Order, error) {
	held, err := columnOf(ctx, rows, column)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if typ := held.Schema().Field(0).Type; numberOf(typ) == nil {
		return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q is of type %v: weights are numbers", column, typ)
	}
	t, err := held.Query().Select(expr.Col(column).Cast(arrow.PrimitiveTypes.Float64).As(column)).Collect(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	weights := make([]float64, 0, t.NumRows())
	for _, b := range t.Chunks() {
		c := b.Column(0)
		for i, x := range memory.Values[float64](c) {
			if c.IsNull(int64(i)) {
				return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "the weight of row %d, in column %q, is null", len(weights), column)
			}
			weights = append(weights, x)
		}
	}
	if draws == 0 {
		draws = int64(len(weights))
	}
	return order.Weighted(weights, draws, seed)
}

// StratifiedBy is order.Stratified by a column of texts, bytes, dictionaries of
// them, whole numbers or bools of a query over the source's rows, as WeightedBy
// has it. Null is a class of its own.
func StratifiedBy(ctx context.Context, rows *table.Query, column string, seed uint64) (order.Order, error) {
	class, err := classesOf(ctx, rows, column)
	if err != nil {
		return nil, err
	}
	return order.Stratified(class, seed), nil
}

// GroupedBy is order.Grouped by a column, as StratifiedBy has it.
func GroupedBy(ctx context.Context, rows *table.Query, column string, seed uint64) (order.Order, error) {
	group, err := classesOf(ctx, rows, column)
	if err != nil {
		return nil, err
	}
	return order.Grouped(group, seed), nil
}

// columnOf is one column of a query, on the host.
func columnOf(ctx context.Context, rows *table.Query, column string) (*table.Table, error) {
	t, err := rows.Select(column).Collect(ctx)
	if err != nil {
		return nil, err
	}
	if !hostAddresses(t) {
		place := t.Backend().Device.Place()
		t.Release()
		return nil, device.Errorf(device.ErrUnsupported, place.String(), "dataloader", "the table is in a device's memory: bring it to the host with Table.To")
	}
	return t, nil
}

// classesOf numbers the values of a column in the order in which they appear
// first.
func classesOf(ctx context.Context, rows *table.Query, column string) ([]int64, error) {
	t, err := columnOf(ctx, rows, column)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	if typ := t.Schema().Field(0).Type; !isBytes(typ) && typ.ID() != arrow.BOOL && !arrow.IsInteger(typ.ID()) {
		return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q is of type %v: classes are texts, whole numbers or bools", column, typ)
	}
	numbers, class := map[string]int64{}, make([]int64, 0, t.NumRows())
	for _, b := range t.Chunks() {
		c := b.Column(0)
		text := textOf(c)
		for i := range c.Len() {
			if i%streamPiece == 0 {
				if err := device.Canceled(ctx, "", "dataloader"); err != nil {
					return nil, err
				}
			}
			if c.IsNull(i) {
				class = append(class, -1)
				continue
			}
			value := text(i)
			n, known := numbers[string(value)]
			if !known {
				n = int64(len(numbers))
				numbers[string(value)] = n
			}
			class = append(class, n)
		}
	}
	return class, nil
}
