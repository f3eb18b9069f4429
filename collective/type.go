package collective

import (
	"unsafe"
)

// Type is the type of a vector's elements.
type Type uint8

// The types, all little-endian as in Arrow.
const (
	Int8 Type = iota + 1
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float16
	BFloat16
	Float32
	Float64
)

var typeNames = [...]string{"no type", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"}
var typeWidths = [...]int{0, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8}

// String is the type's Arrow name.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "unknown type"
}

// Width is the bytes of an element.
func (t Type) Width() int {
	if int(t) < len(typeWidths) {
		return typeWidths[t]
	}
	return 0
}

// Number is a Go type whose slices are vectors.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Vector is a run of elements in host memory that an operation reads or writes.
type Vector struct {
	typ   Type
	bytes []byte
}

// Of is a slice as a vector: the operation works on the slice's own memory.
func Of[T Number](s []T) Vector {
	v := Vector{typ: typeOf[T]()}
	if len(s) > 0 {
		v.bytes = unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
	}
	return v
}

// Halves are IEEE 754 binary16 numbers as a vector.
func Halves(s []uint16) Vector { return Vector{Float16, Of(s).bytes} }

// BFloats are bfloat16 numbers, the upper halves of float32, as a vector.
func BFloats(s []uint16) Vector { return Vector{BFloat16, Of(s).bytes} }

// Type is the elements' type; 0 for the zero Vector.
func (v Vector) Type() Type { return v.typ }

// Len is the number of elements.
func (v Vector) Len() int64 {
	if w := v.typ.Width(); w > 0 {
		return int64(len(v.bytes) / w)
	}
	return 0
}

// Slice is the window [from, to) of v. It panics as Go's slices do when that is
// outside of v.
func (v Vector) Slice(from, to int64) Vector {
	w := int64(v.typ.Width())
	return Vector{v.typ, v.bytes[from*w : to*w : to*w]}
}

func typeOf[T Number]() Type {
	var zero T
	minusOne := zero - 1
	half := T(1) / T(2+zero)
	switch size := unsafe.Sizeof(zero); {
	case half != zero:
		if size == 4 {
			return Float32
		}
		return Float64
	case minusOne < zero:
		return map[uintptr]Type{1: Int8, 2: Int16, 4: Int32, 8: Int64}[size]
	default:
		return map[uintptr]Type{1: Uint8, 2: Uint16, 4: Uint32, 8: Uint64}[size]
	}
}

// as views bytes as elements.
func as[T Number](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}
