package expr

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// texts pairs a text with what the builder makes of the same.
var texts = []struct {
	text string
	want *Expr
}{
	{"delay > 15 and distance >= 500", Col("delay").Gt(15).And(Col("distance").Ge(500))},
	{"a == 1 or b <> 2 and not c != 3", Col("a").Eq(1).Or(Col("b").Ne(2).And(Col("c").Ne(3).Not()))},
	{"a xor b or c", Col("a").Xor(Col("b")).Or(Col("c"))},
	{"a + b * -c - 4 % 3", Col("a").Add(Col("b").Mul(Col("c").Neg())).Sub(Lit(4).Mod(3))},
	{"(a + b) * c / 2.5", Col("a").Add(Col("b")).Mul(Col("c")).Div(2.5)},
	{"-5 - -9223372036854775808", Lit(-5).Sub(int64(math.MinInt64))},
	{"18446744073709551615", Lit(uint64(math.MaxUint64))},
	{"name = 'it''s'", Col("name").Eq("it's")},
	{`"a b" < ` + "`c``d`", Col("a b").Lt(Col("c`d"))},
	{"x IS NOT NULL and y is null", Col("x").IsNotNull().And(Col("y").IsNull())},
	{"x in (1, 2, null)", Col("x").Among(1, 2, nil)},
	{"x not in ('a')", Col("x").Among("a").Not()},
	{"x between 1 and 2 + 3 and y", Col("x").Between(1, Lit(2).Add(3)).And(Col("y"))},
	{"not x not between 1 and 2", Col("x").Between(1, 2).Not().Not()},
	{"case when a then 1 when b then 2 else 3 end", When(Col("a"), 1).When(Col("b"), 2).Else(3)},
	{"case when a > 0 then 'x' end", When(Col("a").Gt(0), "x").End()},
	{"cast(x as float64) + cast(y as timestamp[ms, tz=Europe/Paris])",
		Col("x").Cast(arrow.PrimitiveTypes.Float64).Add(Col("y").Cast(&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Paris"}))},
	{"cast(x as decimal(10, 2))", Col("x").Cast(&arrow.Decimal128Type{Precision: 10, Scale: 2})},
	{"cast(x as dictionary(int32, utf8))", Col("x").Cast(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String})},
	{"hour(at) = 6 and abs(delay) > 1e3", Col("at").Hour().Eq(6).And(Col("delay").Abs().Gt(1e3))},
	{"coalesce(a, b, 0)", Coalesce(Col("a"), Col("b"), 0)},
	{"if_else(a, b, null)", IfElse(Col("a"), Col("b"), nil)},
	{"day >= date '2024-02-29'", Col("day").Ge(kernels.Int(arrow.FixedWidthTypes.Date32, 19782))},
	{"at < timestamp '1970-01-01 00:00:01.5'", Col("at").Lt(kernels.Int(&arrow.TimestampType{Unit: arrow.Microsecond}, 1500000))},
	{"at < timestamp[us, tz=UTC] '1970-01-01 02:00:00+02:00'", Col("at").Lt(time.Unix(0, 0))},
	{"x = int8 '-5' or x = decimal(5, 2) '1.50'", Col("x").Eq(int8(-5)).Or(Col("x").Eq(kernels.Decimal(&arrow.Decimal128Type{Precision: 5, Scale: 2}, decimal128.FromI64(150))))},
	{"date > 3", Col("date").Gt(3)},
	{"add_checked(a, 1) as total", Col("a").AddChecked(1).As("total")},
	{"-(5) - - x", Lit(5).Neg().Sub(Col("x").Neg())},
	{"float64 'NaN' <> true", Lit(math.NaN()).Ne(true)},
	{"(a = b) is null", Col("a").Eq(Col("b")).IsNull()},
	{"name like 'a%' and name not like '%b_'", Col("name").Like("a%").And(Col("name").NotLike("%b_"))},
	{"not name like 'a!%' escape '!'", Col("name").Like("a!%", "!").Not()},
	{"like like 'like' or escape like 'x' escape 'y'", Col("like").Like("like").Or(Col("escape").Like("x", "y"))},
	{"substring(phone, 1, 2) in ('13')", Col("phone").Substring(1, 2).Among("13")},
	{"substring(a from 2 for 3) = substr(b from 2)", Col("a").Substring(2, 3).Eq(Col("b").Substring(2))},
	{"(a like 'x') = b", Col("a").Like("x").Eq(Col("b"))},
	{"a is null = b", Col("a").IsNull().Eq(Col("b"))},
}

func TestParseGivesTheTreeOfTheBuilder(t *testing.T) {
	for _, c := range texts {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if !Equal(got, c.want) {
			t.Errorf("%s: parsed as %s, built as %s", c.text, got, c.want)
		}
		again, err := Parse(got.String())
		if err != nil || !Equal(again, got) {
			t.Errorf("%s: printed as %s, which reads back as %v, %v", c.text, got, again, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "line 1, column 1: expected an operand, found the end",
		"a >":                          "line 1, column 4: expected an operand, found the end",
		"a > and b":                    "line 1, column 5: expected an operand, found and",
		"a >\n 5 5":                    "line 2, column 4: expected an operator or the end, found 5",
		"(a":                           "expected ')', found the end",
		"'abc":                         "line 1, column 1: expected a closing ' for the quote opened here",
		"a ? b":                        `found the character '?'`,
		"abz(x)":                       "expected a function (did you mean abs?), found abz()",
		"x is 5":                       "expected 'null' after 'is', found 5",
		"x not 5":                      "expected 'in', 'between' or 'like' after 'not', found 5",
		"x like":                       "expected an operand, found the end",
		"x like 'a' escape":            "expected an operand, found the end",
		"substring(x 5)":               "expected ',' or 'from'",
		"substring(x)":                 "substring takes 2 to 3 operands, not 1",
		"x between 1 or 2":             "expected 'and' of 'between', found or",
		"cast(x as in64)":              "expected a type (did you mean int64?), found in64",
		"cast(x as decimal(99, 1))":    "expected a precision from 1 to 38",
		"case 5 end":                   "expected 'when', found 5",
		"case when a then 1":           "expected 'end' of 'case'",
		"1e999":                        "a number within the range of float64",
		"date '2024-02-30'":            "line 1, column 6",
		"abs(a, b)":                    "abs takes 1 operand, not 2",
		"x in ()":                      "in takes at least 2 operands, not 1",
		"a as":                         "expected a name after 'as', found the end",
		strings.Repeat("(", 600):       "nested deeper than 500",
		strings.Repeat("not ", 600):    "nested deeper than 500",
		strings.Repeat("-", 600) + "1": "nested deeper than 500",
		strings.Repeat("(", 1e6):       "more than 100000 words",
		strings.Repeat("abs(", 1e6):    "more than 100000 words",
		strings.Repeat("9", 1e6):       "found 999",
		strings.Repeat("x", 17<<20):    "an expression of 17825792 bytes",
		"decimal(9, 2) '" + strings.Repeat("9", 1e6) + "'": "is no value of type decimal(9, 2)",
		"a" + strings.Repeat(" between 1 and 2", 60):       "more than 1048576 operations",
	} {
		e, err := Parse(text)
		if err == nil {
			t.Errorf("%.40q: parsed as %s", text, e)
			continue
		}
		if !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestTreesOfEverySize: chains as long as a text may have bind and print, and
// what the builder makes too deep or too large is an error of Bind.
func TestTreesOfEverySize(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "c", Type: arrow.FixedWidthTypes.Boolean}}, nil)
	for _, text := range []string{"a" + strings.Repeat(" + a", 30_000), "c" + strings.Repeat(" and c", 30_000), "c" + strings.Repeat(" is null", 400)} {
		e, err := Parse(text)
		if err != nil {
			t.Fatalf("%.20q: %v", text, err)
		}
		if _, err := e.Bind(schema); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
		if again, err := Parse(e.String()); err != nil || !Equal(e, again) {
			t.Errorf("%.20q does not read back: %v", text, err)
		}
	}
	deep, wide := Col("a"), Col("a")
	for range 200_000 {
		deep = deep.Neg()
	}
	for range 1000 {
		wide = wide.Add(wide)
	}
	for want, e := range map[string]*Expr{
		"nested deeper than 100000": deep.As("x"), "more than 1048576 operations": Rewrite(wide.Gt(1), func(string) *Expr { return Col("b") }),
	} {
		if _, err := e.Bind(schema); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	var none *Expr
	if _, err := none.Add(1).Bind(schema); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("no expression: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range texts {
		f.Add(c.text)
	}
	f.Add("\xff'\x00\"")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		printed := e.String()
		again, err := Parse(printed)
		if err != nil {
			if strings.Contains(err.Error(), "nested deeper") {
				return // the printed form may have more parentheses
			}
			t.Fatalf("%q printed as %q: %v", text, printed, err)
		}
		if !Equal(e, again) {
			t.Fatalf("%q printed as %q, which reads back as %q", text, printed, again)
		}
	})
}
