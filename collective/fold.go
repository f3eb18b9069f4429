package collective

// The loops of the reductions. Four elements a turn: the compiler keeps them in
// registers and checks bounds once, which is enough to be bound by memory where a
// vector does not fit the cache.

func sumOf[T Number]() foldFunc {
	return func(into, a, b []byte) {
		d, x, y := as[T](into), as[T](a), as[T](b)
		x, y = x[:len(d)], y[:len(d)]
		for len(d) >= 4 {
			x4, y4, d4 := (*[4]T)(x), (*[4]T)(y), (*[4]T)(d)
			d4[0], d4[1], d4[2], d4[3] = x4[0]+y4[0], x4[1]+y4[1], x4[2]+y4[2], x4[3]+y4[3]
			d, x, y = d[4:], x[4:], y[4:]
		}
		for i := range d {
			d[i] = x[i] + y[i]
		}
	}
}

func prodOf[T Number]() foldFunc {
	return func(into, a, b []byte) {
		d, x, y := as[T](into), as[T](a), as[T](b)
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = x[i] * y[i]
		}
	}
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
