package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func gemv(s *Suite) {
	shapes := [][2]int64{ // of op(A)
		{1, 1}, {0, 4}, {4, 0}, {3, 5}, {8, 256}, {5, 257}, {300, 65}, {33, 1000}, {3, 50_000}, {50_000, 3}, {4100, 20}, {2100, 2600},
	}
	for i, shape := range shapes {
		if n := shape[0] * shape[1]; s.extent <= Brief && n > 1_000_000 || s.extent == Least && n > leastProducts {
			continue
		}
		for form := range 8 {
			if raceDetector && shape[0]*shape[1] > Morsel && form>>1 != i%4 {
				continue // workers share the work as A lies
			}
			t, scale := floatTypes[(i+form)%2], scales[(i+form)%len(scales)]
			s.scope(func() bool {
				s.gemvCase(t, shape[0], shape[1], form&1 != 0, form&2 != 0, form&4 != 0, scale)
				return true
			})
		}
	}
	for _, t := range s.Types(kernels.FloatTypes) {
		s.scope(func() bool { s.gemvCase(t, 7, 6, false, true, false, [2]float64{1.5, 0.5}); return true })
	}
	f64 := floatTypes[0]
	m, c := s.matrix(f64, 4, 4, false)
	x, cx := s.matrix(f64, 3, 1, false)
	for _, bad := range []struct {
		note string
		x, y kernels.Matrix
		text []string
	}{
		{"x too short", x, x, []string{"4 x 4", "3"}},
		{"x no vector", m, x, []string{"x: 4 x 4"}},
	} {
		s.Check(Call{Case: Case{Type: f64, Length: 4}, Note: bad.note, Text: bad.text}, func(e *Env) (Result, error) {
			out, err := e.copyOf(cx)
			if err == nil {
				err = e.GEMV(e.Ctx, e.Stream, false, 1, over(m, e.On(c)), over(bad.x, e.On(c)), 0, over(bad.y, out))
			}
			return inPlace(out, err)
		})
	}
}

func (s *Suite) gemvCase(t arrow.DataType, m, k int64, transA, rowX, rowY bool, scale [2]float64) {
	if !s.entryTypes.Has(t.ID()) {
		return
	}
	build := func(rows, cols int64, turned bool) (kernels.Matrix, *memory.Column) {
		if turned {
			rows, cols = cols, rows
		}
		return s.matrix(t, rows, cols, false)
	}
	a, ca := build(m, k, transA)
	x, cx := build(k, 1, rowX)
	y, cy := build(m, 1, rowY)
	if scale[1] == 0 {
		y, cy = s.nans(t, y)
	}
	call := Call{
		Case: Case{Type: t, Length: m * k}, Types: []arrow.DataType{t}, Tol: s.matrixTolerance(t, k),
		Note: fmt.Sprintf("m=%d k=%d transA=%v rowX=%v rowY=%v alpha=%g beta=%g", m, k, transA, rowX, rowY, scale[0], scale[1]),
	}
	run := func(e *Env) (Result, error) {
		out, err := e.copyOf(cy)
		if err == nil {
			err = e.GEMV(e.Ctx, e.Stream, transA, scale[0], over(a, e.On(ca)), over(x, e.On(cx)), scale[1], over(y, out))
		}
		return inPlace(out, err)
	}
	s.Check(call, run)
	if scale[0] != 0 && (k == 257 || k == 50_000) {
		s.Faults(call, run)
	}
}

func benchGEMV(b *Bencher) {
	for _, t := range floatTypes {
		for _, shape := range [][2]int64{{1000, 1000}, {b.Rows, 5}} {
			for _, trans := range []bool{false, true} {
				rows, cols := shape[0], shape[1]
				nx, ny := cols, rows
				if trans {
					nx, ny = ny, nx
				}
				a, ca := b.suite.matrix(t, rows, cols, false)
				x, cx := b.suite.matrix(t, nx, 1, false)
				y, cy := b.suite.matrix(t, ny, 1, false)
				name := fmt.Sprintf("type=%s/rows=%s/cols=%d/trans=%v", short(t), count(rows), cols, trans)
				b.Measure(name, (rows*cols+nx+ny)*int64(memory.Width(t)), func(e *Env) (Result, error) {
					return Result{}, e.GEMV(e.Ctx, e.Stream, trans, 1, over(a, e.On(ca)), over(x, e.On(cx)), 0, over(y, e.On(cy)))
				})
			}
		}
	}
}
