package table

import "github.com/volley-go/volley/expr"

// Order is one key of Sort. It is a value: NullsFirst gives a changed copy.
type Order struct {
	key        *expr.Expr
	descending bool
	nullsFirst bool
	err        error
}

// Asc orders by a column, given by name, or an expression, from the least on,
// nulls last and NaNs just before them.
func Asc(key any) Order {
	e, err := columnOrExpr(key)
	return Order{key: e, err: err}
}

// Desc orders from the greatest on; nulls are last too.
func Desc(key any) Order {
	o := Asc(key)
	o.descending = true
	return o
}

// NullsFirst puts nulls, and NaNs after them, before all values.
func (o Order) NullsFirst() Order {
	o.nullsFirst = true
	return o
}

// String is the key and how it orders, as Explain has it.
func (o Order) String() string {
	if o.err != nil {
		return o.err.Error()
	}
	return o.text()
}

// Key is what is ordered by, and how; an error where Asc or Desc was given neither a name nor
// an expression.
func (o Order) Key() (key *expr.Expr, descending, nullsFirst bool, err error) {
	return o.key, o.descending, o.nullsFirst, o.err
}

func (o Order) text() string {
	s := o.key.String()
	if o.descending {
		s += " desc"
	}
	if o.nullsFirst {
		s += " nulls first"
	}
	return s
}
