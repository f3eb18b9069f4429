package cpu

// convertLoops are the casts between the numbers that tables are mostly made of;
// other pairs of types have their loops in Go on every tier. See
// convert_loops.go for what they do. They are bound by the caches, which on Zen 4
// take the load and the store of 4096 rows at 90 to 110 GB/s, float64 to the
// narrower types at 50 to 85. In Go, with the look at whether a value fits, they
// reach 9 to 19 GB/s and of floats 3, less than one core reads from memory. AVX2
// has no conversions between float64 and int64.
type convertLoops struct {
	i32ToI64 func(dst []int64, src []int32) bool
	i32ToF64 func(dst []float64, src []int32) bool
	f32ToF64 func(dst []float64, src []float32) bool
	f64ToF32 func(dst []float32, src []float64) bool
	i64ToI32 func(dst []int32, src []int64) bool
	f64ToI32 func(dst []int32, src []float64) bool
	i64ToF64 func(dst []float64, src []int64) bool
	f64ToI64 func(dst []int64, src []float64) bool
}

func goConvertLoops() convertLoops {
	return convertLoops{
		i32ToI64: convertIntegers[int32, int64],
		i32ToF64: integersToFloats[int32, float64],
		f32ToF64: convertFloats[float32, float64],
		f64ToF32: convertFloats[float64, float32],
		i64ToI32: convertIntegers[int64, int32],
		f64ToI32: floatsToIntegers[float64, int32],
		i64ToF64: integersToFloats[int64, float64],
		f64ToI64: floatsToIntegers[float64, int64],
	}
}

// converterOf is the tier's loop for a pair of types, or where there is none the
// one in Go.
func converterOf[F, T number](l *loops, inGo func(dst []T, src []F) bool) func(dst []T, src []F) bool {
	switch p := any(&inGo).(type) {
	case *func(dst []int64, src []int32) bool:
		*p = l.convert.i32ToI64
	case *func(dst []float64, src []int32) bool:
		*p = l.convert.i32ToF64
	case *func(dst []float64, src []float32) bool:
		*p = l.convert.f32ToF64
	case *func(dst []float32, src []float64) bool:
		*p = l.convert.f64ToF32
	case *func(dst []int32, src []int64) bool:
		*p = l.convert.i64ToI32
	case *func(dst []int32, src []float64) bool:
		*p = l.convert.f64ToI32
	case *func(dst []float64, src []int64) bool:
		*p = l.convert.i64ToF64
	case *func(dst []int64, src []float64) bool:
		*p = l.convert.f64ToI64
	}
	return inGo
}
