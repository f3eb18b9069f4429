package expr

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// node is one step of a bound expression. Steps stand in an order in which
// each comes after its operands; equal ones are one step.
type node struct {
	kind   Kind // KindColumn, KindLiteral, KindCall or KindCast
	op     Op
	column int // in the schema
	value  kernels.Scalar
	typ    arrow.DataType
	args   []int
	set    []kernels.Scalar // of an "in": what is looked for
	null   bool             // of OpAmong: null is among the values
	wrap   bool             // of a cast: values that do not fit are rounded
	fn     *kernels.Function
	uses   int   // by other steps, and as results
	of     *Expr // what it was bound for, which errors name
}

// Bound is one or more expressions with their types found, for columns of one
// schema. It is immutable and may be evaluated from several goroutines.
type Bound struct {
	schema *arrow.Schema
	nodes  []node
	roots  []int
	reads  []int
}

// Bind finds the types of the expression over columns of the schema. Its
// errors are device.ErrMismatch, or device.ErrUnsupported where an operation is
// not defined for a type; they name the column, its type and the place in the
// text, and for an unknown column the names that are like it.
func (e *Expr) Bind(schema *arrow.Schema) (*Bound, error) { return BindAll(schema, e) }

// BindAll binds several expressions together, so that what occurs in more than
// one of them is computed once.
func BindAll(schema *arrow.Schema, all ...*Expr) (*Bound, error) {
	b := &binder{bound: &Bound{schema: schema}, seen: map[string]int{}, types: map[arrow.DataType]string{}}
	for _, e := range all {
		if err := e.Err(); err != nil {
			return nil, err
		}
		n, err := b.bind(e)
		if err != nil {
			return nil, err
		}
		b.bound.roots = append(b.bound.roots, n)
	}
	b.bound.finish()
	return b.bound, nil
}

// Len is the number of results.
func (b *Bound) Len() int { return len(b.roots) }

// Type is the type of the first result.
func (b *Bound) Type() arrow.DataType { return b.TypeOf(0) }

// TypeOf is the type of result i.
func (b *Bound) TypeOf(i int) arrow.DataType { return b.nodes[b.roots[i]].typ }

// Same reports whether results i and j are one: of expressions that compute the same.
func (b *Bound) Same(i, j int) bool { return b.roots[i] == b.roots[j] }

// Schema is what the expression was bound to.
func (b *Bound) Schema() *arrow.Schema { return b.schema }

// Reads are the positions in the schema of the columns that are read, rising.
func (b *Bound) Reads() []int { return b.reads }

// ColumnOf is the position in the schema of the column that result i is, ok
// only where it is a column as it stands.
func (b *Bound) ColumnOf(i int) (column int, ok bool) {
	n := b.nodes[b.roots[i]]
	return n.column, n.kind == KindColumn
}

// finish drops steps that folding left without use and counts the uses.
func (b *Bound) finish() {
	live := make([]bool, len(b.nodes))
	for _, r := range b.roots {
		live[r] = true
	}
	for i := len(b.nodes) - 1; i >= 0; i-- {
		if live[i] {
			for _, a := range b.nodes[i].args {
				live[a] = true
			}
		}
	}
	moved := make([]int, len(b.nodes))
	kept := b.nodes[:0:0]
	for i, n := range b.nodes {
		if !live[i] {
			continue
		}
		moved[i] = len(kept)
		args := make([]int, len(n.args))
		for k, a := range n.args {
			args[k] = moved[a]
			kept[args[k]].uses++
		}
		n.args = args
		kept = append(kept, n)
	}
	b.nodes = kept
	for i, r := range b.roots {
		b.roots[i] = moved[r]
		b.nodes[b.roots[i]].uses++
	}
	for _, n := range b.nodes { // a column is one step
		if n.kind == KindColumn {
			b.reads = append(b.reads, n.column)
		}
	}
	slices.Sort(b.reads)
}

// binder builds the steps of a Bound.
type binder struct {
	bound *Bound
	seen  map[string]int            // steps by what they compute
	types map[arrow.DataType]string // their texts
	key   []byte
}

// add appends a step, or finds the equal one that there is.
func (b *binder) add(n node) int {
	b.key = b.appendKey(b.key[:0], n)
	if i, ok := b.seen[string(b.key)]; ok {
		return i
	}
	b.bound.nodes = append(b.bound.nodes, n)
	b.seen[string(b.key)] = len(b.bound.nodes) - 1
	return len(b.bound.nodes) - 1
}

// appendKey is a text that two steps share if they compute the same.
func (b *binder) appendKey(key []byte, n node) []byte {
	key = append(key, byte(n.kind), byte(n.op), byte(int(n.op)>>8))
	key = strconv.AppendInt(key, int64(n.column), 10)
	key = append(strconv.AppendBool(append(key, ' '), n.wrap || n.null), ' ')
	for _, a := range n.args {
		key = append(strconv.AppendInt(key, int64(a), 10), ',')
	}
	key = append(append(key, b.typeText(n.typ)...), 0)
	switch {
	case n.kind == KindLiteral:
		key = appendValue(key, n.value)
	case n.fn != nil:
		key = append(key, n.fn.Name()...)
	}
	for _, v := range n.set {
		key = appendValue(key, v)
	}
	return key
}

// typeText is the text of a type, which arrow-go makes anew each time.
func (b *binder) typeText(t arrow.DataType) string {
	if !reflect.TypeOf(t).Comparable() {
		return t.String()
	}
	s, ok := b.types[t]
	if !ok {
		s = t.String()
		b.types[t] = s
	}
	return s
}

// appendValue adds a value, of a type that is known, so that where it ends is
// known too.
func appendValue(key []byte, v kernels.Scalar) []byte {
	if !v.Valid() {
		return append(key, 0)
	}
	key = append(key, 1)
	switch id := v.Type().ID(); {
	case kernels.IntegerTypes.Has(id) || kernels.TemporalTypes.Has(id):
		return binary.LittleEndian.AppendUint64(key, uint64(v.Int64()))
	case id == arrow.FLOAT64:
		return binary.LittleEndian.AppendUint64(key, math.Float64bits(v.Float64()))
	case id == arrow.DECIMAL128:
		n := v.Decimal()
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(key, uint64(n.HighBits())), n.LowBits())
	case kernels.BinaryTypes.Has(id):
		key = binary.LittleEndian.AppendUint64(key, uint64(len(v.Text())))
		return append(key, v.Text()...)
	}
	text := v.String()
	key = binary.LittleEndian.AppendUint64(key, uint64(len(text)))
	return append(key, text...)
}

func (b *binder) typ(i int) arrow.DataType { return b.bound.nodes[i].typ }

// constant is the value of step i where it is a literal.
func (b *binder) constant(i int) (kernels.Scalar, bool) {
	n := b.bound.nodes[i]
	return n.value, n.kind == KindLiteral
}

func (b *binder) literal(v kernels.Scalar) int {
	return b.add(node{kind: KindLiteral, value: v, typ: v.Type()})
}

// call adds a call, folded where its operands are literals.
func (b *binder) call(op Op, t arrow.DataType, args ...int) int {
	if v, ok := b.fold(op, t, args); ok {
		return b.literal(v)
	}
	if i, ok := b.simplify(op, args); ok {
		return i
	}
	return b.add(node{kind: KindCall, op: op, typ: t, args: args})
}

// cast adds a cast of step i to t, if it is of another type.
func (b *binder) cast(i int, t arrow.DataType) int {
	if arrow.TypeEqual(b.typ(i), t) {
		return i
	}
	if v, ok := b.constant(i); ok {
		if to, err := kernels.CastScalar(v, t, kernels.CastOptions{}); err == nil && arrow.TypeEqual(to.Type(), t) {
			return b.literal(to)
		}
	}
	return b.add(node{kind: KindCast, typ: t, args: []int{i}})
}

// shown is an operand in an error: its text and its type.
func shown(e *Expr, t arrow.DataType) string {
	for e.kind == KindAlias {
		e = e.args[0]
	}
	if e.kind == KindColumn {
		return fmt.Sprintf("column %q of type %s", e.name, TypeName(t))
	}
	return fmt.Sprintf("%s of type %s", e, TypeName(t))
}

// at is " at line 1, column 7" for what was parsed.
func at(e *Expr) string {
	if e.pos.Line == 0 {
		return ""
	}
	return " at " + e.pos.String()
}

// UnknownColumn is the error for a name that is none of names: it shows the
// names that are like it, or all of them.
func UnknownColumn(name string, names []string) error {
	if near := nearText(name, names); near != "" {
		return fmt.Errorf("%w %q%s", errColumn, name, near)
	}
	if len(names) > 20 {
		names = append(names[:20:20], "…")
	}
	return fmt.Errorf("%w %q; there are %s", errColumn, name, strings.Join(names, ", "))
}
