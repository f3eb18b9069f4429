package cpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// sameKeys gives a function that tells whether row i of a and row j of b, of
// the same types, have equal keys.
func sameKeys(a, b *keyspace) func(i, j uint32) bool {
	all := make([]func(i, j uint32) bool, len(a.cols))
	for k := range a.cols {
		all[k] = sameColumn(a.cols[k], b.cols[k])
	}
	if len(all) == 1 {
		return all[0]
	}
	return func(i, j uint32) bool {
		for _, same := range all {
			if !same(i, j) {
				return false
			}
		}
		return true
	}
}

func sameColumn(a, b *keyColumn) func(i, j uint32) bool {
	same := sameValues(a, b)
	va, vb, oa, ob := a.c.Validity(), b.c.Validity(), a.c.Offset(), b.c.Offset()
	if va == nil && vb == nil || a.c.Type().ID() == arrow.DICTIONARY {
		return same
	}
	return func(i, j uint32) bool {
		x := va == nil || va.Get(oa+int64(i))
		y := vb == nil || vb.Get(ob+int64(j))
		return x == y && (!x || same(i, j))
	}
}

func sameValues(a, b *keyColumn) func(i, j uint32) bool {
	switch a.c.Type().ID() {
	case arrow.NULL:
		return func(i, j uint32) bool { return true }
	case arrow.BOOL:
		x, y := a.c.Bits(), b.c.Bits()
		return func(i, j uint32) bool { return x.Get(a.c.Offset()+int64(i)) == y.Get(b.c.Offset()+int64(j)) }
	case arrow.FLOAT32:
		return sameFloats[float32](a.c, b.c)
	case arrow.FLOAT64:
		return sameFloats[float64](a.c, b.c)
	case arrow.STRING, arrow.BINARY:
		return sameStrings[int32](a.c, b.c)
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return sameStrings[int64](a.c, b.c)
	case arrow.DICTIONARY:
		return func(i, j uint32) bool { return a.indexCode(i) == b.indexCode(j) }
	}
	switch memory.Width(a.c.Type()) {
	case 1:
		return sameFixed[uint8](a.c, b.c)
	case 2:
		return sameFixed[uint16](a.c, b.c)
	case 4:
		return sameFixed[uint32](a.c, b.c)
	case 8:
		return sameFixed[uint64](a.c, b.c)
	default:
		return sameFixed[[2]uint64](a.c, b.c)
	}
}

func sameFixed[T comparable](a, b *memory.Column) func(i, j uint32) bool {
	x, y := memory.Values[T](a), memory.Values[T](b)
	return func(i, j uint32) bool { return x[i] == y[j] }
}

func sameFloats[T float32 | float64](a, b *memory.Column) func(i, j uint32) bool {
	x, y := memory.Values[T](a), memory.Values[T](b)
	return func(i, j uint32) bool {
		return x[i] == y[j] || x[i] != x[i] && y[j] != y[j]
	}
}

func sameStrings[T int32 | int64](a, b *memory.Column) func(i, j uint32) bool {
	x, y, xs, ys := memory.Offsets[T](a), memory.Offsets[T](b), bytesOf(a), bytesOf(b)
	return func(i, j uint32) bool {
		return string(xs[x[i]:x[i+1]]) == string(ys[y[j]:y[j+1]])
	}
}

// indexCode is the code of a dictionary's value, missing where it is null.
func (k *keyColumn) indexCode(row uint32) uint64 {
	if k.c.IsNull(int64(row)) {
		return missing
	}
	return k.codes[k.c.Index(int64(row))]
}
