package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// overflowOf is the sum or product that an error says does not fit; nil for other
// errors.
func overflowOf(err error) *kernels.OverflowError {
	var over *kernels.OverflowError
	errors.As(err, &over)
	return over
}

// named puts the aggregation to the error of one that does not fit; of is the
// aggregation of each of the kernel's aggregates.
func (o *grouping) named(err error, of func(at int) Aggregate) error {
	if over := overflowOf(err); over != nil {
		return fmt.Errorf("%s: %w", of(over.At).call(), err)
	}
	return err
}

// aggregateOf is the aggregation that a part belongs to.
func (o *grouping) aggregateOf(part int) Aggregate { return o.node.aggs[o.parts[part].agg] }

// lacking names what the device has not got: a key, or an aggregation of a kernel's.
func (o *grouping) lacking(err error, keys int, of func(at int) Aggregate) error {
	return kernels.Lacking(err, func(l *kernels.LackError) string {
		at := l.Column - keys
		switch {
		case len(l.Types) == 0:
			return "grouping"
		case at >= 0:
			a := of(at)
			return fmt.Sprintf("column %q: %s of %s", nameOf(a.arg), a.op, expr.TypeName(l.Types[0]))
		}
		name := "a mask"
		if by := o.told(); keys == len(o.node.keys) && keys == len(by) {
			name = o.node.keys[l.Column].name
		} else if masks := keys - len(by); l.Column >= masks {
			name = o.node.keys[by[l.Column-masks]].name
		}
		return fmt.Sprintf("column %q: a key of %s", name, expr.TypeName(l.Types[0]))
	})
}

// rowwise is aggregate for rows of which a sum does not fit, though with those of
// other batches it may: every row is a part by itself.
func (o *grouping) rowwise(ctx context.Context, b *Batch) (*Batch, error) {
	schema, columns := o.partial, b.Columns()
	keys := len(o.node.keys)
	numbers := make([]kernels.Scalar, b.Len())
	for i := range numbers {
		numbers[i] = kernels.Int(arrow.PrimitiveTypes.Uint64, int64(i))
	}
	number, err := o.r.backend.FromScalars(ctx, o.r.stream, arrow.PrimitiveTypes.Uint64, numbers)
	if err != nil {
		return nil, err
	}
	defer number.Release()
	fields := schema.Fields()
	row := arrow.Field{Name: "row", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}
	wider := arrow.NewSchema(append(append(fields[:keys:keys], row), fields[keys:]...), nil)
	out, err := o.parted(ctx, wider, b.Len(), append(columns[:keys:keys], number), columns)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	var kept []*memory.Column
	for i, c := range out.Columns() {
		if i != keys {
			kept = append(kept, c.Retain())
		}
	}
	return NewBatch(schema, out.Len(), kept)
}
