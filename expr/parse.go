package expr

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// Parse reads an expression as SQL writes it:
//
//	delay > 15 and (state = 'WY' or state is null) and hour(at) between 6 and 9
//
// From the weakest: or, xor, and, not; comparisons (= == <> != < <= > >=),
// is [not] null, [not] in (…), [not] between … and …, [not] like 'a%b_' [escape '!'];
// + -; * / %; unary minus.
// Words in any case; columns as they are spelt, in "…" or `…` where they are
// no plain words; texts in '…' with ” for a quote within; true, false, null;
// typed values such as date '2024-02-29', timestamp '2024-02-29 12:00:00',
// int8 '5'; case when … then … else … end; cast(x as float64); functions: abs,
// sign, sqrt, exp, ln, floor, ceil, trunc, round, year, month, day, hour, minute,
// second, day_of_week, day_of_year, contains, starts_with, ends_with, substring(x, from, length) and substring(x from 2 for 3), coalesce,
// fill_null, if_else, is_in, is_null, is_not_null, is_nan, and_not, add_checked and its like. "as name" may end it.
//
// The tree equals that of the builder. Errors are *ParseError or say the place.
func Parse(text string) (*Expr, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: an expression of %d bytes, which is more than %d", errSyntax, len(text), maxText)
	}
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	e, err := p.named()
	if err != nil {
		return nil, err
	}
	if p.peek().kind != tokenEnd {
		return nil, p.expected("an operator or the end")
	}
	return e, nil
}

// parser is a Pratt parser: binary climbs by binding strength.
type parser struct {
	tokens []token
	at     int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

// is reports whether the next token is that word or symbol.
func (p *parser) is(text string) bool { return p.isAt(p.at, text) }

func (p *parser) isAt(i int, text string) bool {
	return i < len(p.tokens) && p.tokens[i].text == text &&
		(p.tokens[i].kind == tokenWord || p.tokens[i].kind == tokenSymbol)
}

// accept takes the next token if it is that word or symbol.
func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) need(text, why string) error {
	if p.accept(text) {
		return nil
	}
	return p.expected("'" + text + "'" + why)
}

func (p *parser) expected(what string) error {
	t := p.peek()
	return &ParseError{Pos: t.pos, Expected: what, Found: t.show()}
}

// placed gives the node its place and passes on an error of its making.
func (p *parser) placed(e *Expr, pos Pos) (*Expr, error) {
	e.pos = pos
	if e.err != nil {
		return nil, fmt.Errorf("at %v: %w", pos, e.err)
	}
	return e, nil
}

// named is an expression with an optional alias.
func (p *parser) named() (*Expr, error) {
	e, err := p.binary(levelOr)
	if err != nil || !p.is("as") {
		return e, err
	}
	pos := p.take().pos
	t := p.peek()
	if t.kind != tokenName && (t.kind != tokenWord || reserved[t.text]) {
		return nil, p.expected("a name after 'as'")
	}
	return p.placed(e.As(p.take().name()), pos)
}

// name is a column's name as it was spelt.
func (t token) name() string {
	if t.kind == tokenWord {
		return t.raw
	}
	return t.text
}

var infix = map[string]Op{
	"or": OpOr, "xor": OpXor, "and": OpAnd,
	"=": OpEq, "==": OpEq, "<>": OpNe, "!=": OpNe, "<": OpLt, "<=": OpLe, ">": OpGt, ">=": OpGe,
	"+": OpAdd, "-": OpSub, "*": OpMul, "/": OpDiv, "%": OpMod,
}

// binary is an expression of operators that bind at least as strongly as
// level.
func (p *parser) binary(level int) (*Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("%w at %v: an expression nested deeper than %d", errSyntax, p.peek().pos, maxDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.prefix(level)
	for err == nil {
		t := p.peek()
		if t.kind != tokenWord && t.kind != tokenSymbol {
			return left, nil
		}
		op, known := infix[t.text]
		switch {
		case known && ops[op].level >= level:
			p.take()
			var right *Expr
			if right, err = p.binary(ops[op].level + 1); err == nil {
				left, err = p.placed(call(op, left, right), t.pos)
			}
		case level <= levelCompare && (t.text == "is" || t.text == "in" || t.text == "between" || t.text == "like" || t.text == "not"):
			left, err = p.test(left)
		default:
			return left, nil
		}
	}
	return nil, err
}

// prefix is not, a sign, or an operand.
func (p *parser) prefix(level int) (*Expr, error) {
	t := p.peek()
	switch {
	case level <= levelNot && p.accept("not"):
		e, err := p.binary(levelNot)
		if err != nil {
			return nil, err
		}
		return p.placed(e.Not(), t.pos)
	case p.accept("+"):
		return p.signed()
	case p.accept("-"):
		if n := p.peek(); n.kind == tokenNumber {
			p.take()
			return p.number(t.pos, "-"+n.text)
		}
		e, err := p.signed()
		if err != nil {
			return nil, err
		}
		return p.placed(e.Neg(), t.pos)
	default:
		return p.operand()
	}
}

// signed is what a sign stands before.
func (p *parser) signed() (*Expr, error) { return p.binary(levelSign) }

// test is what follows an operand: is [not] null, [not] in, [not] between, [not] like.
func (p *parser) test(e *Expr) (*Expr, error) {
	pos := p.peek().pos
	if p.accept("is") {
		op := OpIsNull
		if p.accept("not") {
			op = OpIsNotNull
		}
		if err := p.need("null", " after 'is'"); err != nil {
			return nil, err
		}
		return p.placed(call(op, e), pos)
	}
	negate := p.accept("not")
	var err error
	switch {
	case p.accept("in"):
		e, err = p.in(e, pos)
	case p.accept("between"):
		e, err = p.between(e, pos)
	case p.accept("like"):
		e, err = p.like(e, pos)
	default:
		return nil, p.expected("'in', 'between' or 'like' after 'not'")
	}
	if err == nil && negate {
		return p.placed(e.Not(), pos)
	}
	return e, err
}

func (p *parser) in(e *Expr, pos Pos) (*Expr, error) {
	if err := p.need("(", " after 'in'"); err != nil {
		return nil, err
	}
	list, err := p.list()
	if err != nil {
		return nil, err
	}
	return p.placed(call(OpAmong, append([]*Expr{e}, list...)...), pos)
}

func (p *parser) between(e *Expr, pos Pos) (*Expr, error) {
	low, err := p.binary(levelCompare + 1)
	if err == nil {
		err = p.need("and", " of 'between'")
	}
	if err != nil {
		return nil, err
	}
	high, err := p.binary(levelCompare + 1)
	if err != nil {
		return nil, err
	}
	both := e.Between(low, high)
	both.args[0].pos, both.args[1].pos = pos, pos
	return p.placed(both, pos)
}

func (p *parser) like(e *Expr, pos Pos) (*Expr, error) {
	args := []*Expr{e}
	for more := true; more; more = len(args) == 2 && p.accept("escape") {
		a, err := p.binary(levelCompare + 1)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return p.placed(call(OpLike, args...), pos)
}

// substring is what follows the parenthesis of substring(x from 2 for 3); it is a
// call as any other where commas stand between.
func (p *parser) substring() ([]*Expr, error) {
	e, err := p.binary(levelOr)
	if err != nil {
		return nil, err
	}
	args := []*Expr{e}
	if !p.is("from") {
		if p.accept(")") {
			return args, nil
		}
		if err := p.need(",", " or 'from'"); err != nil {
			return nil, err
		}
		rest, err := p.list()
		return append(args, rest...), err
	}
	for _, word := range []string{"from", "for"} {
		if !p.accept(word) {
			break
		}
		if e, err = p.binary(levelOr); err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	return args, p.need(")", "")
}

// list is operands up to and with the closing parenthesis; it may be empty.
func (p *parser) list() ([]*Expr, error) {
	var all []*Expr
	if p.accept(")") {
		return nil, nil
	}
	for {
		e, err := p.binary(levelOr)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		if p.accept(")") {
			return all, nil
		}
		if !p.accept(",") {
			return nil, p.expected("',' or ')'")
		}
	}
}

// textType is the type of a text literal.
func textType() arrow.DataType { return arrow.BinaryTypes.String }

func literal(v kernels.Scalar) *Expr { return &Expr{kind: KindLiteral, value: v} }

// functions are the functions by name, other names of some among them.
var functions = func() map[string]Op {
	m := map[string]Op{
		"is_null": OpIsNull, "is_not_null": OpIsNotNull, "isnan": OpIsNaN, "ceiling": OpCeil, "log": OpLn,
		"fill_null": OpCoalesce, "substr": OpSubstring, "ifelse": OpIfElse, "dayofweek": OpDayOfWeek, "dayofyear": OpDayOfYear,
	}
	for op, info := range ops {
		if info.shape == asFunction {
			m[strings.ToLower(info.name)] = Op(op)
		}
	}
	return m
}()
