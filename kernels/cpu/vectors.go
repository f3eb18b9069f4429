package cpu

import "github.com/volley-go/volley/kernels"

// Columns is the loop of the best tier that this processor runs that computes
// dst[i] = a[i] op b[i], for Add, Subtract and Multiply; integers wrap. The three
// are of one length, and dst may be a or b. It is for those who have vectors and no
// columns: they choose the loop once. Results are the same on every tier.
func Columns[T number](op kernels.ArithmeticOp) func(dst, a, b []T) {
	l := &bestLoops().arithmetic
	var loop any
	switch any(T(0)).(type) {
	case int8:
		loop = l.i8.columns[op]
	case int16:
		loop = l.i16.columns[op]
	case int32:
		loop = l.i32.columns[op]
	case int64:
		loop = l.i64.columns[op]
	case uint8:
		loop = l.u8.columns[op]
	case uint16:
		loop = l.u16.columns[op]
	case uint32:
		loop = l.u32.columns[op]
	case uint64:
		loop = l.u64.columns[op]
	case float32:
		loop = l.f32.columns[op]
	case float64:
		loop = l.f64.columns[op]
	}
	f, _ := loop.(func(dst, a, b []T)) // the case is that of T
	return f
}

// Scalars is the loop of the best tier that this processor runs that computes
// dst[i] = a[i] op b, for Add, Subtract and Multiply. dst and a are of one length,
// and may be the same vector. Results are the same on every tier.
func Scalars[T float](op kernels.ArithmeticOp) func(dst, a []T, b T) {
	return arithmeticsOf[T](bestLoops()).right[op]
}

// SumBlocks is the loop of the best tier that this processor runs that sums as
// many blocks of kernels.ReduceBlock values as dst has room for, each in the
// shape of kernels.ReduceFunc. Results are the same on every tier.
func SumBlocks() func(dst, v []float64) { return bestLoops().reduce.sumBlocks }
