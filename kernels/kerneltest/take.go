package kerneltest

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

var indexTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int32,
	arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint8,
}

// Indices makes n row numbers below limit of an integer type (as far as it
// reaches), with nulls, under which there are numbers out of range.
func (s *Suite) Indices(t arrow.DataType, n, limit int64, nulls Pattern, offset int64) *memory.Column {
	c := s.build(t, offset+n, nulls, Wild)
	width := int64(memory.Width(t))
	if reach := int64(1) << min(8*width-1, 40); limit > reach {
		limit = reach
	}
	for i := range offset + n {
		if !c.IsNull(i) && limit > 0 {
			signed(s.Rand.Int64N(limit)).write(c.Buffer(1).Bytes()[i*width : (i+1)*width])
		}
	}
	defer c.Release()
	window, err := c.Slice(offset, n)
	s.must(err)
	return s.Own(window)
}

func take(s *Suite) {
	n := 0
	for c := range s.Cases(kernels.AllTypes) {
		t := indexTypes[n%len(indexTypes)]
		n++
		values := s.Column(c)
		count, nulls := c.Length+int64(s.Rand.IntN(3))-1, s.DrawPattern()
		if c.Length == 0 {
			count, nulls = int64(s.Rand.IntN(2)*70), AllNull // of nothing only nothing can be taken
		}
		indices := s.Indices(t, count, c.Length, nulls, s.DrawOffset())
		call := Call{Case: c, Note: fmt.Sprintf("%d indices of %s with %d nulls from offset %d", indices.Len(), t, indices.NullCount(), indices.Offset())}
		run := func(e *Env) (Result, error) {
			return One(e.Take(e.Ctx, e.Stream, e.On(values), e.On(indices), kernels.TakeOptions{Trusted: n%2 == 0}))
		}
		s.Check(call, run)
		if c.Length == 65 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	takeOutOfRange(s)
}

// takeOutOfRange asks for the first bad position by name, for every type and
// with and without nulls among the indices.
func takeOutOfRange(s *Suite) {
	for _, t := range s.Types(kernels.AllTypes) {
		for _, c := range []struct {
			index  kernels.Scalar
			at, of int64
		}{
			{kernels.Int64(-1), 3, 100},
			{kernels.Int64(100), 99, 100},
			{kernels.Int64(1 << 40), 0, 1},
			{kernels.Int(arrow.PrimitiveTypes.Uint64, -1), 64, 65},
			{kernels.Int(arrow.PrimitiveTypes.Int8, -128), 2, 3},
		} {
			for _, null := range []bool{false, true} {
				s.scope(func() bool {
					list := make([]kernels.Scalar, c.of)
					for i := range list {
						list[i] = kernels.Int(c.index.Type(), 0)
						if null && i%2 == 1 {
							list[i] = kernels.Null(c.index.Type())
						}
					}
					list[c.at] = c.index
					if c.at+1 < c.of {
						list[c.of-1] = c.index // a later one is not the one to name
					}
					of := Case{Type: t, Length: 100}
					values, indices := s.Column(of), s.FromScalars(c.index.Type(), list...)
					call := Call{Case: of, Note: "out of range", Text: []string{fmt.Sprintf("position %d", c.at), c.index.String()}}
					s.Check(call, func(e *Env) (Result, error) {
						return One(e.Take(e.Ctx, e.Stream, e.On(values), e.On(indices), kernels.TakeOptions{}))
					})
					return true
				})
			}
		}
	}
	for _, t := range s.Types(kernels.TypesOf(arrow.STRING, arrow.BINARY)) { // past the reach of 32-bit offsets
		if s.extent == Least { // see concatTooLong
			break
		}
		long := s.FromScalars(t, kernels.Text(t, strings.Repeat("x", 1<<24)))
		indices := s.FromScalars(arrow.PrimitiveTypes.Uint32, make128(kernels.Int(arrow.PrimitiveTypes.Uint32, 0))...)
		call := Call{Case: Case{Type: t, Length: 1}, Note: "2 GiB", Text: []string{"2147483648", "large_utf8"}}
		s.Refuses(call, device.ErrValue, func(e *Env) (Result, error) {
			return One(e.Take(e.Ctx, e.Stream, e.On(long), e.On(indices), kernels.TakeOptions{}))
		})
	}
	values := s.FromScalars(arrow.PrimitiveTypes.Float64, kernels.Float64(0))
	s.Check(Call{Case: Case{Type: values.Type(), Length: 1}, Note: "indices of float64", Text: []string{"float64"}}, func(e *Env) (Result, error) {
		return One(e.Take(e.Ctx, e.Stream, e.On(values), e.On(values), kernels.TakeOptions{}))
	})
}

func make128(v kernels.Scalar) []kernels.Scalar {
	all := make([]kernels.Scalar, 128)
	for i := range all {
		all[i] = v
	}
	return all
}

func benchTake(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String} {
		for _, nulls := range []int{0, 10} {
			values := b.Column(t, Small, nulls)
			for _, it := range indexTypes[:2] {
				indices := b.suite.Indices(it, b.Rows, b.Rows, NoBitmap, 0)
				b.Measure(b.Name(t, nulls, "index="+short(it)), 2*Bytes(values)+Bytes(indices), func(e *Env) (Result, error) {
					return One(e.Take(e.Ctx, e.Stream, e.On(values), e.On(indices), kernels.TakeOptions{}))
				})
			}
		}
	}
}
