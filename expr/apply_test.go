package expr

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

var f64 = arrow.PrimitiveTypes.Float64

// register makes the functions of these tests known, once for all runs of them.
func register(t testing.TB) {
	t.Helper()
	if _, ok := kernels.Registered("expr_blend"); ok {
		return
	}
	_, err := kernels.Register("expr_blend", []arrow.DataType{f64, f64, f64}, func(out, a, b []float64) {
		for i := range out {
			out[i] = a[i]*0.25 + b[i]*0.75
		}
	}, "FN f64 expr_blend(f64 a, f64 b) {\n  return a * 0.25 + b * 0.75;\n}")
	if err != nil {
		t.Fatal(err)
	}
}

func TestApplyInText(t *testing.T) {
	register(t)
	e, err := Parse("expr_blend(f, a + 1) > 2")
	if err != nil {
		t.Fatal(err)
	}
	built := Apply("expr_blend", Col("f"), Col("a").Add(1)).Gt(2)
	if e.String() != built.String() || e.String() != "expr_blend(f, a + 1) > 2" {
		t.Fatalf("%s, %s", e, built)
	}
	b, s := testBackend(t)
	rows, columns := randomRows(t, b, 300, 9)
	bound, err := Apply("expr_blend", Col("f"), Col("a").Add(1)).Bind(rowSchema)
	if err != nil {
		t.Fatal(err)
	}
	out, err := bound.Eval(context.Background(), b, s, 300, columns)
	if err != nil {
		t.Fatal(err)
	}
	got := scalars(t, b, s, out)
	for i, r := range rows {
		switch v := got[i]; {
		case r.f == nil || r.a == nil:
			if v.Valid() {
				t.Fatalf("row %d is %s", i, v)
			}
		case v.Float64() != *r.f*0.25+float64(*r.a+1)*0.75:
			t.Fatalf("row %d is %s", i, v)
		}
	}
	out.Release()
}

func TestApplyRefuses(t *testing.T) {
	register(t)
	for text, want := range map[string]string{
		"expr_blend(f)":    "takes 2 arguments, not 1",
		"expr_blend(s, f)": "argument 1 of expr_blend",
		"expr_blind(f, f)": "a function",
	} {
		e, err := Parse(text)
		if err == nil {
			_, err = e.Bind(rowSchema)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Apply("nobody", Col("f")).Bind(rowSchema); err == nil || !strings.Contains(err.Error(), "no function nobody") {
		t.Error(err)
	}
}

// release gives columns back.
func release(columns []*memory.Column) {
	for _, c := range columns {
		c.Release()
	}
}
