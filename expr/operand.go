package expr

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// operand is a literal, a column, a call or an expression in parentheses.
func (p *parser) operand() (*Expr, error) {
	t := p.peek()
	switch t.kind {
	case tokenNumber:
		p.take()
		return p.number(t.pos, t.text)
	case tokenString:
		p.take()
		return p.placed(literal(kernels.Text(textType(), t.text)), t.pos)
	case tokenName:
		p.take()
		return p.placed(Col(t.text), t.pos)
	case tokenWord:
		return p.word(t)
	}
	if !p.accept("(") {
		return nil, p.expected("an operand")
	}
	e, err := p.named()
	if err == nil {
		err = p.need(")", "")
	}
	return e, err
}

// word is an operand that begins with a word.
func (p *parser) word(t token) (*Expr, error) {
	switch t.text {
	case "true", "false":
		p.take()
		return p.placed(literal(kernels.Bool(t.text == "true")), t.pos)
	case "null":
		p.take()
		return p.placed(Lit(nil), t.pos)
	case "case":
		p.take()
		return p.caseWhen(t.pos)
	case "cast":
		p.take()
		return p.cast(t.pos)
	}
	if reserved[t.text] {
		return nil, p.expected("an operand")
	}
	if isTypeName(t.text) {
		if e, ok, err := p.typed(); ok || err != nil {
			return e, err
		}
	}
	p.take()
	if !p.accept("(") {
		return p.placed(Col(t.raw), t.pos)
	}
	op, known := functions[t.text]
	if _, users := kernels.Registered(t.text); users && !known {
		args, err := p.list()
		if err != nil {
			return nil, err
		}
		return p.placed(apply(t.text, args), t.pos)
	}
	if !known {
		return nil, &ParseError{Pos: t.pos, Expected: "a function" + nearText(t.text, functionNames()), Found: t.raw + "()"}
	}
	read := p.list
	if op == OpSubstring {
		read = p.substring
	}
	args, err := read()
	if err != nil {
		return nil, err
	}
	return p.placed(call(op, args...), t.pos)
}

func functionNames() []string {
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// number is an int64, past it a uint64, or a float64 with a point or exponent.
func (p *parser) number(pos Pos, text string) (*Expr, error) {
	if !strings.ContainsAny(text, ".eE") {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return p.placed(literal(kernels.Int64(v)), pos)
		}
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			return p.placed(literal(kernels.Int(arrow.PrimitiveTypes.Uint64, int64(v))), pos)
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return nil, &ParseError{Pos: pos, Expected: "a number within the range of float64", Found: text}
	}
	return p.placed(literal(kernels.Float64(v)), pos)
}

// typed is a type followed by a text: date '2024-02-29'. Where it is something
// else ok is false and nothing was taken.
func (p *parser) typed() (e *Expr, ok bool, err error) {
	start := p.at
	pos := p.peek().pos
	t, err := p.typeName()
	if err != nil || p.peek().kind != tokenString {
		p.at = start
		return nil, false, nil
	}
	text := p.take()
	v, err := parseValue(t, text.text)
	if err != nil {
		return nil, true, fmt.Errorf("at %v: %w", text.pos, err)
	}
	e, err = p.placed(literal(v), pos)
	return e, true, err
}

func (p *parser) caseWhen(pos Pos) (*Expr, error) {
	var c Case
	for p.accept("when") {
		cond, err := p.binary(levelOr)
		if err == nil {
			err = p.need("then", " after the condition")
		}
		if err != nil {
			return nil, err
		}
		value, err := p.binary(levelOr)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, cond, value) // When would copy those before it
	}
	if len(c.args) == 0 {
		return nil, p.expected("'when'")
	}
	e := c.End()
	if p.accept("else") {
		other, err := p.binary(levelOr)
		if err != nil {
			return nil, err
		}
		e = c.Else(other)
	}
	if err := p.need("end", " of 'case'"); err != nil {
		return nil, err
	}
	return p.placed(e, pos)
}

func (p *parser) cast(pos Pos) (*Expr, error) {
	if err := p.need("(", " after 'cast'"); err != nil {
		return nil, err
	}
	e, err := p.binary(levelOr)
	if err == nil {
		err = p.need("as", " and a type")
	}
	if err != nil {
		return nil, err
	}
	t, err := p.typeName()
	if err == nil {
		err = p.need(")", " after the type")
	}
	if err != nil {
		return nil, err
	}
	return p.placed(e.Cast(t), pos)
}

// typeName is a type with its parameters.
func (p *parser) typeName() (arrow.DataType, error) {
	t := p.peek()
	if t.kind != tokenWord || !isTypeName(t.text) {
		return nil, p.expected("a type" + nearText(t.text, knownTypes()))
	}
	p.take()
	switch t.text {
	case "decimal", "decimal128", "numeric":
		return p.decimalType()
	case "dictionary":
		return p.dictionaryType()
	case "timestamp", "duration", "time32", "time64":
		if p.is("[") {
			return p.timeType(t)
		}
		if t.text == "time32" || t.text == "time64" {
			return nil, p.expected("'[' and a unit")
		}
	}
	return typeNames[t.text], nil
}

func knownTypes() []string {
	var names []string
	for name := range typeNames {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (p *parser) timeType(name token) (arrow.DataType, error) {
	p.take()
	unit, ok := unitNames[p.peek().text]
	switch {
	case name.text == "time32":
		ok = ok && (unit == arrow.Second || unit == arrow.Millisecond)
	case name.text == "time64":
		ok = ok && (unit == arrow.Microsecond || unit == arrow.Nanosecond)
	}
	if !ok {
		return nil, p.expected("a unit of " + name.text)
	}
	p.take()
	zone := ""
	if name.text == "timestamp" && p.accept(",") {
		if err := p.need("tz", ""); err != nil {
			return nil, err
		}
		if err := p.need("=", " after 'tz'"); err != nil {
			return nil, err
		}
		for !p.is("]") && p.peek().kind != tokenEnd {
			t := p.take()
			if zone += t.raw; t.kind == tokenString {
				zone = t.text
				break
			}
		}
		if zone == "" {
			return nil, p.expected("a time zone")
		}
	}
	if err := p.need("]", " after the unit"); err != nil {
		return nil, err
	}
	switch name.text {
	case "timestamp":
		return &arrow.TimestampType{Unit: unit, TimeZone: zone}, nil
	case "duration":
		return &arrow.DurationType{Unit: unit}, nil
	case "time32":
		return &arrow.Time32Type{Unit: unit}, nil
	default:
		return &arrow.Time64Type{Unit: unit}, nil
	}
}

func (p *parser) decimalType() (arrow.DataType, error) {
	var sizes [2]int32
	for i, before := range []string{"(", ","} {
		if err := p.need(before, " in decimal(precision, scale)"); err != nil {
			return nil, err
		}
		t := p.peek()
		v, err := strconv.ParseInt(t.text, 10, 8)
		if t.kind != tokenNumber || err != nil || v > 38 || i == 0 && v < 1 {
			return nil, p.expected("a precision from 1 to 38 and a scale")
		}
		p.take()
		sizes[i] = int32(v)
	}
	if err := p.need(")", " after the scale"); err != nil {
		return nil, err
	}
	return &arrow.Decimal128Type{Precision: sizes[0], Scale: sizes[1]}, nil
}

func (p *parser) dictionaryType() (arrow.DataType, error) {
	if err := p.need("(", " in dictionary(index, value)"); err != nil {
		return nil, err
	}
	at := p.peek()
	index, err := p.typeName()
	if err == nil && !kernels.IntegerTypes.Has(index.ID()) {
		err = &ParseError{Pos: at.pos, Expected: "an integer type for the index", Found: at.show()}
	}
	if err == nil {
		err = p.need(",", " in dictionary(index, value)")
	}
	if err != nil {
		return nil, err
	}
	at = p.peek()
	value, err := p.typeName()
	if err == nil && value.ID() == arrow.DICTIONARY {
		err = &ParseError{Pos: at.pos, Expected: "a plain type for the values", Found: at.show()}
	}
	if err == nil {
		err = p.need(")", " after the type")
	}
	if err != nil {
		return nil, err
	}
	return &arrow.DictionaryType{IndexType: index, ValueType: value}, nil
}
