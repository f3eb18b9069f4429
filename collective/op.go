package collective

import (
	"fmt"
	"hash/fnv"

	"github.com/volley-go/volley/internal/float16"
)

// Op is a reduction: an associative function of two elements.
type Op struct {
	name    string
	code    uint8
	orders  bool // must be applied in the ranks' order
	average bool
	fold    func(t Type) foldFunc // nil for a type that it is not defined for
}

// foldFunc sets into[i] = a[i] ⊕ b[i] over whole elements; into may be a or b.
type foldFunc func(into, a, b []byte)

// The reductions. Avg is the sum divided by the number of ranks, for integers cut
// towards zero. And, Or and Xor are bitwise, for integers.
var (
	Sum  = Op{name: "sum", code: 1, fold: foldSum}
	Prod = Op{name: "prod", code: 2, fold: foldProd}
	Min  = Op{name: "min", code: 3, fold: foldMin}
	Max  = Op{name: "max", code: 4, fold: foldMax}
	Avg  = Op{name: "avg", code: 5, fold: foldSum, average: true}
	And  = Op{name: "and", code: 6, fold: foldAnd}
	Or   = Op{name: "or", code: 7, fold: foldOr}
	Xor  = Op{name: "xor", code: 8, fold: foldXor}
)

// String is the reduction's name.
func (o Op) String() string { return o.name }

// User says that NewOp made it.
func (o Op) User() bool { return isUser(o.code) }

// userOp is the lowest code of reductions made by NewOp; the others come from their names,
// so that ranks that name different ones are seen to.
const userOp = 128

func isUser(code uint8) bool { return code >= userOp }

// folds are the loops of the reductions above, by code and type.
var folds = func() (all [9][len(typeNames)]foldFunc) {
	for _, o := range []Op{Sum, Prod, Min, Max, Avg, And, Or, Xor} {
		for t := range typeNames {
			all[o.code][t] = o.fold(Type(t))
		}
	}
	return all
}()

// of is the loop for a type, nil where there is none.
func (o Op) of(t Type) foldFunc {
	if int(o.code) < len(folds) && int(t) < len(typeNames) {
		return folds[o.code][t]
	}
	return o.fold(t)
}

// NewOp makes a reduction of an associative function of two elements of one type; one of
// float32 is for float16 and bfloat16 vectors too, which are combined as float32.
// Where it does not commute, say so: then only algorithms that keep the ranks in
// order are used, and a is always the element of the lower ranks. The function is
// called from the goroutine of the operation, and must give the same on all ranks, which
// also give it the same name. Where it panics the operation ends on all ranks, with a Fault
// that is Canceled.
func NewOp[T Number](name string, commutes bool, f func(a, b T) T) Op {
	typ, sum := typeOf[T](), fnv.New32a()
	fmt.Fprintf(sum, "%s %t", name, commutes)
	return Op{name: name, code: userOp | uint8(sum.Sum32()>>25), orders: !commutes, fold: func(t Type) foldFunc {
		if f == nil {
			return nil
		}
		if half, ok := any(f).(func(a, b float32) float32); ok && t == Float16 {
			return foldHalves(half, float16.Widen, float16.Round)
		} else if ok && t == BFloat16 {
			return foldHalves(half, float16.WidenBrain, float16.RoundBrain)
		}
		if t != typ {
			return nil
		}
		return func(into, a, b []byte) {
			x, y := as[T](a), as[T](b)
			for i := range as[T](into) {
				as[T](into)[i] = f(x[i], y[i])
			}
		}
	}}
}

// byType chooses the loop for a type; the 16-bit floats go by way of float32.
func byType(t Type, i8 func() foldFunc, i16, i32, i64, u8, u16, u32, u64, f32, f64 func() foldFunc, half func(a, b float32) float32) foldFunc {
	choose := func(f func() foldFunc) foldFunc {
		if f == nil {
			return nil
		}
		return f()
	}
	switch t {
	case Int8:
		return choose(i8)
	case Int16:
		return choose(i16)
	case Int32:
		return choose(i32)
	case Int64:
		return choose(i64)
	case Uint8:
		return choose(u8)
	case Uint16:
		return choose(u16)
	case Uint32:
		return choose(u32)
	case Uint64:
		return choose(u64)
	case Float32:
		return choose(f32)
	case Float64:
		return choose(f64)
	case Float16:
		return foldHalves(half, float16.Widen, float16.Round)
	case BFloat16:
		return foldHalves(half, float16.WidenBrain, float16.RoundBrain)
	}
	return nil
}

func foldHalves(f func(a, b float32) float32, from func(uint16) float32, to func(float32) uint16) foldFunc {
	if f == nil {
		return nil
	}
	return func(into, a, b []byte) {
		x, y := as[uint16](a), as[uint16](b)
		for i := range as[uint16](into) {
			as[uint16](into)[i] = to(f(from(x[i]), from(y[i])))
		}
	}
}

func foldSum(t Type) foldFunc {
	return byType(t, sumOf[int8], sumOf[int16], sumOf[int32], sumOf[int64], sumOf[uint8], sumOf[uint16], sumOf[uint32], sumOf[uint64],
		sumOf[float32], sumOf[float64], func(a, b float32) float32 { return a + b })
}

func foldProd(t Type) foldFunc {
	return byType(t, prodOf[int8], prodOf[int16], prodOf[int32], prodOf[int64], prodOf[uint8], prodOf[uint16], prodOf[uint32], prodOf[uint64],
		prodOf[float32], prodOf[float64], func(a, b float32) float32 { return a * b })
}

func foldMin(t Type) foldFunc {
	return byType(t, minOf[int8], minOf[int16], minOf[int32], minOf[int64], minOf[uint8], minOf[uint16], minOf[uint32], minOf[uint64],
		minOf[float32], minOf[float64], func(a, b float32) float32 { return min(a, b) })
}

func foldMax(t Type) foldFunc {
	return byType(t, maxOf[int8], maxOf[int16], maxOf[int32], maxOf[int64], maxOf[uint8], maxOf[uint16], maxOf[uint32], maxOf[uint64],
		maxOf[float32], maxOf[float64], func(a, b float32) float32 { return max(a, b) })
}

func foldAnd(t Type) foldFunc {
	return bitwise(t, func(into, a, b []uint64) {
		for i := range into {
			into[i] = a[i] & b[i]
		}
	}, func(a, b byte) byte { return a & b })
}

func foldOr(t Type) foldFunc {
	return bitwise(t, func(into, a, b []uint64) {
		for i := range into {
			into[i] = a[i] | b[i]
		}
	}, func(a, b byte) byte { return a | b })
}

func foldXor(t Type) foldFunc {
	return bitwise(t, func(into, a, b []uint64) {
		for i := range into {
			into[i] = a[i] ^ b[i]
		}
	}, func(a, b byte) byte { return a ^ b })
}

// bitwise works on words, whatever the integer's width.
func bitwise(t Type, words func(into, a, b []uint64), tail func(a, b byte) byte) foldFunc {
	if t < Int8 || t > Uint64 {
		return nil
	}
	return func(into, a, b []byte) {
		n := len(into) &^ 7
		words(as[uint64](into[:n]), as[uint64](a[:n]), as[uint64](b[:n]))
		for i := n; i < len(into); i++ {
			into[i] = tail(a[i], b[i])
		}
	}
}

// divide turns a sum into an average in place.
func divide(t Type, v []byte, n int) {
	switch t {
	case Int8:
		divideBy(as[int8](v), func(x int8) int8 { return int8(int64(x) / int64(n)) })
	case Int16:
		divideBy(as[int16](v), func(x int16) int16 { return int16(int64(x) / int64(n)) })
	case Int32:
		divideBy(as[int32](v), func(x int32) int32 { return int32(int64(x) / int64(n)) })
	case Int64:
		divideBy(as[int64](v), func(x int64) int64 { return x / int64(n) })
	case Uint8:
		divideBy(as[uint8](v), func(x uint8) uint8 { return uint8(uint64(x) / uint64(n)) })
	case Uint16:
		divideBy(as[uint16](v), func(x uint16) uint16 { return uint16(uint64(x) / uint64(n)) })
	case Uint32:
		divideBy(as[uint32](v), func(x uint32) uint32 { return uint32(uint64(x) / uint64(n)) })
	case Uint64:
		divideBy(as[uint64](v), func(x uint64) uint64 { return x / uint64(n) })
	case Float32:
		divideBy(as[float32](v), func(x float32) float32 { return x / float32(n) })
	case Float64:
		divideBy(as[float64](v), func(x float64) float64 { return x / float64(n) })
	case Float16:
		divideBy(as[uint16](v), func(x uint16) uint16 { return float16.Round(float16.Widen(x) / float32(n)) })
	case BFloat16:
		divideBy(as[uint16](v), func(x uint16) uint16 { return float16.RoundBrain(float16.WidenBrain(x) / float32(n)) })
	}
}

func divideBy[T Number](v []T, f func(T) T) {
	for i, x := range v {
		v[i] = f(x)
	}
}
