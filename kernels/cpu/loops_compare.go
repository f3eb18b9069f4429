package cpu

// compareLoops compare values of each type to a bitmap. They read as quickly as
// memory gives, and write a bit for each value.
type compareLoops struct {
	i8  comparisons[int8]
	i16 comparisons[int16]
	i32 comparisons[int32]
	i64 comparisons[int64]
	u8  comparisons[uint8]
	u16 comparisons[uint16]
	u32 comparisons[uint32]
	u64 comparisons[uint64]
	f32 comparisons[float32]
	f64 comparisons[float64]
}

// comparisons are those of values of one type, by kernels.CompareOp: of a column
// with one value, and of two columns, which for the operators that look for the
// greater one are exchanged instead. dst has a bit for each value of a; what is
// left of its last byte becomes 0.
type comparisons[T number] struct {
	scalar  [6]func(dst []byte, a []T, b T)
	columns [4]func(dst []byte, a, b []T)
}

func goCompareLoops() compareLoops {
	return compareLoops{
		i8:  goComparisons[int8](),
		i16: goComparisons[int16](),
		i32: goComparisons[int32](),
		i64: goComparisons[int64](),
		u8:  goComparisons[uint8](),
		u16: goComparisons[uint16](),
		u32: goComparisons[uint32](),
		u64: goComparisons[uint64](),
		f32: goComparisons[float32](),
		f64: goComparisons[float64](),
	}
}

func goComparisons[T number]() comparisons[T] {
	return comparisons[T]{
		scalar:  [6]func([]byte, []T, T){equalScalar[T], notEqualScalar[T], lessScalar[T], lessEqualScalar[T], greaterScalar[T], greaterEqualScalar[T]},
		columns: [4]func([]byte, []T, []T){equalColumns[T], notEqualColumns[T], lessColumns[T], lessEqualColumns[T]},
	}
}

// comparisonsOf are the loops for a type.
func comparisonsOf[T number](l *loops) *comparisons[T] {
	c := &l.compare
	var t T
	var found any
	switch any(t).(type) {
	case int8:
		found = &c.i8
	case int16:
		found = &c.i16
	case int32:
		found = &c.i32
	case int64:
		found = &c.i64
	case uint8:
		found = &c.u8
	case uint16:
		found = &c.u16
	case uint32:
		found = &c.u32
	case uint64:
		found = &c.u64
	case float32:
		found = &c.f32
	case float64:
		found = &c.f64
	}
	return found.(*comparisons[T])
}
