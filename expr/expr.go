package expr

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// Kind is the kind of a node.
type Kind int

// The kinds of node.
const (
	KindInvalid Kind = iota // something that could not be built: see Err
	KindColumn              // Name
	KindLiteral             // Value
	KindCall                // Op of Args
	KindCast                // Args[0] as Type
	KindAlias               // Args[0] named Name
)

// Pos is where in its text an expression stands. Lines and columns count from
// 1, columns in characters; the zero Pos is that of an expression from the
// builder.
type Pos struct{ Line, Column int }

// String is "line 1, column 7", or nothing for the zero Pos.
func (p Pos) String() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d, column %d", p.Line, p.Column)
}

// Expr is an expression: an immutable tree whose types are found by Bind. A
// nil *Expr is no expression, and an error wherever one is needed.
type Expr struct {
	kind  Kind
	op    Op
	name  string
	value kernels.Scalar
	typ   arrow.DataType
	args  []*Expr
	pos   Pos
	err   error
	depth int // of the tree below and with the node
	size  int // its nodes, one with several parents counted for each
}

// Kind is the kind of the node.
func (e *Expr) Kind() Kind {
	if e == nil {
		return KindInvalid
	}
	return e.kind
}

// Op is the operation of a KindCall.
func (e *Expr) Op() Op { return e.op }

// Name is the name of a KindColumn or KindAlias, and of the function of an
// OpApply.
func (e *Expr) Name() string { return e.name }

// Value is the value of a KindLiteral, in the type it was written in.
func (e *Expr) Value() kernels.Scalar { return e.value }

// Type is the target of a KindCast, nil for other nodes.
func (e *Expr) Type() arrow.DataType { return e.typ }

// Args are the operands, to be read and not changed.
func (e *Expr) Args() []*Expr { return e.args }

// Pos is where the node stands in the text that it was parsed from.
func (e *Expr) Pos() Pos { return e.pos }

// Err is the first error made while building the expression, or nil. Bind
// returns it too.
func (e *Expr) Err() error {
	if e == nil {
		return fmt.Errorf("%w: no expression given", errSyntax)
	}
	if e.err != nil {
		return e.err
	}
	for _, a := range e.args {
		if err := a.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Equal reports whether two expressions are the same tree, wherever their
// texts stood.
func Equal(a, b *Expr) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.kind != b.kind || a.op != b.op || a.name != b.name || len(a.args) != len(b.args) {
		return false
	}
	if (a.typ == nil) != (b.typ == nil) || a.typ != nil && !arrow.TypeEqual(a.typ, b.typ) {
		return false
	}
	if a.kind == KindLiteral && (!arrow.TypeEqual(a.value.Type(), b.value.Type()) || a.value.String() != b.value.String()) {
		return false
	}
	return slices.EqualFunc(a.args, b.args, Equal)
}

// Columns are the names of the columns that the expressions read, each once,
// in order of first appearance.
func Columns(all ...*Expr) []string {
	var names []string
	seen := map[string]bool{}
	var walk func(*Expr)
	walk = func(e *Expr) {
		if e == nil {
			return
		}
		if e.kind == KindColumn && !seen[e.name] {
			seen[e.name] = true
			names = append(names, e.name)
		}
		for _, a := range e.args {
			walk(a)
		}
	}
	for _, e := range all {
		walk(e)
	}
	return names
}

// Conjuncts are the parts of e that And joins, from left to right: e itself
// where it is no And, none for nil.
func Conjuncts(e *Expr) []*Expr {
	switch {
	case e == nil:
		return nil
	case e.kind == KindCall && e.op == OpAnd:
		return append(Conjuncts(e.args[0]), Conjuncts(e.args[1])...)
	default:
		return []*Expr{e}
	}
}

// AllOf joins expressions by And, from left to right: nil for none.
func AllOf(parts ...*Expr) *Expr {
	var all *Expr
	for _, p := range parts {
		if all == nil {
			all = p
		} else {
			all = call(OpAnd, all, p)
		}
	}
	return all
}

// Comparison takes apart an expression of the form column op literal, or
// literal op column, which it turns round. ok is false for any other.
func (e *Expr) Comparison() (column string, op kernels.CompareOp, value kernels.Scalar, ok bool) {
	if e.Kind() != KindCall || e.op < OpEq || e.op > OpGe {
		return "", 0, kernels.Scalar{}, false
	}
	op = kernels.CompareOp(e.op - OpEq)
	a, b := e.args[0], e.args[1]
	if a.kind == KindLiteral {
		a, b, op = b, a, turned[op]
	}
	if a.kind != KindColumn || b.kind != KindLiteral {
		return "", 0, kernels.Scalar{}, false
	}
	return a.name, op, b.value, true
}

// turned is each comparison with its sides exchanged.
var turned = [...]kernels.CompareOp{
	kernels.Equal: kernels.Equal, kernels.NotEqual: kernels.NotEqual,
	kernels.Less: kernels.Greater, kernels.LessEqual: kernels.GreaterEqual,
	kernels.Greater: kernels.Less, kernels.GreaterEqual: kernels.LessEqual,
}

// Rewrite gives e with each column f knows replaced by what f returns; f
// returns nil to leave a column as it is.
func Rewrite(e *Expr, f func(name string) *Expr) *Expr {
	if e == nil || e.err != nil {
		return e
	}
	if e.kind == KindColumn {
		if to := f(e.name); to != nil {
			return to
		}
		return e
	}
	args := make([]*Expr, len(e.args))
	same := true
	for i, a := range e.args {
		args[i] = Rewrite(a, f)
		same = same && args[i] == a
	}
	if same {
		return e
	}
	out := *e
	out.args = args
	return out.sized()
}
