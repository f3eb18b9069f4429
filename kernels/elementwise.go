package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// CastOptions say what a cast does with values that do not fit.
type CastOptions struct {
	// Wrap lets integers wrap, floats truncate and times lose precision as Go
	// conversions do. Without it a value that changes is an ErrValue that names
	// the row. A text that is no value of the target is an ErrValue either way.
	Wrap bool
}

// CastFunc converts a column to another type.
type CastFunc func(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType, o CastOptions) (*memory.Column, error)

// ArithmeticOp is an operation on two numbers.
type ArithmeticOp int

// The arithmetic operations.
const (
	Add ArithmeticOp = iota
	Subtract
	Multiply
	// Divide truncates integers towards zero; an integer divided by zero is an
	// ErrValue that names the row, a float follows IEEE 754.
	Divide
	// Modulo has the sign of the dividend, as in C, Go and SQL; by zero as Divide.
	Modulo
)

// ArithmeticOptions choose between wrapping and checked arithmetic.
type ArithmeticOptions struct {
	// Checked makes an integer or decimal overflow an ErrValue that names the
	// row. Without it integers wrap.
	Checked bool
}

// ArithmeticFunc computes a op b row by row. At most one of a and b is a Scalar.
type ArithmeticFunc func(ctx context.Context, s device.Stream, op ArithmeticOp, a, b Datum, o ArithmeticOptions) (*memory.Column, error)

// UnaryOp is an operation on one number.
type UnaryOp int

// The unary operations.
const (
	Negate UnaryOp = iota
	Abs
	Sign
	Sqrt
	Exp
	Log // natural
	Floor
	Ceil
	Trunc
	Round // half away from zero, as SQL
)

// UnaryFunc computes op of each value. Checked integer negation and absolute
// value fail on the least integer; Sqrt, Exp and Log of integers give float64.
type UnaryFunc func(ctx context.Context, s device.Stream, op UnaryOp, c *memory.Column, o ArithmeticOptions) (*memory.Column, error)

// TemporalField is a part of a date or time.
type TemporalField int

// The fields, all int64: in UTC, or in the timestamp's own zone if it has one.
const (
	Year TemporalField = iota
	Month
	Day
	Hour
	Minute
	Second
	DayOfWeek // Monday is 0, as in Arrow
	DayOfYear // from 1
)

// TemporalFunc extracts a field of dates, times and timestamps as int64.
type TemporalFunc func(ctx context.Context, s device.Stream, f TemporalField, c *memory.Column) (*memory.Column, error)

// CompareOp is a comparison.
type CompareOp int

// The comparisons. Comparisons with NaN are false except NotEqual, as IEEE 754
// has it (keys of sort, group and join have their own rule: NaN equals NaN).
const (
	Equal CompareOp = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
)

// CompareFunc compares row by row to a bool column; null where either is null.
// At most one of a and b is a Scalar. Strings compare by bytes.
type CompareFunc func(ctx context.Context, s device.Stream, op CompareOp, a, b Datum) (*memory.Column, error)

// LogicOp is an operation on two truth values.
type LogicOp int

// The logic operations, all Kleene: false and null is false, true or null is
// true; AndNot is a and not b; Xor with a null is null.
const (
	And LogicOp = iota
	Or
	Xor
	AndNot
)

// LogicFunc combines two bool columns, or one and a Scalar, by Kleene logic.
type LogicFunc func(ctx context.Context, s device.Stream, op LogicOp, a, b Datum) (*memory.Column, error)

// NotFunc negates a bool column; null stays null.
type NotFunc func(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error)

// NullTest is a question about one value whose answer is never null.
type NullTest int

// The null tests.
const (
	IsNullTest  NullTest = iota // the value is null
	IsValidTest                 // the value is not null
	IsNaNTest                   // the value is a NaN; false for a null and for types without NaN
)

// IsNullFunc answers a NullTest for each row with a bool column without nulls.
type IsNullFunc func(ctx context.Context, s device.Stream, q NullTest, c *memory.Column) (*memory.Column, error)

// FillNullFunc replaces nulls of c with the value of fill, a Scalar or a column
// of the same type and length; where that is null too the result is null.
type FillNullFunc func(ctx context.Context, s device.Stream, c *memory.Column, fill Datum) (*memory.Column, error)

// IfElseFunc takes a where cond is true and b where it is false; null where
// cond is null. a and b are of one type; either or both may be a Scalar.
type IfElseFunc func(ctx context.Context, s device.Stream, cond *memory.Column, a, b Datum) (*memory.Column, error)

// HashFunc hashes each row over all columns to uint64, the same on every
// backend: XXH64 of the canonical key bytes with the seed, columns combined in
// order. Equal keys hash alike: NaNs are one, -0 is 0, a dictionary hashes as
// its values, large_utf8 as utf8, integers as their 64-bit value whatever their
// width; a null hashes as itself.
type HashFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, seed uint64) (*memory.Column, error)
