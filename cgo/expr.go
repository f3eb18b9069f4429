package main

// #include "base.h"
import "C"

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// exprObject is an expression.
type exprObject struct {
	unmanaged
	e *expr.Expr
}

func (*exprObject) kind() string { return "expression" }

// giveExpr hands out an expression, unless it could not be built.
func giveExpr(out *C.uintptr_t, e *expr.Expr) error {
	if err := e.Err(); err != nil {
		return err
	}
	*out = register(&exprObject{e: e})
	return nil
}

// typeNamed reads the name of a type as casts have it.
func typeNamed(name string) (arrow.DataType, error) {
	if name == "float16" { // columns have it, expressions have not
		return arrow.FixedWidthTypes.Float16, nil
	}
	e, err := expr.Parse("cast(x as " + name + ")")
	if err != nil || e.Kind() != expr.KindCast {
		return nil, mismatch("%q is no name of a type: int64, float32, utf8, timestamp[us, tz=UTC], decimal(10, 2) are", name)
	}
	return e.Type(), nil
}

// nameOf is the name that typeNamed reads.
func nameOf(t arrow.DataType) string {
	if t.ID() == arrow.FLOAT16 {
		return "float16"
	}
	return expr.TypeName(t)
}

//export go_volley_expr_column
func go_volley_expr_column(name *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_column", func() error {
		n, err := text("name", name)
		if err != nil {
			return err
		}
		return giveExpr(out, expr.Col(n))
	})
}

//export go_volley_expr_null
func go_volley_expr_null(out *C.uintptr_t) C.int32_t {
	return call("volley_expr_null", func() error { return giveExpr(out, expr.Lit(nil)) })
}

//export go_volley_expr_bool
func go_volley_expr_bool(v C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_bool", func() error { return giveExpr(out, expr.Lit(v != 0)) })
}

//export go_volley_expr_int64
func go_volley_expr_int64(v C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_int64", func() error { return giveExpr(out, expr.Lit(int64(v))) })
}

//export go_volley_expr_uint64
func go_volley_expr_uint64(v C.uint64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_uint64", func() error { return giveExpr(out, expr.Lit(uint64(v))) })
}

//export go_volley_expr_float64
func go_volley_expr_float64(v C.double, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_float64", func() error { return giveExpr(out, expr.Lit(float64(v))) })
}

//export go_volley_expr_text
func go_volley_expr_text(v *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_text", func() error {
		s, err := text("value", v)
		if err != nil {
			return err
		}
		return giveExpr(out, expr.Lit(s))
	})
}

//export go_volley_expr_parse
func go_volley_expr_parse(v *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_parse", func() error {
		s, err := text("text", v)
		if err != nil {
			return err
		}
		e, err := expr.Parse(s)
		if err != nil {
			return err
		}
		return giveExpr(out, e)
	})
}

// unaries and binaries are the operations of one and of two operands.
var (
	unaries = map[string]func(*expr.Expr) *expr.Expr{
		"not": (*expr.Expr).Not, "neg": (*expr.Expr).Neg, "abs": (*expr.Expr).Abs, "sign": (*expr.Expr).Sign, "sqrt": (*expr.Expr).Sqrt,
		"exp": (*expr.Expr).Exp, "ln": (*expr.Expr).Ln, "floor": (*expr.Expr).Floor, "ceil": (*expr.Expr).Ceil, "trunc": (*expr.Expr).Trunc,
		"round": (*expr.Expr).Round, "is_null": (*expr.Expr).IsNull, "is_not_null": (*expr.Expr).IsNotNull, "is_nan": (*expr.Expr).IsNaN,
		"year": (*expr.Expr).Year, "month": (*expr.Expr).Month, "day": (*expr.Expr).Day, "hour": (*expr.Expr).Hour,
		"minute": (*expr.Expr).Minute, "second": (*expr.Expr).Second, "day_of_week": (*expr.Expr).DayOfWeek, "day_of_year": (*expr.Expr).DayOfYear,
	}
	binaries = map[string]func(*expr.Expr, any) *expr.Expr{
		"add": (*expr.Expr).Add, "sub": (*expr.Expr).Sub, "mul": (*expr.Expr).Mul, "div": (*expr.Expr).Div, "mod": (*expr.Expr).Mod,
		"add_checked": (*expr.Expr).AddChecked, "sub_checked": (*expr.Expr).SubChecked, "mul_checked": (*expr.Expr).MulChecked,
		"div_checked": (*expr.Expr).DivChecked, "mod_checked": (*expr.Expr).ModChecked,
		"eq": (*expr.Expr).Eq, "ne": (*expr.Expr).Ne, "lt": (*expr.Expr).Lt, "le": (*expr.Expr).Le, "gt": (*expr.Expr).Gt, "ge": (*expr.Expr).Ge,
		"and": (*expr.Expr).And, "or": (*expr.Expr).Or, "xor": (*expr.Expr).Xor, "and_not": (*expr.Expr).AndNot, "fill_null": (*expr.Expr).FillNull,
		"contains": (*expr.Expr).Contains, "starts_with": (*expr.Expr).StartsWith, "ends_with": (*expr.Expr).EndsWith,
	}
)

// operation builds the operation of a name.
func operation(op string, args []*expr.Expr) (*expr.Expr, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	wrong := func(takes string) error { return mismatch("%s takes %s, not %d", op, takes, len(args)) }
	if f := unaries[op]; f != nil {
		if len(args) != 1 {
			return nil, wrong("one operand")
		}
		return f(args[0]), nil
	}
	if f := binaries[op]; f != nil {
		if len(args) != 2 {
			return nil, wrong("two operands")
		}
		return f(args[0], values[1]), nil
	}
	switch op {
	case "coalesce":
		return expr.Coalesce(values...), nil
	case "if_else":
		if len(args) != 3 {
			return nil, wrong("three operands")
		}
		return expr.IfElse(values[0], values[1], values[2]), nil
	case "between":
		if len(args) != 3 {
			return nil, wrong("three operands")
		}
		return args[0].Between(values[1], values[2]), nil
	case "in":
		if len(args) == 0 {
			return nil, wrong("at least one operand")
		}
		return args[0].In(literals(args[1:])...), nil
	case "like", "substring":
		if len(args) != 2 && len(args) != 3 {
			return nil, wrong("two operands or three")
		}
		if op == "like" {
			return args[0].Like(values[1], values[2:]...), nil
		}
		return args[0].Substring(values[1], values[2:]...), nil
	case "case":
		if len(args) < 3 || len(args)%2 == 0 {
			return nil, wrong("pairs of condition and value, and one value")
		}
		c := expr.When(values[0], values[1])
		for i := 2; i+1 < len(args); i += 2 {
			c = c.When(values[i], values[i+1])
		}
		return c.Else(values[len(args)-1]), nil
	}
	if _, ok := kernels.Registered(op); ok {
		return expr.Apply(op, values...), nil
	}
	return nil, device.Errorf(device.ErrUnsupported, "", "expression", "there is no operation %q", op)
}

// literals are the values of literals, which In takes; what is no literal goes on as it is, and In refuses it.
func literals(args []*expr.Expr) []any {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
		if a.Kind() == expr.KindLiteral {
			values[i] = a.Value()
		}
	}
	return values
}

//export go_volley_expr_call
func go_volley_expr_call(op *C.char, args *C.uintptr_t, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_call", func() error {
		name, err := text("op", op)
		if err != nil {
			return err
		}
		all, err := expressions("args", args, n)
		if err != nil {
			return err
		}
		e, err := operation(name, all)
		if err != nil {
			return err
		}
		return giveExpr(out, e)
	})
}

// expressions finds n expressions.
func expressions(name string, p *C.uintptr_t, n C.int64_t) ([]*expr.Expr, error) {
	all, err := findAll[*exprObject](name, p, n)
	if err != nil {
		return nil, err
	}
	list := make([]*expr.Expr, len(all))
	for i, o := range all {
		list[i] = o.e
	}
	return list, nil
}

//export go_volley_expr_cast
func go_volley_expr_cast(h C.uintptr_t, to *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_cast", func() error {
		return with("expr", h, func(o *exprObject) error {
			name, err := text("type", to)
			if err != nil {
				return err
			}
			t, err := typeNamed(name)
			if err != nil {
				return err
			}
			return giveExpr(out, o.e.Cast(t))
		})
	})
}

//export go_volley_expr_alias
func go_volley_expr_alias(h C.uintptr_t, name *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_alias", func() error {
		return with("expr", h, func(o *exprObject) error {
			n, err := text("name", name)
			if err != nil {
				return err
			}
			return giveExpr(out, o.e.As(n))
		})
	})
}

//export go_volley_expr_format
func go_volley_expr_format(h C.uintptr_t, out **C.char) C.int32_t {
	return call("volley_expr_format", func() error {
		return with("expr", h, func(o *exprObject) error { return giveText(out, o.e.String()) })
	})
}

//export go_volley_expr_free
func go_volley_expr_free(h C.uintptr_t) C.int32_t { return free[*exprObject]("volley_expr_free", h) }
