package dataloader

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// StandardScale is columns of numbers less their mean, divided by their standard
// deviation (of the population), for Derive and DeriveBeside, as float64. Both are those of
// the rows of the query, which is read once; nulls do not count and stay null. A column whose
// values are all the same is only shifted. No value that is not null, and a mean or deviation
// that is no finite number, is an ErrValue.
//
// The numbers are part of the expressions and so of State.Plan: rows that are added
// to the data make another plan.
func StandardScale(ctx context.Context, rows *table.Query, columns ...string) ([]Column, error) {
	const call = "dataloader.StandardScale"
	var all []table.Aggregate
	for _, name := range columns {
		x := expr.Col(name).Cast(arrow.PrimitiveTypes.Float64)
		all = append(all, table.Mean(x).As("mean "+name), table.Std(x).As("std "+name))
	}
	if len(all) == 0 {
		return nil, device.Errorf(device.ErrMismatch, "", call, "there is no column")
	}
	t, err := rows.Agg(all...).Collect(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	var scaled []Column
	for _, name := range columns {
		var fitted [2]float64
		for i, of := range []string{"mean ", "std "} {
			v, err := t.Value(0, of+name)
			if err != nil {
				return nil, err
			}
			if fitted[i] = math.NaN(); v.Valid() {
				fitted[i] = v.Float64()
			}
			if math.IsNaN(fitted[i]) || math.IsInf(fitted[i], 0) {
				return nil, device.Errorf(device.ErrValue, "", call, "column %q: its %sis %v", name, of, fitted[i])
			}
		}
		if fitted[1] == 0 {
			fitted[1] = 1
		}
		scaled = append(scaled, Column{name, expr.Col(name).Cast(arrow.PrimitiveTypes.Float64).Sub(fitted[0]).Div(fitted[1])})
	}
	return scaled, nil
}

// CategoriesOf are the values of a column of texts, bytes, dictionaries of them, whole numbers or
// bools of a query over the source's rows, each once, in the order in which they come first:
// what Categories and OneHot are given. Nulls are none of them.
func CategoriesOf(ctx context.Context, rows *table.Query, column string) ([]string, error) {
	held, err := columnOf(ctx, rows.Distinct(column), column)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	if typ := held.Schema().Field(0).Type; !isBytes(typ) && typ.ID() != arrow.BOOL && !arrow.IsInteger(typ.ID()) {
		return nil, device.Errorf(device.ErrUnsupported, "", "dataloader.CategoriesOf", "column %q is of type %v: categories are texts, whole numbers or bools", column, typ)
	}
	var values []string
	for _, b := range held.Chunks() {
		c := b.Column(0)
		text := textOf(c)
		for i := range c.Len() {
			if !c.IsNull(i) {
				values = append(values, string(text(i)))
			}
		}
	}
	return values, nil
}
