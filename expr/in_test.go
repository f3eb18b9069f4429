package expr

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// The list of an "in" makes no steps of its own, whatever its length.
func TestInOfManyHasOneStep(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}}, nil)
	values := make([]any, 10_000)
	for i := range values {
		values[i] = int64(i)
	}
	in := Col("a").In(values...)
	b, err := BindAll(schema, in, Col("a").In(values...), Col("a").In(values[1:]...), Col("b"))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.nodes) != 4 { // a, two lists, b
		t.Errorf("%d steps", len(b.nodes))
	}
	if b.roots[0] != b.roots[1] || b.roots[0] == b.roots[2] {
		t.Errorf("results are the steps %v: equal lists are one step, others are not", b.roots)
	}
	if got := len(b.nodes[b.roots[0]].set); got != 10_000 {
		t.Errorf("%d values in the set", got)
	}
	if reads := b.Reads(); len(reads) != 2 || reads[0] != 0 || reads[1] != 1 {
		t.Errorf("reads %v", reads)
	}
	wide := Col("a").In(append(values, math.MaxInt64, -1.5, 2.0)...)
	if b, err = wide.Bind(schema); err != nil {
		t.Fatal(err)
	}
	if got := len(b.nodes[b.roots[0]].set); got != 10_001 {
		t.Errorf("%d values in the set: those that no int32 equals are left out", got)
	}
}

// Steps that differ in a value alone are not one step.
func TestStepsByValue(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "f", Type: arrow.PrimitiveTypes.Float64}}, nil)
	pairs := [][2]*Expr{
		{Col("s").In("a", "bc"), Col("s").In("ab", "c")},
		{Col("s").In("a", nil), Col("s").In("a")},
		{Col("s").In("a", ""), Col("s").In("a", nil)},
		{Col("s").Eq("a"), Col("s").Eq("b")},
		{Col("f").Add(0.0), Col("f").Add(math.Copysign(0, -1))},
		{Col("f").In(1.0, 2.0), Col("f").In(2.0)},
		{Col("f").Cast(arrow.PrimitiveTypes.Int32), Col("f").Cast(arrow.PrimitiveTypes.Int64)},
		{Col("f").Lt(1.0), Col("f").Le(1.0)},
	}
	for _, p := range pairs {
		b, err := BindAll(schema, p[0], p[1], p[0])
		if err != nil {
			t.Fatal(err)
		}
		if b.roots[0] == b.roots[1] {
			t.Errorf("%s and %s are one step", p[0], p[1])
		}
		if b.roots[0] != b.roots[2] {
			t.Errorf("%s is two steps", p[0])
		}
	}
}

// An error about a long list shows some of it.
func TestErrorOfLongList(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.FixedWidthTypes.Boolean}}, nil)
	values := make([]any, 1000)
	for i := range values {
		values[i] = kernels.Text(arrow.BinaryTypes.String, "x")
	}
	_, err := Col("a").In(values...).Bind(schema)
	if err == nil || !strings.Contains(err.Error(), "993 more") || len(err.Error()) > 1000 {
		t.Errorf("error %v", err)
	}
}
