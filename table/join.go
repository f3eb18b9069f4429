package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// joinNode matches rows of two inputs. The right one is built, the left one
// streams past it.
type joinNode struct {
	left, right node
	kind        Kind
	joinOptions
	keyTypes []arrow.DataType // what both sides of each key are cast to
	streams  bool             // few rows are needed, and left ones after these are not asked for
	hands    []*handed        // keys that it hands down to the left side
	scope    []joinOutput     // the columns that where reads
	scoped   *arrow.Schema    // of these
	outputs  []joinOutput
	out      *arrow.Schema
}

// joinOutput is where a column of the result comes from.
type joinOutput struct {
	name  string
	from  joinSides // both: a key of both
	left  string    // column of the left side, where it is from that
	right string    // column of the right side
	key   int       // number of the key that it is, where it is from both
}

// joinSides are the sides of a join that a column is from. A name does not say it: that of a column may be empty.
type joinSides uint8

const (
	fromLeft joinSides = 1 << iota
	fromRight
)

func leftOutput(name, column string) joinOutput {
	return joinOutput{name: name, from: fromLeft, left: column}
}

func (o joinOutput) onLeft() bool  { return o.from&fromLeft != 0 }
func (o joinOutput) onRight() bool { return o.from&fromRight != 0 }

func (n *joinNode) resolve(ctx context.Context) (node, error) {
	left, err := n.left.resolve(ctx)
	if err != nil {
		return nil, err
	}
	right, err := n.right.resolve(ctx)
	if err != nil {
		return nil, err
	}
	out := &joinNode{left: left, right: right, kind: n.kind, joinOptions: n.joinOptions}
	for _, k := range n.keys {
		t, err := keyType(left.schema(), right.schema(), k)
		if err != nil {
			return nil, wrapError("join", err)
		}
		out.keyTypes = append(out.keyTypes, t)
	}
	if err := out.name(); err != nil {
		return nil, wrapError("join", err)
	}
	if out.where == nil {
		return out, nil
	}
	if err := out.resolveWhere(); err != nil {
		return nil, wrapError("join", err)
	}
	if n.kind == Inner { // pairs that do not meet it are rows that a filter takes away
		cond := out.where
		out.where, out.scope, out.scoped = nil, nil, nil
		return &filterNode{in: out, predicate: cond, out: out.out}, nil
	}
	return out, nil
}

// keyType is the type in which two key columns are compared.
func keyType(left, right *arrow.Schema, k keyPair) (arrow.DataType, error) {
	var types [2]arrow.DataType
	for i, side := range []struct {
		schema *arrow.Schema
		name   string
		which  string
	}{{left, k.left, "left"}, {right, k.right, "right"}} {
		at := side.schema.FieldIndices(side.name)
		if len(at) == 0 {
			return nil, fmt.Errorf("the %s side: %w", side.which, expr.UnknownColumn(side.name, fieldNames(side.schema)))
		}
		types[i] = side.schema.Field(at[0]).Type
	}
	t, ok := expr.KeyType(types[0], types[1])
	if !ok {
		return nil, fmt.Errorf("%w: column %q of type %s on the left cannot match column %q of type %s on the right",
			errMismatch, k.left, expr.TypeName(types[0]), k.right, expr.TypeName(types[1]))
	}
	return t, nil
}

// name finds the columns of the result.
func (n *joinNode) name() error {
	outputs, fields, err := n.joined(n.kind)
	n.outputs, n.out = outputs, arrow.NewSchema(fields, nil)
	return err
}

// joined are the columns of a kind of join of both sides: those of the left side,
// then those of the right side, but of keys of one name only one.
func (n *joinNode) joined(kind Kind) (outputs []joinOutput, fields []arrow.Field, err error) {
	taken := names{}
	shared := map[string]int{}
	for i, k := range n.keys {
		if k.left == k.right {
			shared[k.left] = i
		}
	}
	add := func(o joinOutput, f arrow.Field) {
		taken[o.name] = true
		outputs = append(outputs, o)
		fields = append(fields, arrow.Field{Name: o.name, Type: f.Type, Nullable: true, Metadata: f.Metadata})
	}
	for _, f := range n.left.schema().Fields() {
		o := leftOutput(f.Name, f.Name)
		if k, ok := shared[f.Name]; ok && (kind == Right || kind == Full) {
			o.from, o.right, o.key = fromLeft|fromRight, f.Name, k
			f.Type = n.keyTypes[k]
		}
		add(o, f)
	}
	for _, f := range n.right.schema().Fields() {
		if _, ok := shared[f.Name]; ok || kind.leftOnly() {
			continue
		}
		o := joinOutput{name: f.Name, from: fromRight, right: f.Name}
		if taken[o.name] {
			o.name += n.suffix
		}
		if taken[o.name] {
			return nil, nil, fmt.Errorf("%w: two columns would be named %q: give another suffix than %q", errMismatch, o.name, n.suffix)
		}
		add(o, f)
	}
	return outputs, fields, nil
}

func (n *joinNode) schema() *arrow.Schema { return n.out }
func (n *joinNode) inputs() []node        { return []node{n.left, n.right} }

func (n *joinNode) withInputs(in []node) node {
	out := *n
	out.left, out.right = in[0], in[1]
	return &out
}

func (n *joinNode) text() string {
	s := n.kind.String() + " join"
	for i, k := range n.keys {
		sep := " on "
		if i > 0 {
			sep = " and "
		}
		s += sep + expr.Col(k.left).Eq(expr.Col(k.right)).String()
	}
	if n.where != nil {
		s += " where " + n.where.String()
	}
	return s + n.handsText() + " columns [" + strings.Join(fieldNames(n.out), ", ") + "]"
}

// push sends conditions to the side whose columns they read, where rows that
// fail them would be in no result row that passes.
func (n *joinNode) push(conds []*expr.Expr) node {
	left, right := names{}, names{}
	leftName, rightName := map[string]*expr.Expr{}, map[string]*expr.Expr{}
	for _, o := range n.outputs {
		if o.from == fromLeft {
			left[o.name], leftName[o.name] = true, expr.Col(o.left)
		}
		if o.from == fromRight {
			right[o.name], rightName[o.name] = true, expr.Col(o.right)
		}
	}
	if n.kind == Right || n.kind == Full {
		left = names{}
	}
	if n.kind == Left || n.kind == Full {
		right = names{}
	}
	toLeft, rest := split(conds, func(c *expr.Expr) bool { return reads(c, left) })
	toRight, above := split(rest, func(c *expr.Expr) bool { return reads(c, right) })
	for i, c := range toLeft {
		toLeft[i] = expr.Rewrite(c, func(name string) *expr.Expr { return leftName[name] })
	}
	for i, c := range toRight {
		toRight[i] = expr.Rewrite(c, func(name string) *expr.Expr { return rightName[name] })
	}
	toLeft = append(toLeft, impliedBelow(n.left, above, left, leftName)...)
	toRight = append(toRight, impliedBelow(n.right, above, right, rightName)...)
	out, ownLeft, ownRight := n.pushWhere()
	out.left, out.right = n.left.push(append(toLeft, ownLeft...)), n.right.push(append(toRight, ownRight...))
	return keep(out, above)
}

func (n *joinNode) prune(need names) node {
	out := *n
	out.outputs = nil
	left, right := names{}, names{}
	for _, k := range n.keys {
		left[k.left], right[k.right] = true, true
	}
	for _, o := range n.scope {
		if o.onLeft() {
			left[o.left] = true
		} else {
			right[o.right] = true
		}
	}
	for _, o := range n.outputs {
		if !need[o.name] {
			continue
		}
		out.outputs = append(out.outputs, o)
		if o.onLeft() {
			left[o.left] = true
		}
		if o.onRight() {
			right[o.right] = true
		}
	}
	out.left, out.right = n.left.prune(left), n.right.prune(right)
	out.out = subset(n.out, need.among(n.out))
	return &out
}

// input is the left side.
func (n *joinNode) input() node { return n.left }

func (n *joinNode) compile(r *runner) (exec.Source, error) { return r.pipe(n) }

func (n *joinNode) step(r *runner) (exec.Operator, error) { return n.probe(r) }

func (n *joinNode) probe(r *runner) (*probeStep, error) {
	o := &probeStep{r: r, node: n}
	var err error
	if o.leftKeys, err = n.bindKeys(n.left.schema(), func(k keyPair) string { return k.left }); err != nil {
		return nil, err
	}
	if o.rightKeys, err = n.bindKeys(n.right.schema(), func(k keyPair) string { return k.right }); err != nil {
		return nil, err
	}
	if n.where != nil {
		if o.where, err = n.where.Bind(n.scoped); err != nil {
			return nil, err
		}
	}
	o.right, err = r.sunk(n.right, exec.Keep{}, "")
	return o, err
}

// bindKeys are the keys of one side in the types that they are compared in.
func (n *joinNode) bindKeys(schema *arrow.Schema, side func(keyPair) string) (*expr.Bound, error) {
	var all []*expr.Expr
	for i, k := range n.keys {
		e := expr.Col(side(k))
		if !arrow.TypeEqual(schema.Field(schema.FieldIndices(side(k))[0]).Type, n.keyTypes[i]) {
			e = e.Cast(n.keyTypes[i])
		}
		all = append(all, e)
	}
	return expr.BindAll(schema, all...)
}
