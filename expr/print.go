package expr

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// String is the expression as text that Parse reads back to an equal tree. An
// expression that could not be built is shown as its error in angle brackets.
func (e *Expr) String() string {
	var b strings.Builder
	e.print(&b, 0)
	return b.String()
}

// level is how strongly the text of e binds.
func (e *Expr) level() int {
	switch e.kind {
	case KindAlias:
		return 0
	case KindLiteral:
		if e.value.Valid() && kernels.NumberTypes.Has(e.value.Type().ID()) {
			return levelSign // it may begin with a minus
		}
		return levelAtom
	case KindCall:
		return ops[e.op].level
	default:
		return levelAtom
	}
}

// print writes e, in parentheses where it binds less than need.
func (e *Expr) print(b *strings.Builder, need int) {
	if e.level() < need {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch e.kind {
	case KindColumn:
		b.WriteString(quoteName(e.name))
	case KindLiteral:
		if e.name != "" {
			b.WriteString(quoteName(e.name))
			return
		}
		b.WriteString(literalText(e.value))
	case KindCast:
		b.WriteString("cast(")
		e.args[0].print(b, levelOr)
		b.WriteString(" as " + TypeName(e.typ) + ")")
	case KindAlias:
		e.args[0].print(b, levelOr)
		b.WriteString(" as " + quoteName(e.name))
	case KindCall:
		e.printCall(b)
	default:
		b.WriteString("<" + e.err.Error() + ">")
	}
}

func (e *Expr) printCall(b *strings.Builder) {
	info := ops[e.op]
	if e.err != nil {
		b.WriteString("<" + e.err.Error() + ">")
		return
	}
	switch {
	case e.op == OpCase:
		b.WriteString("case")
		for i := 0; i+1 < len(e.args); i += 2 {
			b.WriteString(" when ")
			e.args[i].print(b, levelOr)
			b.WriteString(" then ")
			e.args[i+1].print(b, levelOr)
		}
		b.WriteString(" else ")
		e.args[len(e.args)-1].print(b, levelOr)
		b.WriteString(" end")
	case e.op == OpApply:
		b.WriteString(e.name + "(")
		printList(b, e.args)
	case e.op == OpAmong:
		e.args[0].print(b, levelCompare+1)
		b.WriteString(" in (")
		printList(b, e.args[1:])
	case e.op == OpLike:
		e.args[0].print(b, levelCompare+1)
		for i, word := range []string{" like ", " escape "}[:len(e.args)-1] {
			b.WriteString(word)
			e.args[i+1].print(b, levelCompare+1)
		}
	case info.shape == asInfix:
		left := info.level
		if e.op.isCompare() {
			left++
		}
		e.args[0].print(b, left)
		b.WriteString(" " + info.name + " ")
		e.args[1].print(b, info.level+1)
	case info.shape == asPostfix:
		e.args[0].print(b, info.level+1)
		b.WriteString(" " + info.name)
	case e.op == OpNot:
		b.WriteString("not ")
		e.args[0].print(b, levelNot)
	case e.op == OpNeg:
		b.WriteString("-")
		e.args[0].print(b, levelAtom)
	default:
		b.WriteString(info.name + "(")
		printList(b, e.args)
	}
}

// printList writes operands up to and with the closing parenthesis.
func printList(b *strings.Builder, args []*Expr) {
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		a.print(b, levelOr)
	}
	b.WriteByte(')')
}

// quoteName is a column's name as text, quoted where it is no plain word.
func quoteName(name string) string {
	plain := name != "" && !reserved[strings.ToLower(name)]
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) || r == unicode.ReplacementChar {
			plain = false
		}
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literalText is a literal as the parser reads it back.
func literalText(v kernels.Scalar) string {
	if !v.Valid() {
		return "null"
	}
	t := v.Type()
	switch id := t.ID(); {
	case id == arrow.BOOL:
		return strconv.FormatBool(v.Bool())
	case id == arrow.STRING:
		return quoteText(v.Text())
	case id == arrow.INT64:
		return strconv.FormatInt(v.Int64(), 10)
	case id == arrow.UINT64 && v.Uint64() > math.MaxInt64:
		return strconv.FormatUint(v.Uint64(), 10)
	case id == arrow.FLOAT64 && !math.IsNaN(v.Float64()) && !math.IsInf(v.Float64(), 0):
		text := strconv.FormatFloat(v.Float64(), 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	case kernels.BinaryTypes.Has(id):
		return TypeName(t) + " " + quoteText(v.Text())
	default:
		return TypeName(t) + " " + quoteText(valueText(v))
	}
}
