package expr

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/kernels"
)

// TestMayBeTrueNeverLies: where rows are such that an expression is true of one,
// their ranges must say that it may be.
func TestMayBeTrueNeverLies(t *testing.T) {
	b, s := testBackend(t)
	texts := []string{
		"a > 5", "a >= 9 and b < -8", "a = 3 or b = 4", "not (a < 5)", "a is null", "a is not null and b is null",
		"a in (1, 9)", "a in (null)", "f < 0.5", "f <> 3", "f > a", "s = 'a'", "s > 'c' and s < 'd'", "a between 2 and 3",
		"a > 3.5", "a + 1 > 3", "and_not(a > 2, b > 2)", "a > 1 xor b > 1", "a = null", "a > 100", "a <> 3", "true", "1 = 2",
	}
	skipped := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		_, columns := randomRows(t, b, 1+r.IntN(4), seed)
		ranges := func(name string) (Range, bool) {
			if r.IntN(10) == 0 {
				return Range{}, false
			}
			return rangeOf(scalars(t, b, s, columns[rowSchema.FieldIndices(name)[0]]), r.IntN(4) > 0), true
		}
		for _, text := range texts {
			isTrue := false
			for _, v := range evalText(t, b, s, text, rowSchema, columns) {
				isTrue = isTrue || v.Valid() && v.Bool()
			}
			may := mustBind(t, text, rowSchema).MayBeTrue(ranges)
			if isTrue && !may {
				t.Fatalf("seed %d: %s is true of a row and was left out", seed, text)
			}
			if !may {
				skipped++
			}
		}
	}
	if skipped < 500 {
		t.Errorf("only %d of %d cases were left out", skipped, 200*len(texts))
	}
}

func rangeOf(values []kernels.Scalar, nulls bool) Range {
	out := Range{Rows: int64(len(values)), Nulls: -1}
	if nulls {
		out.Nulls = 0
	}
	for _, v := range values {
		if !v.Valid() {
			if nulls {
				out.Nulls++
			}
			continue
		}
		if out.Min.Type() == nil || kernels.CompareKeys(v, out.Min) < 0 {
			out.Min = v
		}
		if out.Max.Type() == nil || kernels.CompareKeys(v, out.Max) > 0 {
			out.Max = v
		}
	}
	return out
}

func TestMayBeTrue(t *testing.T) {
	known := map[string]Range{
		"delay":  {Min: kernels.Int(arrow.PrimitiveTypes.Int16, -5), Max: kernels.Int(arrow.PrimitiveTypes.Int16, 20), Rows: 10},
		"origin": {Min: kernels.String("B"), Max: kernels.String("D"), Nulls: 2, Rows: 10},
		"speed":  {Min: kernels.Float(arrow.PrimitiveTypes.Float32, 1), Max: kernels.Float(arrow.PrimitiveTypes.Float32, 1), Rows: 10},
	}
	ranges := func(name string) (Range, bool) { r, ok := known[name]; return r, ok }
	for text, want := range map[string]bool{
		"delay > 20": false, "delay >= 20": true, "delay > 19.5": true, "delay < -5": false, "delay = 21": false,
		"delay > 20 or origin = 'C'": true, "delay > 20 and late": false, "late": true, "delay is null": false,
		"origin is null": true, "origin in ('A', 'E')": false, "is_in(origin, 'A', null)": true, "origin in ('A', null)": false, "not origin in ('C')": true, "not delay <= 20": false,
		"speed <> 1": true, "speed > 1": false, "delay > 1000000": false, "distance > 5": true, "origin > 'D'": false,
	} {
		if got := mustBind(t, text, flights).MayBeTrue(ranges); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// A least value above the greatest, of whatever type, is not believed: nothing is left out by it.
func TestBoundsTheWrongWayRoundBoundNothing(t *testing.T) {
	price := &arrow.Decimal128Type{Precision: 9, Scale: 2}
	for _, c := range []struct {
		typ       arrow.DataType
		low, high kernels.Scalar
		texts     []string
	}{
		{arrow.PrimitiveTypes.Int64, kernels.Int64(9), kernels.Int64(1), []string{"x = 5", "x > 3", "x < 7", "x <> 5", "x in (5)", "x between 4 and 6", "not (x = 5)", "x + 0 = 5"}},
		{arrow.PrimitiveTypes.Float64, kernels.Float64(9), kernels.Float64(1), []string{"x = 5", "x > 3", "x < 7"}},
		{arrow.BinaryTypes.String, kernels.String("z"), kernels.String("a"), []string{"x = 'm'", "x > 'c'", "x in ('m', 'n')"}},
		{arrow.FixedWidthTypes.Date32, kernels.Int(arrow.FixedWidthTypes.Date32, 9), kernels.Int(arrow.FixedWidthTypes.Date32, 1), []string{"x = date '1970-01-06'", "x >= date '1970-01-06'"}},
		{price, kernels.Decimal(price, decimal128.FromI64(900)), kernels.Decimal(price, decimal128.FromI64(100)), []string{"x = 5", "x > 3.5"}},
	} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: c.typ}}, nil)
		for _, text := range c.texts {
			may := mustBind(t, text, schema).MayBeTrue(func(string) (Range, bool) { return Range{Min: c.low, Max: c.high, Rows: 10}, true })
			require.True(t, may, "%s of %s", text, c.typ)
		}
	}
}
