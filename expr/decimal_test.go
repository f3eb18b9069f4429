package expr

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// decimalsOf is a column of decimals that are written so; "" is null.
func decimalsOf(t *testing.T, b *kernels.Backend, s device.Stream, d *arrow.Decimal128Type, texts ...string) *memory.Column {
	t.Helper()
	var values []kernels.Scalar
	for _, text := range texts {
		if text == "" {
			values = append(values, kernels.Null(d))
			continue
		}
		v, err := parseValue(d, text)
		require.NoError(t, err)
		values = append(values, v)
	}
	c, err := b.FromScalars(context.Background(), s, d, values)
	require.NoError(t, err)
	return c
}

// TestDecimalExpressions: literals have their own scale, results the rule's, and
// nothing wraps.
func TestDecimalExpressions(t *testing.T) {
	b, s := testBackend(t)
	dec := func(p, s int32) *arrow.Decimal128Type { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	for _, c := range []struct {
		of     *arrow.Decimal128Type
		values []string
		text   string
		typ    string // of the result
		want   string
		fails  string
	}{
		{dec(38, 18), []string{"100", "-3.5", ""}, "a * 2", "decimal(38, 18)", "[200.000000000000000000 -7.000000000000000000 null]", ""},
		{dec(38, 18), []string{"100"}, "2 * a + 1", "decimal(38, 18)", "[201.000000000000000000]", ""},
		{dec(18, 4), []string{"10", "-10"}, "a * 2 / 3", "float64", "[6.666666666666667 -6.666666666666667]", ""},
		{dec(10, 2), []string{"1.50"}, "a * 0.125", "decimal(14, 5)", "[0.18750]", ""},
		{dec(10, 2), []string{"1.50"}, "a + 0.125", "decimal(12, 3)", "[1.625]", ""},
		{dec(10, 2), []string{"1.50"}, "a - '0.5'", "decimal(11, 2)", "[1.00]", ""},
		{dec(10, 2), []string{"7.75"}, "a % 2", "decimal(3, 2)", "[1.75]", ""},
		{dec(38, 18), []string{"3", "7"}, "a / a", "float64", "[1 1]", ""},
		{dec(10, 2), []string{"1.50", "", "-3"}, "a / 0.3", "float64", "[5 null -10]", ""},
		{dec(10, 2), []string{"1.50"}, "divide_checked(a, 4)", "float64", "[0.375]", ""},
		{dec(10, 2), []string{"1.50"}, "3 / a", "float64", "[2]", ""},
		{dec(10, 2), []string{"1.50"}, "a / '0.5'", "float64", "[3]", ""},
		{dec(10, 2), []string{"1.50", "0"}, "cast(a as float64) / a", "float64", "[1 NaN]", ""},
		{dec(10, 2), []string{"1.50"}, "a / null", "float64", "[null]", ""},
		{dec(38, 0), []string{"99999999999999999999999999999999999999"}, "a + 1", "", "", "a + 1"},
		{dec(38, 0), []string{"5", "60000000000000000000000000000000000000"}, "a * 2", "", "", "a * 2"},
		{dec(38, 0), []string{"-60000000000000000000000000000000000000"}, "a + a", "", "", "a + a"},
		{dec(38, 18), []string{"12345678901"}, "a * a", "", "", "a * a"},
		{dec(38, 20), []string{"1"}, "a * a", "", "", "scale would be 40"},
		{dec(38, 0), []string{"99999999999999999999999999999999999999"}, "-a - 1", "", "", "-a - 1"},
	} {
		column := decimalsOf(t, b, s, c.of, c.values...)
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: c.of, Nullable: true}}, nil)
		e, err := Parse(c.text)
		require.NoError(t, err)
		for _, times := range []int{1, 200000} { // in one piece, and in runs
			in := column.Retain()
			if times > 1 {
				in.Release()
				in = repeated(t, b, s, column, times)
			}
			bound, err := e.Bind(schema)
			var out *memory.Column
			if err == nil {
				out, err = bound.Eval(context.Background(), b, s, in.Len(), []*memory.Column{in})
			}
			in.Release()
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails, c.text)
				require.True(t, errors.Is(err, device.ErrValue) || strings.Contains(c.fails, "scale"), "%v", err)
				continue
			}
			require.NoError(t, err, c.text)
			require.Equal(t, c.typ, out.Type().String(), c.text)
			first, err := out.Slice(0, column.Len())
			require.NoError(t, err)
			require.Equal(t, c.want, shownColumn(t, b, s, first), c.text)
			first.Release()
			out.Release()
		}
		column.Release()
	}
}

// repeated is a column over and over.
func repeated(t *testing.T, b *kernels.Backend, s device.Stream, c *memory.Column, times int) *memory.Column {
	t.Helper()
	all := make([]*memory.Column, times)
	for i := range all {
		all[i] = c
	}
	out, err := b.Concat(context.Background(), s, all)
	require.NoError(t, err)
	return out
}

// shownColumn is the values of a column.
func shownColumn(t *testing.T, b *kernels.Backend, s device.Stream, c *memory.Column) string {
	t.Helper()
	var all []string
	for i := range c.Len() {
		v, err := b.Scalar(context.Background(), s, c, i)
		require.NoError(t, err)
		if !v.Valid() {
			all = append(all, "null")
			continue
		}
		all = append(all, v.String())
	}
	return "[" + strings.Join(all, " ") + "]"
}

// TestDecimalComparisons: a literal with other digits than the column's is compared
// as the number that it is.
func TestDecimalComparisons(t *testing.T) {
	b, s := testBackend(t)
	d := &arrow.Decimal128Type{Precision: 38, Scale: 2}
	column := decimalsOf(t, b, s, d, "1.50", "-1.25", "", "999999999999999999999999999999999999.99", "2.00")
	defer column.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: d, Nullable: true}}, nil)
	for text, want := range map[string]string{
		"a = 1.5":                            "[true false null false false]",
		"a = decimal(2, 1) '1.5'":            "[true false null false false]",
		"a <> 1.501":                         "[true true null true true]",
		"a = 1.501":                          "[false false null false false]",
		"a < 1.501":                          "[true true null false false]",
		"a >= 1.499":                         "[true false null true true]",
		"a > -1.251":                         "[true true null true true]",
		"a <= -1.2501":                       "[false false null false false]",
		"1.501 < a":                          "[false false null true true]",
		"a < 1e300":                          "[true true null true true]",
		"a > 1e300":                          "[false false null false false]",
		"a > -1e300":                         "[true true null true true]",
		"a = 2":                              "[false false null false true]",
		"is_in(a, decimal(2, 1) '1.5')":      "[true false false false false]",
		"is_in(a, decimal(5, 3) '1.500')":    "[true false false false false]",
		"is_in(a, decimal(5, 3) '1.501', 2)": "[false false false false true]",
		"is_in(a, 1.5, null)":                "[true false true false false]",
		"a in (1.5)":                         "[true false null false false]",
		"a in (1.5, null)":                   "[true null null null null]",
		"a not in (2)":                       "[true true null true false]",
		"a not in (2, null)":                 "[null null null null false]",
		"not is_in(a, 2, null)":              "[true true false true false]",
		"a in (null)":                        "[null null null null null]",
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		again, err := Parse(e.String())
		require.NoError(t, err, text)
		require.Equal(t, e.String(), again.String())
		for _, e := range []*Expr{e, again} {
			bound, err := e.Bind(schema)
			require.NoError(t, err, text)
			out, err := bound.Eval(context.Background(), b, s, column.Len(), []*memory.Column{column})
			require.NoError(t, err, text)
			require.Equal(t, want, shownColumn(t, b, s, out), text)
			out.Release()
		}
	}
}

// TestInOfOtherTypes: a decimal among integers or floats is the number that it is.
func TestInOfOtherTypes(t *testing.T) {
	b, s := testBackend(t)
	i64, err := b.FromScalars(context.Background(), s, arrow.PrimitiveTypes.Int64, []kernels.Scalar{kernels.Int64(1), kernels.Int64(2)})
	require.NoError(t, err)
	defer i64.Release()
	f64, err := b.FromScalars(context.Background(), s, arrow.PrimitiveTypes.Float64, []kernels.Scalar{kernels.Float64(0.1), kernels.Float64(2)})
	require.NoError(t, err)
	defer f64.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: i64.Type(), Nullable: true}, {Name: "f", Type: f64.Type(), Nullable: true}}, nil)
	for text, want := range map[string]string{
		"i in (decimal(3, 1) '2.0')": "[false true]", "i in (decimal(3, 1) '2.5', 1)": "[true false]", "f in (decimal(3, 2) '0.10')": "[true false]",
		"i = decimal(3, 1) '2.0'": "[false true]", "i < decimal(3, 1) '1.5'": "[true false]",
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		bound, err := e.Bind(schema)
		require.NoError(t, err, text)
		out, err := bound.Eval(context.Background(), b, s, 2, []*memory.Column{i64, f64})
		require.NoError(t, err, text)
		require.Equal(t, want, shownColumn(t, b, s, out), text)
		out.Release()
	}
}
