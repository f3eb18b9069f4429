package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func transpose(s *Suite) {
	shapes := [][2]int64{{1, 1}, {0, 3}, {3, 0}, {2, 3}, {31, 33}, {64, 32}, {7, 300}, {500, 3}, {3, 70_001}, {70_001, 2}, {300, 301}}
	for i, shape := range shapes {
		if s.extent == Least && shape[0]*shape[1] > 5*leastProducts { // of several tiles too
			continue
		}
		for _, t := range s.Types(kernels.FloatTypes) {
			s.scope(func() bool {
				a, ca := s.matrix(t, shape[0], shape[1], true)
				b, cb := s.matrix(t, shape[1], shape[0], false)
				call := Call{Case: Case{Type: t, Length: shape[0] * shape[1]}, Types: []arrow.DataType{t}, Note: fmt.Sprint(shape)}
				run := func(e *Env) (Result, error) {
					out, err := e.copyOf(cb)
					if err == nil {
						err = e.Transpose(e.Ctx, e.Stream, over(a, e.On(ca)), over(b, out))
					}
					return inPlace(out, err)
				}
				s.Check(call, run)
				if i == 4 || i == 8 {
					s.Faults(call, run)
				}
				return true
			})
		}
	}
	t := floatTypes[0]
	a, c := s.matrix(t, 3, 4, false)
	same, square := a, a
	same.Rows, same.Cols, same.Stride = 4, 3, 3
	square.Offset, square.Rows, square.Stride = 0, 1, 4
	for _, bad := range []struct {
		note string
		from kernels.Matrix
		to   kernels.Matrix
		own  bool
		text []string
	}{
		{"shape", a, a, true, []string{"3 x 4"}},
		{"overlap", a, same, false, []string{"B overlaps A"}},
		{"one row to one row", square, square, true, []string{"1 x 4"}},
	} {
		s.Check(Call{Case: Case{Type: t, Length: 12}, Note: bad.note, Text: bad.text}, func(e *Env) (Result, error) {
			out, err := e.copyOf(c)
			if err == nil && bad.own {
				err = e.Transpose(e.Ctx, e.Stream, over(bad.from, e.On(c)), over(bad.to, out))
			} else if err == nil {
				err = e.Transpose(e.Ctx, e.Stream, over(bad.from, out), over(bad.to, out))
			}
			return inPlace(out, err)
		})
	}
}

func benchTranspose(b *Bencher) {
	for _, t := range floatTypes {
		for _, shape := range [][2]int64{{1000, 1000}, {b.Rows, 5}} {
			a, ca := b.suite.matrix(t, shape[0], shape[1], false)
			c, cc := b.suite.matrix(t, shape[1], shape[0], false)
			name := fmt.Sprintf("type=%s/rows=%s/cols=%d", short(t), count(shape[0]), shape[1])
			b.Measure(name, 2*shape[0]*shape[1]*int64(memory.Width(t)), func(e *Env) (Result, error) {
				return Result{}, e.Transpose(e.Ctx, e.Stream, over(a, e.On(ca)), over(c, e.On(cc)))
			})
		}
	}
}
