package kerneltest

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func concat(s *Suite) {
	for c := range s.Cases(kernels.AllTypes) {
		cols := []*memory.Column{s.Column(c)}
		faults := c.Length == 65 || c.Length == s.Long()
		others := s.Rand.IntN(4)
		if faults {
			others = max(others, 1) // one column alone is given back without work
		}
		for range others { // of the type, of any length, pattern and offset
			more := Case{Type: c.Type, Length: Lengths[s.Rand.IntN(len(Lengths))], Nulls: s.DrawPattern(), Offset: s.DrawOffset()}
			cols = append(cols, s.Column(more))
		}
		if len(cols) > 1 && s.Rand.IntN(4) == 0 {
			cols[1] = cols[0] // the same twice: dictionaries are shared
		}
		s.Rand.Shuffle(len(cols), func(i, j int) { cols[i], cols[j] = cols[j], cols[i] })
		call := Call{Case: c, Note: fmt.Sprintf("%d columns", len(cols))}
		run := func(e *Env) (Result, error) {
			on := make([]*memory.Column, len(cols))
			for i, col := range cols {
				on[i] = e.On(col)
			}
			return One(e.Concat(e.Ctx, e.Stream, on))
		}
		s.Check(call, run)
		if faults {
			s.Faults(call, run)
		}
	}
	concatRefuses(s)
	concatTooLong(s)
	concatDictionaries(s)
}

func concatRefuses(s *Suite) {
	a := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1))
	b := s.FromScalars(arrow.BinaryTypes.String, kernels.String("a"))
	c := Case{Type: a.Type(), Length: 1}
	s.Check(Call{Case: c, Note: "two types", Text: []string{"int64", "utf8"}}, func(e *Env) (Result, error) {
		return One(e.Concat(e.Ctx, e.Stream, []*memory.Column{e.On(a), e.On(b)}))
	})
	s.Check(Call{Case: c, Note: "nothing", Text: []string{"no columns"}}, func(e *Env) (Result, error) {
		return One(e.Concat(e.Ctx, e.Stream, nil))
	})
}

// concatTooLong passes the reach of 32-bit offsets without the memory for it:
// a column of 16 MiB many times, of which simulators note every byte.
func concatTooLong(s *Suite) {
	if s.extent == Least {
		return
	}
	for _, t := range s.Types(kernels.TypesOf(arrow.STRING, arrow.BINARY)) {
		long := s.FromScalars(t, kernels.Text(t, strings.Repeat("x", 1<<24)))
		cols := make([]*memory.Column, 128)
		for i := range cols {
			cols[i] = long
		}
		call := Call{Case: Case{Type: t, Length: 1}, Note: "2 GiB", Text: []string{"2147483648", "large_utf8"}}
		s.Refuses(call, device.ErrValue, func(e *Env) (Result, error) {
			return One(e.Concat(e.Ctx, e.Stream, e.onAll(cols)))
		})
	}
}

// concatDictionaries fills the reach of 8-bit indices: 128 values fit, of more
// only those that rows use count.
func concatDictionaries(s *Suite) {
	for _, t := range s.Types(kernels.DictTypes) {
		dict := t.(*arrow.DictionaryType)
		if dict.IndexType.ID() != arrow.INT8 {
			continue
		}
		words := func(from, to int) *memory.Column {
			var v []kernels.Scalar
			for i := from; i < to; i++ {
				v = append(v, kernels.Text(dict.ValueType, fmt.Sprint("word ", i)))
			}
			return s.FromScalars(t, v...)
		}
		part := words(0, 100)
		window, err := part.Slice(40, 20)
		s.must(err)
		s.Own(window)
		for _, c := range []struct {
			note string
			cols []*memory.Column
			text []string
		}{
			{"128 distinct values", []*memory.Column{words(0, 100), words(50, 128)}, nil},
			{"200 values, 120 in use", []*memory.Column{window, words(100, 200)}, nil},
			{"129 distinct values", []*memory.Column{words(0, 100), words(50, 129)}, []string{"129", "int8", "wider index type"}},
		} {
			s.Check(Call{Case: Case{Type: t, Length: 100}, Note: c.note, Text: c.text}, func(e *Env) (Result, error) {
				on := make([]*memory.Column, len(c.cols))
				for i, col := range c.cols {
					on[i] = e.On(col)
				}
				return One(e.Concat(e.Ctx, e.Stream, on))
			})
		}
	}
}

func benchConcat(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String} {
		for _, nulls := range []int{0, 10} {
			values := b.Column(t, Small, nulls)
			cols := []*memory.Column{values, values, values, values}
			b.Measure(b.Name(t, nulls, "columns=4"), 8*Bytes(values), func(e *Env) (Result, error) {
				return One(e.Concat(e.Ctx, e.Stream, e.onAll(cols)))
			})
		}
	}
}
