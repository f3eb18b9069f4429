package dataloader

import (
	"context"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// WeightedBy is order.Weighted by a column of numbers of a query over the source's
// rows: table.From of a table, table.Scan of files. It runs where the table is; of one
// in a device's memory the column alone is copied to the host. draws
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
	weights := make([]float64, held.NumRows())
	if err := readWeights(ctx, held, column, weights); err != nil {
		return nil, err
	}
	if draws == 0 {
		draws = int64(len(weights))
	}
	return order.Weighted(weights, draws, seed)
}

// readWeights reads the one column of a host table.
func readWeights(ctx context.Context, held *table.Table, column string, weights []float64) error {
	r, err := newTableReader(ctx, held, memory.Heap, []Part{{Columns: []int{0}, Type: arrow.PrimitiveTypes.Float64, Mask: true}}, 0, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	p, rows, valid := &r.parts[0].Part, make([]int64, scanRows), make([]byte, scanRows)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(weights))), 8*len(weights))
	for at := int64(0); at < r.rows; at += scanRows {
		n := min(scanRows, r.rows-at)
		for i := range rows[:n] {
			rows[i] = at + int64(i)
		}
		if err := r.Read(ctx, rows[:n], []Tensor{p.over(n, bytes[8*at:], valid, nil)}); err != nil {
			return err
		}
		if i := slices.Index(valid[:n], 0); i >= 0 {
			return device.Errorf(device.ErrMismatch, "", "dataloader", "the weight of row %d, in column %q, is null", at+int64(i), column)
		}
	}
	return nil
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
	defer t.Release()
	return addressable(ctx, t)
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
