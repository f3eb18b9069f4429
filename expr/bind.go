package expr

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// bind adds the steps of e and returns its own.
func (b *binder) bind(e *Expr) (int, error) {
	i, err := b.steps(e)
	for k := range b.bound.nodes {
		if n := &b.bound.nodes[len(b.bound.nodes)-1-k]; n.of == nil {
			n.of = e
		} else {
			break // those before it were bound already
		}
	}
	return i, err
}

func (b *binder) steps(e *Expr) (int, error) {
	switch e.kind {
	case KindAlias:
		return b.bind(e.args[0])
	case KindLiteral:
		return b.literal(e.value), nil
	case KindColumn:
		return b.column(e)
	}
	args := make([]int, len(e.args))
	for i, a := range e.args {
		if e.op.isIn() && i > 0 && a.kind == KindLiteral { // one of many, no step
			args[i] = noStep
			continue
		}
		var err error
		if args[i], err = b.bind(a); err != nil {
			return 0, err
		}
	}
	if e.kind == KindCast {
		if err := kernels.CanCast(b.typ(args[0]), e.typ); err != nil {
			return 0, fmt.Errorf("%w%s: cast of %s to %s: %w", errType, at(e), shown(e.args[0], b.typ(args[0])), TypeName(e.typ), err)
		}
		return b.cast(args[0], e.typ), nil
	}
	i, err := b.typed(e, args)
	if err != nil {
		return 0, b.explain(e, args, err)
	}
	return i, nil
}

func (b *binder) column(e *Expr) (int, error) {
	schema := b.bound.schema
	found := schema.FieldIndices(e.name)
	switch len(found) {
	case 1:
		return b.add(node{kind: KindColumn, column: found[0], typ: schema.Field(found[0]).Type}), nil
	case 0:
		names := make([]string, schema.NumFields())
		for i := range names {
			names[i] = schema.Field(i).Name
		}
		err := UnknownColumn(e.name, names)
		if e.pos.Line > 0 {
			err = fmt.Errorf("at %v: %w", e.pos, err)
		}
		return 0, err
	default:
		return 0, fmt.Errorf("%w%s: %d columns are named %q", errType, at(e), len(found), e.name)
	}
}

// mostShown is how many operands an error shows.
const mostShown = 8

// explain puts operation, operands and place to the error of a typing rule.
func (b *binder) explain(e *Expr, args []int, err error) error {
	text := fmt.Sprintf("%s of ", e.op)
	for i, a := range e.args {
		if i > 0 {
			text += " and "
		}
		if i == mostShown {
			text += fmt.Sprintf("%d more", len(args)-i)
			break
		}
		t := a.value.Type()
		if args[i] != noStep {
			t = b.typ(args[i])
		}
		text += shown(a, t)
	}
	if errors.Is(err, errPlain) {
		return fmt.Errorf("%w%s: %s", errType, at(e), text)
	}
	return fmt.Errorf("%w%s: %s: %w", errType, at(e), text, err)
}

// errPlain is the error of a rule that has nothing to add to the operands.
var errPlain = fmt.Errorf("%w: no common type", device.ErrMismatch)

var boolean arrow.DataType = arrow.FixedWidthTypes.Boolean

// typed applies the typing rule of a call.
func (b *binder) typed(e *Expr, args []int) (int, error) {
	op := e.op
	switch {
	case op.isArithmetic():
		return b.arithmetic(op, args)
	case op.isCompare():
		return b.compare(op, args)
	case op.isLogic() || op == OpNot:
		for i := range args {
			if args[i] = b.asBool(args[i]); b.typ(args[i]).ID() != arrow.BOOL {
				return 0, fmt.Errorf("%w: %s takes bool", device.ErrMismatch, op)
			}
		}
		return b.call(op, boolean, args...), nil
	case op == OpIsNull || op == OpIsNotNull || op == OpIsNaN:
		return b.call(op, boolean, args...), nil
	case op.isUnary():
		args[0] = b.decoded(args[0])
		t, err := kernels.UnaryType(kernels.UnaryOp(op-OpNeg), b.typ(args[0]))
		if err != nil {
			return 0, err
		}
		return b.call(op, t, args...), nil
	case op.isTemporal():
		args[0] = b.decoded(args[0])
		t, err := kernels.TemporalType(kernels.TemporalField(op-OpYear), b.typ(args[0]))
		if err != nil {
			return 0, err
		}
		return b.call(op, t, args...), nil
	case op == OpLike:
		return b.like(args)
	case op.isMatch():
		return b.match(op, args)
	case op == OpSubstring:
		return b.substring(args)
	case op.isIn():
		return b.in(e, args)
	case op == OpApply:
		return b.apply(e.name, args)
	default:
		return b.mixed(op, args)
	}
}

// asBool makes a null literal a bool one.
func (b *binder) asBool(i int) int {
	if b.typ(i).ID() == arrow.NULL {
		return b.cast(i, boolean)
	}
	return i
}

// decoded is step i, a dictionary as its values.
func (b *binder) decoded(i int) int {
	if d, ok := b.typ(i).(*arrow.DictionaryType); ok {
		return b.cast(i, d.ValueType)
	}
	return i
}

func (b *binder) arithmetic(op Op, args []int) (int, error) {
	x, y := b.decoded(args[0]), b.decoded(args[1])
	kop, _ := op.arithmetic()
	if kop == kernels.Divide {
		x, y = b.quotient(x, y)
	}
	x, y = b.written(x, y)
	x, y = b.meet(x, y, false)
	if kernels.NumberTypes.Has(b.typ(x).ID()) && kernels.NumberTypes.Has(b.typ(y).ID()) {
		var err error
		if x, y, err = b.common(x, y); err != nil {
			return 0, err
		}
	} else {
		x, y = b.decimals(x, y)
		x, y = b.times(x, y)
	}
	t, err := kernels.ArithmeticType(kop, b.typ(x), b.typ(y))
	if err != nil {
		return 0, err
	}
	return b.call(op, t, x, y), nil
}

func (b *binder) compare(op Op, args []int) (int, error) {
	x, y := b.meet(args[0], args[1], true)
	kop := kernels.CompareOp(op - OpEq)
	if i, ok := b.unreachable(kop, x, y); ok {
		return i, nil
	}
	if i, ok := b.unreachable(turned[kop], y, x); ok {
		return i, nil
	}
	if i, ok := b.betweenDecimals(kop, x, y); ok {
		return i, nil
	}
	if i, ok := b.betweenDecimals(turned[kop], y, x); ok {
		return i, nil
	}
	if t, ok := wholeType(valueType(b.typ(x)), valueType(b.typ(y))); ok {
		x, y = b.cast(b.decoded(x), t), b.cast(b.decoded(y), t)
	}
	if _, err := kernels.CompareType(kop, b.typ(x), b.typ(y)); err != nil {
		var nocommon error
		if x, y, nocommon = b.common(b.decoded(x), b.decoded(y)); nocommon != nil {
			return 0, nocommon
		}
		if _, err = kernels.CompareType(kop, b.typ(x), b.typ(y)); err != nil {
			return 0, err
		}
	}
	return b.call(op, boolean, x, y), nil
}

// written gives a literal beside a decimal the scale that it is written with: that
// of the other would make results longer than they need to be.
func (b *binder) written(x, y int) (int, int) {
	for _, side := range [2][2]*int{{&x, &y}, {&y, &x}} {
		v, lit := b.constant(*side[0])
		if !lit || b.typ(*side[1]).ID() != arrow.DECIMAL128 {
			continue
		}
		if own, ok := ownDecimal(v); ok {
			*side[0] = b.literal(own)
		}
	}
	return x, y
}

// meet gives a literal the type of what it meets, where it fits.
func (b *binder) meet(x, y int, comparing bool) (int, int) {
	vx, xLit := b.constant(x)
	vy, yLit := b.constant(y)
	switch {
	case yLit && !xLit && (comparing || vy.Type().ID() != arrow.DECIMAL128):
		if v, ok := adapt(vy, valueType(b.typ(x)), comparing); ok {
			return x, b.literal(v)
		}
	case xLit && !yLit && (comparing || vx.Type().ID() != arrow.DECIMAL128):
		if v, ok := adapt(vx, valueType(b.typ(y)), comparing); ok {
			return b.literal(v), y
		}
	case xLit && yLit && !vx.Valid():
		return b.literal(kernels.Null(b.typ(y))), y
	case xLit && yLit && !vy.Valid():
		return x, b.literal(kernels.Null(b.typ(x)))
	}
	return x, y
}

// unreachable compares integers with a literal that none of them equals: one
// past the type's range, or a float. It becomes a comparison with an integer
// that answers the same, so that nothing is converted.
func (b *binder) unreachable(op kernels.CompareOp, x, y int) (int, bool) {
	t := b.typ(x)
	v, lit := b.constant(y)
	if _, xLit := b.constant(x); !lit || xLit || !v.Valid() || !kernels.IntegerTypes.Has(t.ID()) || !kernels.NumberTypes.Has(v.Type().ID()) {
		return 0, false
	}
	low, high := integerRange(t)
	var below, above bool
	floor := low
	if id := v.Type().ID(); kernels.FloatTypes.Has(id) {
		f := v.Float64()
		below, above = f < float64(low), f >= float64(high)+1
		if f != f {
			return b.always(op == kernels.NotEqual, x, low), true
		}
		if !below && !above {
			at, _ := floatToInt(math.Floor(f), t, true)
			floor = at.Int64()
		}
	} else {
		below = kernels.SignedTypes.Has(id) && v.Int64() < low
		negative := kernels.SignedTypes.Has(id) && v.Int64() < 0
		above = !negative && v.Uint64() > high
		if !below && !above {
			return 0, false
		}
	}
	switch greater := op == kernels.Greater || op == kernels.GreaterEqual; {
	case op == kernels.Equal || op == kernels.NotEqual:
		return b.always(op == kernels.NotEqual, x, low), true
	case below || above:
		return b.always(below == greater, x, low), true
	case greater:
		return b.call(OpGt, boolean, x, b.literal(kernels.Int(t, floor))), true
	default:
		return b.call(OpLe, boolean, x, b.literal(kernels.Int(t, floor))), true
	}
}

// always is true, or false, for every integer of step x, and null for nulls.
func (b *binder) always(answer bool, x int, low int64) int {
	least := b.literal(kernels.Int(b.typ(x), low))
	if answer {
		return b.call(OpGe, boolean, x, least)
	}
	return b.call(OpLt, boolean, x, least)
}

// common casts two steps to the type in which both fit.
func (b *binder) common(x, y int) (int, int, error) {
	t, err := commonType(b.typ(x), b.typ(y))
	if err != nil {
		return 0, 0, err
	}
	return b.widen(x, t), b.widen(y, t), nil
}

// widen is a cast that a rule inserts: integers are rounded to floats.
func (b *binder) widen(i int, t arrow.DataType) int {
	if _, lit := b.constant(i); lit || !kernels.IntegerTypes.Has(b.typ(i).ID()) || !kernels.FloatTypes.Has(t.ID()) {
		return b.cast(i, t)
	}
	return b.add(node{kind: KindCast, typ: t, args: []int{i}, wrap: true})
}

// noStep stands for a literal of the list of an "in": lists may be long.
const noStep = -1

// in binds value in (literals): the literals take the value's type; those that
// cannot be equal to any value of it are left out.
func (b *binder) in(e *Expr, args []int) (int, error) {
	x := b.decoded(args[0])
	t := b.typ(x)
	list, fitting, first := make([]kernels.Scalar, 0, len(args)-1), make([]kernels.Scalar, 0, len(args)-1), t
	for i, a := range args[1:] {
		v, ok := e.args[i+1].value, true
		if a != noStep {
			v, ok = b.constant(a)
		}
		if !ok {
			return 0, fmt.Errorf("%w: the list of 'in' must be literals", device.ErrMismatch)
		}
		list = append(list, v)
		if same, fits := adapt(v, t, true); fits {
			fitting = append(fitting, same)
			continue
		}
		if _, _, number := exactDecimal(v); number && t.ID() == arrow.DECIMAL128 && v.Type().ID() != arrow.STRING {
			continue // a value that no value of t equals
		}
		wide, err := commonType(t, v.Type())
		if err != nil {
			return 0, err
		}
		if kernels.FloatTypes.Has(wide.ID()) && !kernels.FloatTypes.Has(t.ID()) || kernels.IntegerTypes.Has(t.ID()) {
			continue // a value that no value of t equals
		}
		t = wide
	}
	x = b.widen(x, t)
	if !arrow.TypeEqual(t, first) { // a later value made the type wider
		fitting = fitting[:0]
		for _, v := range list {
			if same, fits := adapt(v, t, true); fits {
				fitting = append(fitting, same)
			}
		}
	}
	set, null := fitting, false
	if isNull := func(v kernels.Scalar) bool { return !v.Valid() }; e.op == OpAmong && slices.ContainsFunc(list, isNull) {
		set, null = slices.DeleteFunc(fitting, isNull), true
	}
	return b.add(node{kind: KindCall, op: e.op, typ: boolean, args: []int{x}, set: set, null: null}), nil
}

// mixed binds coalesce, if_else and case: the values get one type.
func (b *binder) mixed(op Op, args []int) (int, error) {
	isValue := func(i int) bool {
		return op == OpCoalesce || op == OpIfElse && i > 0 || op == OpCase && (i%2 == 1 || i == len(args)-1)
	}
	var t arrow.DataType = arrow.Null
	for pass := range 2 { // columns first, then literals adapt to them
		for i, a := range args {
			v, lit := b.constant(a)
			if !isValue(i) || lit != (pass == 1) {
				continue
			}
			if lit {
				if _, fits := adapt(v, t, false); fits && t.ID() != arrow.NULL {
					continue
				}
			}
			var err error
			if t, err = commonType(t, b.typ(b.decoded(a))); err != nil {
				return 0, err
			}
		}
	}
	for i, a := range args {
		if isValue(i) {
			args[i] = b.widen(b.decoded(a), t)
		} else if args[i] = b.asBool(a); b.typ(args[i]).ID() != arrow.BOOL {
			return 0, fmt.Errorf("%w: a condition is of type %s, not bool", device.ErrMismatch, TypeName(b.typ(a)))
		}
	}
	if _, err := kernels.MixType(t, t); err != nil {
		return 0, err
	}
	return b.call(op, t, args...), nil
}
