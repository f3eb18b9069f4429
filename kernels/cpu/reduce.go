package cpu

import (
	"context"
	"math"
	"math/big"
	"math/bits"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func (l *loops) reduceColumn(ctx context.Context, s device.Stream, op kernels.Aggregation, c *memory.Column, o kernels.AggregateOptions) (*memory.Column, error) {
	t, err := kernels.AggregateType(op, c.Type())
	if err != nil {
		return nil, err
	}
	if op == kernels.ArgMin || op == kernels.ArgMax {
		t = kernels.IndexType(c.Len())
	}
	v, err := l.reduced(ctx, s, op, t, c, o)
	if err != nil {
		return nil, err
	}
	return kernels.FromScalars(s.Device().Memory(), t, []kernels.Scalar{v.As(t)})
}

// reduced is the result as a scalar.
func (l *loops) reduced(ctx context.Context, s device.Stream, op kernels.Aggregation, t arrow.DataType, c *memory.Column, o kernels.AggregateOptions) (kernels.Scalar, error) {
	rows := c.Len()
	if op == kernels.CountAll {
		return kernels.Int64(rows), nil
	}
	valid, err := countValid(ctx, c)
	if err != nil {
		return kernels.Scalar{}, err
	}
	null := kernels.Null(t)
	switch {
	case op == kernels.Count:
		return kernels.Int64(valid), nil
	case op == kernels.CountDistinct && valid == 0:
		return kernels.Int64(0), nil
	case op == kernels.CountDistinct:
		n, err := countDistinct(ctx, l, s, c, valid)
		return kernels.Int64(n), err
	case op == kernels.Any || op == kernels.All:
		trues := int64(0)
		if valid > 0 {
			if trues, err = l.countTrue(ctx, c); err != nil {
				return null, err
			}
		}
		if v, known := o.Judge(op, trues > 0, trues < valid, rows, valid); known {
			return kernels.Bool(v), nil
		}
		return null, nil
	case o.Nulled(op, rows, valid):
		return null, nil
	case op == kernels.Sum || op == kernels.Product || op == kernels.SumWrapping:
		return l.fold(ctx, op, t, c, valid)
	case valid == 0:
		return null, nil
	case op == kernels.Mean || op == kernels.Var || op == kernels.Std:
		return l.moment(ctx, op, t, c, valid, o)
	}
	row, err := l.pickRow(ctx, op, c)
	if err != nil {
		return null, err
	}
	if op == kernels.ArgMin || op == kernels.ArgMax {
		return kernels.Int(t, row), nil
	}
	return kernels.ScalarAt(c, row), nil
}

// valueType is the type of the values that rows stand for.
func valueType(c *memory.Column) arrow.DataType {
	if d, ok := c.Type().(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return c.Type()
}

// countValid is the number of rows that are not null.
func countValid(ctx context.Context, c *memory.Column) (int64, error) {
	if !dictionaryNulls(c) {
		return c.Len() - c.NullCount(), nil
	}
	var n atomic.Int64
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		k := 0
		for i := s.from; i < s.to; i += 64 {
			k += bits.OnesCount64(validWord(c, i, min(64, s.to-i)))
		}
		n.Add(int64(k))
		return nil
	})
	return n.Load(), err
}

// trueWord is rows [i, i+n) of a column of bools, n <= 64, as bits that are set
// where the value is true and not null.
func trueWord(c *memory.Column, i, n int64) uint64 {
	valid := validWord(c, i, n)
	d := c.Dictionary()
	if d == nil {
		return c.Bits().Word(c.Offset()+i, n) & valid
	}
	w := uint64(0)
	for rest := valid; rest != 0; rest &= rest - 1 {
		k := bits.TrailingZeros64(rest)
		if d.Bits().Get(d.Offset() + c.Index(i+int64(k))) {
			w |= 1 << uint(k)
		}
	}
	return w
}

// countTrue is the number of trues of a column of bools.
func (l *loops) countTrue(ctx context.Context, c *memory.Column) (int64, error) {
	var n atomic.Int64
	if c.Dictionary() == nil && !hasNulls(c) && c.Offset()&7 == 0 && c.Len() > 0 {
		bytes := c.Bits()[c.Offset()>>3:]
		err := parallelBy(ctx, bitMorsel, c.Len(), func(_ int, s span) error {
			whole := s.to &^ 7
			n.Add(int64(l.bitmap.count(bytes[s.from>>3:whole>>3])) + memory.Bitmap(bytes).Count(whole, s.to-whole))
			return nil
		})
		return n.Load(), err
	}
	err := parallel(ctx, c.Len(), func(_ int, s span) error {
		k := 0
		for i := s.from; i < s.to; i += 64 {
			k += bits.OnesCount64(trueWord(c, i, min(64, s.to-i)))
		}
		n.Add(int64(k))
		return nil
	})
	return n.Load(), err
}

// fold is Sum, SumWrapping or Product, of type t.
func (l *loops) fold(ctx context.Context, op kernels.Aggregation, t arrow.DataType, c *memory.Column, valid int64) (kernels.Scalar, error) {
	v := valueType(c)
	nothing := int64(0)
	if op == kernels.Product {
		nothing = 1
	}
	switch {
	case valid == 0 && t.ID() == arrow.DECIMAL128:
		return kernels.Decimal(t, decimal128.Num{}), nil
	case valid == 0 && t.ID() == arrow.FLOAT64:
		return kernels.Float64(float64(nothing)), nil
	case valid == 0:
		return kernels.Int(t, nothing), nil
	case t.ID() == arrow.FLOAT64 && op == kernels.Sum:
		sum, err := l.sumFloats(ctx, c)
		return kernels.Float64(sum), err
	case t.ID() == arrow.FLOAT64:
		product, err := multiplyFloats(ctx, c)
		return kernels.Float64(product), err
	case v.ID() == arrow.BOOL:
		n, err := l.countTrue(ctx, c)
		return kernels.Int(t, n), err
	case op == kernels.SumWrapping:
		sum, err := l.sumRuns(ctx, c)
		return kernels.Int(t, int64(sum.low)), err
	case op == kernels.Product:
		return l.product(ctx, t, c)
	}
	sum, err := l.exactSum(ctx, c)
	if err != nil {
		return kernels.Scalar{}, err
	}
	return kernels.Total(op, t, sum)
}

// exactSum is the sum of a column of integers or decimals (unscaled).
func (l *loops) exactSum(ctx context.Context, c *memory.Column) (*big.Int, error) {
	if valueType(c).ID() == arrow.DECIMAL128 {
		return l.sumDecimals(ctx, c)
	}
	return l.exactIntegers(ctx, c)
}

// product is Product of integers.
func (l *loops) product(ctx context.Context, t arrow.DataType, c *memory.Column) (kernels.Scalar, error) {
	product, err := l.exactProduct(ctx, c)
	if err != nil {
		return kernels.Scalar{}, err
	}
	v, fits := product.Bits(kernels.SignedTypes.Has(t.ID()))
	if !fits {
		return kernels.Scalar{}, &kernels.OverflowError{Op: kernels.Product, Type: t}
	}
	return kernels.Int(t, int64(v)), nil
}

// moment is Mean, Var or Std of values of which there are some.
func (l *loops) moment(ctx context.Context, op kernels.Aggregation, t arrow.DataType, c *memory.Column, valid int64, o kernels.AggregateOptions) (kernels.Scalar, error) {
	if op != kernels.Mean && valid <= int64(o.Ddof) {
		return kernels.Null(t), nil
	}
	var d, squares float64
	var err error
	if op != kernels.Mean && kernels.FromLeast(valueType(c)) {
		d, squares, err = l.deviationsFromLeast(ctx, c, valid)
	} else {
		var mean float64
		if mean, err = l.meanOf(ctx, c, valid); op == kernels.Mean {
			return kernels.Float64(mean), err
		}
		if err == nil {
			d, squares, err = l.deviations(ctx, c, mean)
		}
	}
	if err != nil {
		return kernels.Scalar{}, err
	}
	v := kernels.Variance(d, squares, valid, o.Ddof)
	if op == kernels.Std {
		v = math.Sqrt(v)
	}
	return kernels.Float64(v), nil
}

func (l *loops) meanOf(ctx context.Context, c *memory.Column, valid int64) (float64, error) {
	v := valueType(c)
	switch {
	case kernels.FloatTypes.Has(v.ID()):
		sum, err := l.sumFloats(ctx, c)
		return sum / float64(valid), err
	case v.ID() == arrow.BOOL:
		n, err := l.countTrue(ctx, c)
		return float64(n) / float64(valid), err
	}
	sum, err := l.exactSum(ctx, c)
	if err != nil {
		return 0, err
	}
	f, _ := new(big.Float).SetInt(sum).Float64()
	if d, ok := v.(*arrow.Decimal128Type); ok {
		f /= math.Pow10(int(d.Scale))
	}
	return f / float64(valid), nil
}
