package collective

import (
	"github.com/volley-go/volley/internal/pastsum"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
)

// The loops of the reductions. Sums and products are those of the columns' kernels,
// which are bound by the caches.

// exact is Number without types that are made of its own.
type exact interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func sumOf[T exact]() foldFunc { return columns[T](kernels.Add) }

func prodOf[T exact]() foldFunc { return columns[T](kernels.Multiply) }

func columns[T exact](op kernels.ArithmeticOp) foldFunc {
	loop := cpu.Columns[T](op)
	return func(into, a, b []byte) { loop(as[T](into), as[T](a), as[T](b)) }
}

func minOf[T Number]() foldFunc {
	return func(into, a, b []byte) {
		d, x, y := as[T](into), as[T](a), as[T](b)
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = min(x[i], y[i])
		}
	}
}

func maxOf[T Number]() foldFunc {
	return func(into, a, b []byte) {
		d, x, y := as[T](into), as[T](a), as[T](b)
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = max(x[i], y[i])
		}
	}
}

// pastOf is the loop that stores sums past the caches, nil where a reduction is none or has none.
func pastOf(reduce uint8, t Type) pastsum.Func {
	if reduce != Sum.code && reduce != Avg.code {
		return nil
	}
	switch t {
	case Int32, Uint32:
		return pastsum.Uint32
	case Int64, Uint64:
		return pastsum.Uint64
	case Float32:
		return pastsum.Float32
	case Float64:
		return pastsum.Float64
	default:
		return nil
	}
}
