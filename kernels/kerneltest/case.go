package kerneltest

import (
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// Pattern is where the nulls of a column are.
type Pattern int

// The patterns.
const (
	NoBitmap Pattern = iota // no null and no validity bitmap
	AllValid                // a bitmap, but no null
	AllNull
	Alternating
	Tenth // a random tenth is null
	Half  // a random half is null
	Runs  // runs of nulls and of values, up to 100 long
	patternCount
)

// String is the pattern's name.
func (p Pattern) String() string {
	return [...]string{"no bitmap", "all valid", "all null", "alternating", "10% null", "50% null", "runs of nulls"}[p]
}

// Domain is which values a column holds.
type Domain int

// The domains.
const (
	Wild  Domain = iota // everything: extremes, NaN, infinities, -0, long and non-ASCII strings
	Small               // numbers from -100 to 100 (0 to 100 unsigned), floats in quarters: sums are exact
	Keys                // about eight distinct values, NaNs of two kinds and both zeros among them
)

// Case is one column to be made.
type Case struct {
	Type   arrow.DataType
	Length int64
	Offset int64
	Nulls  Pattern
	Domain Domain
}

// String says the case in a failure's text.
func (c Case) String() string {
	return fmt.Sprintf("type=%s length=%d offset=%d nulls=%q domain=%d", c.Type, c.Length, c.Offset, c.Nulls, c.Domain)
}

var offsets = []int64{0, 1, 3, 7, 8, 64, 65}

// Cases samples columns of the given types as far as the backend's entry for
// the kernel at hand takes them: each type at each of Lengths, without nulls
// and with drawn patterns and offsets, and some types around one and several
// morsels. Columns made while a case is worked on are released after it.
func (s *Suite) Cases(types kernels.Types) iter.Seq[Case] {
	return func(yield func(Case) bool) {
		for c := range s.SmallCases(types) {
			if !yield(c) {
				return
			}
		}
		for c := range s.LargeCases(types) {
			if !yield(c) {
				return
			}
		}
	}
}

// SmallCases are the part of Cases below 1000 rows.
func (s *Suite) SmallCases(types kernels.Types) iter.Seq[Case] {
	return func(yield func(Case) bool) {
		for _, t := range s.Types(types) {
			for _, c := range s.extent.cases(s.Rand, t) {
				if !s.scope(func() bool { return yield(c) }) {
					return
				}
			}
		}
	}
}

// LargeCases are the part of Cases around one morsel and of several.
func (s *Suite) LargeCases(types kernels.Types) iter.Seq[Case] {
	return func(yield func(Case) bool) {
		all := s.Types(types)
		for i, t := range all {
			if s.extent == Brief && i%8 != 0 || s.extent <= Tiny && i > 0 {
				continue
			}
			c := Case{Type: t, Length: s.Morsel() - 1 + int64(s.Rand.IntN(3)), Nulls: s.DrawPattern(), Offset: s.DrawOffset()}
			if i == 0 {
				c.Length, c.Nulls = s.Long(), Tenth
			}
			if !s.scope(func() bool { return yield(c) }) {
				return
			}
		}
	}
}

// DrawPattern draws a null pattern.
func (s *Suite) DrawPattern() Pattern { return Pattern(s.Rand.IntN(int(patternCount))) }

// DrawOffset draws a slice offset.
func (s *Suite) DrawOffset() int64 { return offsets[s.Rand.IntN(len(offsets))] }

// Types lists types of the given ids, as far as the backend's entry for the
// kernel at hand takes them: parametric types in several forms, dictionaries of
// values that it takes too.
func (s *Suite) Types(ids kernels.Types) []arrow.DataType {
	var some []arrow.DataType
	for _, t := range instances {
		d, dict := t.(*arrow.DictionaryType)
		if (ids & s.entryTypes).Has(t.ID()) && (!dict || s.entryTypes.Has(d.ValueType.ID())) {
			some = append(some, t)
		}
	}
	return some
}

var instances = []arrow.DataType{
	arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int8,
	arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint8,
	arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32,
	arrow.FixedWidthTypes.Boolean,
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary,
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
	arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns,
	&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}, &arrow.TimestampType{Unit: arrow.Second},
	arrow.FixedWidthTypes.Duration_ns,
	&arrow.Decimal128Type{Precision: 38, Scale: 4}, &arrow.Decimal128Type{Precision: 10, Scale: 2},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.PrimitiveTypes.Float64},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.LargeString},
	arrow.Null,
	arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.ListOf(arrow.BinaryTypes.String),
	arrow.LargeListOf(arrow.ListOf(arrow.FixedWidthTypes.Boolean)),
	arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "c", Type: arrow.ListOf(arrow.PrimitiveTypes.Int16), Nullable: true},
		arrow.Field{Name: "d", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}),
}
