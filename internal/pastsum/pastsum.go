// Package pastsum adds vectors and stores what they come to past the caches, line by line: each vector is read once, and
// results are written without being read before. On Zen 4 two threads reach 0.74 to 0.88 of the bandwidth of a copy so
// (BenchmarkSums, three runs): they read two bytes for one that they store.
package pastsum

import "unsafe"

// Line is how many bytes are stored at once.
const Line = 64

// number is what there are loops for. Sums of integers wrap and are those of unsigned ones.
type number interface {
	uint32 | uint64 | float32 | float64
}

// Func sets every one of into to the sum of all of of, added in the order of the canonical tree over them, and says whether it
// did: it knows 2 and 4 vectors and one result or as many as vectors, which lie alike within lines. All are whole
// elements of one length, and results overlap with nothing. What others do with results is to come after
// pastcopy.Fence.
type Func func(into, of [][]byte) bool

// The sums by type; nil where the processor has no loops for them.
var (
	Uint32  = sumOf(uint32Loops)
	Uint64  = sumOf(uint64Loops)
	Float32 = sumOf(float32Loops)
	Float64 = sumOf(float64Loops)
)

// loops are those of a type, for whole lines.
type loops[T number] struct {
	twoToOne   func(d0, v0, v1 []T)
	twoToTwo   func(d0, d1, v0, v1 []T)
	fourToOne  func(d0, v0, v1, v2, v3 []T)
	fourToFour func(d0, d1, d2, d3, v0, v1, v2, v3 []T)
}

func sumOf[T number](l loops[T]) Func {
	if l.twoToOne == nil {
		return nil
	}
	var t T
	size := int(unsafe.Sizeof(t))
	return func(into, of [][]byte) bool {
		if len(of) != 2 && len(of) != 4 || len(into) != 1 && len(into) != len(of) || !alike(into) {
			return false
		}
		n := len(into[0]) / size
		head := min(n, int(-address(into[0])&(Line-1))/size)
		whole := head + (n-head)&^(Line/size-1)
		few[T](into, of, 0, head)
		d, v := cut[T](into, head, whole), cut[T](of, head, whole)
		switch {
		case len(of) == 2 && len(into) == 1:
			l.twoToOne(d[0], v[0], v[1])
		case len(of) == 2:
			l.twoToTwo(d[0], d[1], v[0], v[1])
		case len(into) == 1:
			l.fourToOne(d[0], v[0], v[1], v[2], v[3])
		default:
			l.fourToFour(d[0], d[1], d[2], d[3], v[0], v[1], v[2], v[3])
		}
		few[T](into, of, whole, n)
		return true
	}
}

// few is the sum of elements [from, to).
func few[T number](into, of [][]byte, from, to int) {
	d, v := cut[T](into, from, to), cut[T](of, from, to)
	for i := range d[0] {
		s := v[0][i] + v[1][i]
		if len(of) == 4 {
			s += v[2][i] + v[3][i]
		}
		for r := range into {
			d[r][i] = s
		}
	}
}

// cut is elements [from, to) of up to four vectors.
func cut[T number](all [][]byte, from, to int) (part [4][]T) {
	var t T
	for i, v := range all {
		part[i] = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v))), len(v)/int(unsafe.Sizeof(t)))[from:to]
	}
	return part
}

// alike says whether vectors begin at the same place of a line.
func alike(all [][]byte) bool {
	for _, v := range all {
		if (address(v)^address(all[0]))&(Line-1) != 0 {
			return false
		}
	}
	return true
}

func address(v []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(v))) }
