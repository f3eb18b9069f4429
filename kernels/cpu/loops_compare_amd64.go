//go:build amd64 && !purego

package cpu

// compareStep is the rows that the assembly of the family takes at a time.
const compareStep = 64

func (l *compareLoops) avx2() {
	l.i8.whole(
		[6]func([]byte, []int8, int8){equalScalarInt8AVX2, notEqualScalarInt8AVX2, lessScalarInt8AVX2, lessEqualScalarInt8AVX2, greaterScalarInt8AVX2, greaterEqualScalarInt8AVX2},
		[4]func([]byte, []int8, []int8){equalColumnsInt8AVX2, notEqualColumnsInt8AVX2, lessColumnsInt8AVX2, lessEqualColumnsInt8AVX2})
	l.i16.whole(
		[6]func([]byte, []int16, int16){equalScalarInt16AVX2, notEqualScalarInt16AVX2, lessScalarInt16AVX2, lessEqualScalarInt16AVX2, greaterScalarInt16AVX2, greaterEqualScalarInt16AVX2},
		[4]func([]byte, []int16, []int16){equalColumnsInt16AVX2, notEqualColumnsInt16AVX2, lessColumnsInt16AVX2, lessEqualColumnsInt16AVX2})
	l.i32.whole(
		[6]func([]byte, []int32, int32){equalScalarInt32AVX2, notEqualScalarInt32AVX2, lessScalarInt32AVX2, lessEqualScalarInt32AVX2, greaterScalarInt32AVX2, greaterEqualScalarInt32AVX2},
		[4]func([]byte, []int32, []int32){equalColumnsInt32AVX2, notEqualColumnsInt32AVX2, lessColumnsInt32AVX2, lessEqualColumnsInt32AVX2})
	l.i64.whole(
		[6]func([]byte, []int64, int64){equalScalarInt64AVX2, notEqualScalarInt64AVX2, lessScalarInt64AVX2, lessEqualScalarInt64AVX2, greaterScalarInt64AVX2, greaterEqualScalarInt64AVX2},
		[4]func([]byte, []int64, []int64){equalColumnsInt64AVX2, notEqualColumnsInt64AVX2, lessColumnsInt64AVX2, lessEqualColumnsInt64AVX2})
	l.u8.whole(
		[6]func([]byte, []uint8, uint8){equalScalarUint8AVX2, notEqualScalarUint8AVX2, lessScalarUint8AVX2, lessEqualScalarUint8AVX2, greaterScalarUint8AVX2, greaterEqualScalarUint8AVX2},
		[4]func([]byte, []uint8, []uint8){equalColumnsUint8AVX2, notEqualColumnsUint8AVX2, lessColumnsUint8AVX2, lessEqualColumnsUint8AVX2})
	l.u16.whole(
		[6]func([]byte, []uint16, uint16){equalScalarUint16AVX2, notEqualScalarUint16AVX2, lessScalarUint16AVX2, lessEqualScalarUint16AVX2, greaterScalarUint16AVX2, greaterEqualScalarUint16AVX2},
		[4]func([]byte, []uint16, []uint16){equalColumnsUint16AVX2, notEqualColumnsUint16AVX2, lessColumnsUint16AVX2, lessEqualColumnsUint16AVX2})
	l.u32.whole(
		[6]func([]byte, []uint32, uint32){equalScalarUint32AVX2, notEqualScalarUint32AVX2, lessScalarUint32AVX2, lessEqualScalarUint32AVX2, greaterScalarUint32AVX2, greaterEqualScalarUint32AVX2},
		[4]func([]byte, []uint32, []uint32){equalColumnsUint32AVX2, notEqualColumnsUint32AVX2, lessColumnsUint32AVX2, lessEqualColumnsUint32AVX2})
	l.u64.whole(
		[6]func([]byte, []uint64, uint64){equalScalarUint64AVX2, notEqualScalarUint64AVX2, lessScalarUint64AVX2, lessEqualScalarUint64AVX2, greaterScalarUint64AVX2, greaterEqualScalarUint64AVX2},
		[4]func([]byte, []uint64, []uint64){equalColumnsUint64AVX2, notEqualColumnsUint64AVX2, lessColumnsUint64AVX2, lessEqualColumnsUint64AVX2})
	l.f32.whole(
		[6]func([]byte, []float32, float32){equalScalarFloat32AVX2, notEqualScalarFloat32AVX2, lessScalarFloat32AVX2, lessEqualScalarFloat32AVX2, greaterScalarFloat32AVX2, greaterEqualScalarFloat32AVX2},
		[4]func([]byte, []float32, []float32){equalColumnsFloat32AVX2, notEqualColumnsFloat32AVX2, lessColumnsFloat32AVX2, lessEqualColumnsFloat32AVX2})
	l.f64.whole(
		[6]func([]byte, []float64, float64){equalScalarFloat64AVX2, notEqualScalarFloat64AVX2, lessScalarFloat64AVX2, lessEqualScalarFloat64AVX2, greaterScalarFloat64AVX2, greaterEqualScalarFloat64AVX2},
		[4]func([]byte, []float64, []float64){equalColumnsFloat64AVX2, notEqualColumnsFloat64AVX2, lessColumnsFloat64AVX2, lessEqualColumnsFloat64AVX2})
}

func (l *compareLoops) avx512() {
	l.i8.whole(
		[6]func([]byte, []int8, int8){equalScalarInt8AVX512, notEqualScalarInt8AVX512, lessScalarInt8AVX512, lessEqualScalarInt8AVX512, greaterScalarInt8AVX512, greaterEqualScalarInt8AVX512},
		[4]func([]byte, []int8, []int8){equalColumnsInt8AVX512, notEqualColumnsInt8AVX512, lessColumnsInt8AVX512, lessEqualColumnsInt8AVX512})
	l.i16.whole(
		[6]func([]byte, []int16, int16){equalScalarInt16AVX512, notEqualScalarInt16AVX512, lessScalarInt16AVX512, lessEqualScalarInt16AVX512, greaterScalarInt16AVX512, greaterEqualScalarInt16AVX512},
		[4]func([]byte, []int16, []int16){equalColumnsInt16AVX512, notEqualColumnsInt16AVX512, lessColumnsInt16AVX512, lessEqualColumnsInt16AVX512})
	l.i32.whole(
		[6]func([]byte, []int32, int32){equalScalarInt32AVX512, notEqualScalarInt32AVX512, lessScalarInt32AVX512, lessEqualScalarInt32AVX512, greaterScalarInt32AVX512, greaterEqualScalarInt32AVX512},
		[4]func([]byte, []int32, []int32){equalColumnsInt32AVX512, notEqualColumnsInt32AVX512, lessColumnsInt32AVX512, lessEqualColumnsInt32AVX512})
	l.i64.whole(
		[6]func([]byte, []int64, int64){equalScalarInt64AVX512, notEqualScalarInt64AVX512, lessScalarInt64AVX512, lessEqualScalarInt64AVX512, greaterScalarInt64AVX512, greaterEqualScalarInt64AVX512},
		[4]func([]byte, []int64, []int64){equalColumnsInt64AVX512, notEqualColumnsInt64AVX512, lessColumnsInt64AVX512, lessEqualColumnsInt64AVX512})
	l.u8.whole(
		[6]func([]byte, []uint8, uint8){equalScalarUint8AVX512, notEqualScalarUint8AVX512, lessScalarUint8AVX512, lessEqualScalarUint8AVX512, greaterScalarUint8AVX512, greaterEqualScalarUint8AVX512},
		[4]func([]byte, []uint8, []uint8){equalColumnsUint8AVX512, notEqualColumnsUint8AVX512, lessColumnsUint8AVX512, lessEqualColumnsUint8AVX512})
	l.u16.whole(
		[6]func([]byte, []uint16, uint16){equalScalarUint16AVX512, notEqualScalarUint16AVX512, lessScalarUint16AVX512, lessEqualScalarUint16AVX512, greaterScalarUint16AVX512, greaterEqualScalarUint16AVX512},
		[4]func([]byte, []uint16, []uint16){equalColumnsUint16AVX512, notEqualColumnsUint16AVX512, lessColumnsUint16AVX512, lessEqualColumnsUint16AVX512})
	l.u32.whole(
		[6]func([]byte, []uint32, uint32){equalScalarUint32AVX512, notEqualScalarUint32AVX512, lessScalarUint32AVX512, lessEqualScalarUint32AVX512, greaterScalarUint32AVX512, greaterEqualScalarUint32AVX512},
		[4]func([]byte, []uint32, []uint32){equalColumnsUint32AVX512, notEqualColumnsUint32AVX512, lessColumnsUint32AVX512, lessEqualColumnsUint32AVX512})
	l.u64.whole(
		[6]func([]byte, []uint64, uint64){equalScalarUint64AVX512, notEqualScalarUint64AVX512, lessScalarUint64AVX512, lessEqualScalarUint64AVX512, greaterScalarUint64AVX512, greaterEqualScalarUint64AVX512},
		[4]func([]byte, []uint64, []uint64){equalColumnsUint64AVX512, notEqualColumnsUint64AVX512, lessColumnsUint64AVX512, lessEqualColumnsUint64AVX512})
	l.f32.whole(
		[6]func([]byte, []float32, float32){equalScalarFloat32AVX512, notEqualScalarFloat32AVX512, lessScalarFloat32AVX512, lessEqualScalarFloat32AVX512, greaterScalarFloat32AVX512, greaterEqualScalarFloat32AVX512},
		[4]func([]byte, []float32, []float32){equalColumnsFloat32AVX512, notEqualColumnsFloat32AVX512, lessColumnsFloat32AVX512, lessEqualColumnsFloat32AVX512})
	l.f64.whole(
		[6]func([]byte, []float64, float64){equalScalarFloat64AVX512, notEqualScalarFloat64AVX512, lessScalarFloat64AVX512, lessEqualScalarFloat64AVX512, greaterScalarFloat64AVX512, greaterEqualScalarFloat64AVX512},
		[4]func([]byte, []float64, []float64){equalColumnsFloat64AVX512, notEqualColumnsFloat64AVX512, lessColumnsFloat64AVX512, lessEqualColumnsFloat64AVX512})
}

// whole has assembly take the whole steps and the loops of the tier below what
// is left.
func (c *comparisons[T]) whole(scalar [6]func([]byte, []T, T), columns [4]func([]byte, []T, []T)) {
	for i, steps := range scalar {
		rest := c.scalar[i]
		c.scalar[i] = func(dst []byte, a []T, b T) {
			k := len(a) &^ (compareStep - 1)
			steps(dst, a[:k], b)
			if k < len(a) {
				rest(dst[k/8:], a[k:], b)
			}
		}
	}
	for i, steps := range columns {
		rest := c.columns[i]
		c.columns[i] = func(dst []byte, a, b []T) {
			k := len(a) &^ (compareStep - 1)
			steps(dst, a[:k], b)
			if k < len(a) {
				rest(dst[k/8:], a[k:], b[k:])
			}
		}
	}
}
