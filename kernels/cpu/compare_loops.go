package cpu

// The loops of Compare: eight rows to a byte, so that each comparison becomes
// one flag without a branch. dst has a bit for each row of a; what is left of
// its last byte becomes 0.

func equalColumns[T number](dst []byte, a, b []T) {
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 && len(dst) > 0 {
		x, y := (*[8]T)(a), (*[8]T)(b)
		dst[0] = bit(x[0] == y[0]) | bit(x[1] == y[1])<<1 | bit(x[2] == y[2])<<2 | bit(x[3] == y[3])<<3 |
			bit(x[4] == y[4])<<4 | bit(x[5] == y[5])<<5 | bit(x[6] == y[6])<<6 | bit(x[7] == y[7])<<7
		a, b, dst = a[8:], b[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x == b[i]) << uint(i)
		}
	}
}

func notEqualColumns[T number](dst []byte, a, b []T) {
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 && len(dst) > 0 {
		x, y := (*[8]T)(a), (*[8]T)(b)
		dst[0] = bit(x[0] != y[0]) | bit(x[1] != y[1])<<1 | bit(x[2] != y[2])<<2 | bit(x[3] != y[3])<<3 |
			bit(x[4] != y[4])<<4 | bit(x[5] != y[5])<<5 | bit(x[6] != y[6])<<6 | bit(x[7] != y[7])<<7
		a, b, dst = a[8:], b[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x != b[i]) << uint(i)
		}
	}
}

func lessColumns[T number](dst []byte, a, b []T) {
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 && len(dst) > 0 {
		x, y := (*[8]T)(a), (*[8]T)(b)
		dst[0] = bit(x[0] < y[0]) | bit(x[1] < y[1])<<1 | bit(x[2] < y[2])<<2 | bit(x[3] < y[3])<<3 |
			bit(x[4] < y[4])<<4 | bit(x[5] < y[5])<<5 | bit(x[6] < y[6])<<6 | bit(x[7] < y[7])<<7
		a, b, dst = a[8:], b[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x < b[i]) << uint(i)
		}
	}
}

func lessEqualColumns[T number](dst []byte, a, b []T) {
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 && len(dst) > 0 {
		x, y := (*[8]T)(a), (*[8]T)(b)
		dst[0] = bit(x[0] <= y[0]) | bit(x[1] <= y[1])<<1 | bit(x[2] <= y[2])<<2 | bit(x[3] <= y[3])<<3 |
			bit(x[4] <= y[4])<<4 | bit(x[5] <= y[5])<<5 | bit(x[6] <= y[6])<<6 | bit(x[7] <= y[7])<<7
		a, b, dst = a[8:], b[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x <= b[i]) << uint(i)
		}
	}
}

func equalScalar[T number](dst []byte, a []T, y T) {
	for len(a) >= 8 && len(dst) > 0 {
		x := (*[8]T)(a)
		dst[0] = bit(x[0] == y) | bit(x[1] == y)<<1 | bit(x[2] == y)<<2 | bit(x[3] == y)<<3 |
			bit(x[4] == y)<<4 | bit(x[5] == y)<<5 | bit(x[6] == y)<<6 | bit(x[7] == y)<<7
		a, dst = a[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x == y) << uint(i)
		}
	}
}

func notEqualScalar[T number](dst []byte, a []T, y T) {
	for len(a) >= 8 && len(dst) > 0 {
		x := (*[8]T)(a)
		dst[0] = bit(x[0] != y) | bit(x[1] != y)<<1 | bit(x[2] != y)<<2 | bit(x[3] != y)<<3 |
			bit(x[4] != y)<<4 | bit(x[5] != y)<<5 | bit(x[6] != y)<<6 | bit(x[7] != y)<<7
		a, dst = a[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x != y) << uint(i)
		}
	}
}

func lessScalar[T number](dst []byte, a []T, y T) {
	for len(a) >= 8 && len(dst) > 0 {
		x := (*[8]T)(a)
		dst[0] = bit(x[0] < y) | bit(x[1] < y)<<1 | bit(x[2] < y)<<2 | bit(x[3] < y)<<3 |
			bit(x[4] < y)<<4 | bit(x[5] < y)<<5 | bit(x[6] < y)<<6 | bit(x[7] < y)<<7
		a, dst = a[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x < y) << uint(i)
		}
	}
}

func lessEqualScalar[T number](dst []byte, a []T, y T) {
	for len(a) >= 8 && len(dst) > 0 {
		x := (*[8]T)(a)
		dst[0] = bit(x[0] <= y) | bit(x[1] <= y)<<1 | bit(x[2] <= y)<<2 | bit(x[3] <= y)<<3 |
			bit(x[4] <= y)<<4 | bit(x[5] <= y)<<5 | bit(x[6] <= y)<<6 | bit(x[7] <= y)<<7
		a, dst = a[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x <= y) << uint(i)
		}
	}
}

func greaterScalar[T number](dst []byte, a []T, y T) {
	for len(a) >= 8 && len(dst) > 0 {
		x := (*[8]T)(a)
		dst[0] = bit(x[0] > y) | bit(x[1] > y)<<1 | bit(x[2] > y)<<2 | bit(x[3] > y)<<3 |
			bit(x[4] > y)<<4 | bit(x[5] > y)<<5 | bit(x[6] > y)<<6 | bit(x[7] > y)<<7
		a, dst = a[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x > y) << uint(i)
		}
	}
}

func greaterEqualScalar[T number](dst []byte, a []T, y T) {
	for len(a) >= 8 && len(dst) > 0 {
		x := (*[8]T)(a)
		dst[0] = bit(x[0] >= y) | bit(x[1] >= y)<<1 | bit(x[2] >= y)<<2 | bit(x[3] >= y)<<3 |
			bit(x[4] >= y)<<4 | bit(x[5] >= y)<<5 | bit(x[6] >= y)<<6 | bit(x[7] >= y)<<7
		a, dst = a[8:], dst[1:]
	}
	if len(a) > 0 {
		dst[0] = 0
		for i, x := range a {
			dst[0] |= bit(x >= y) << uint(i)
		}
	}
}
