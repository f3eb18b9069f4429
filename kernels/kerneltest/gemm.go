package kerneltest

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

var floatTypes = []arrow.DataType{arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32}

// matrix is a matrix over a column, with elements around it that are not its
// own. With wild set its values are of all kinds, else they are such that sums
// differ by the order in which they are taken.
func (s *Suite) matrix(t arrow.DataType, rows, cols int64, wild bool) (kernels.Matrix, *memory.Column) {
	m := kernels.Matrix{Type: t, Rows: rows, Cols: cols, Offset: int64(s.Rand.IntN(3)), Stride: cols + int64(s.Rand.IntN(3))}
	v := make([]kernels.Scalar, m.Offset+max(rows*m.Stride, 1))
	for i := range v {
		x := s.Rand.NormFloat64()
		if wild {
			x = s.drawFloat(Wild)
			if !s.tested.onHost() && !math.IsInf(x, 0) {
				x = max(-wildMost, min(wildMost, x)) // NaN stays NaN
			}
		}
		v[i] = kernels.Float(t, x)
	}
	return m, s.FromScalars(t, v...)
}

// evenMatrix is a matrix whose rows all begin at multiples of 16 bytes, which
// devices read and write another way.
func (s *Suite) evenMatrix(t arrow.DataType, rows, cols int64) (kernels.Matrix, *memory.Column) {
	m := kernels.Matrix{Type: t, Rows: rows, Cols: cols, Offset: 4 * int64(s.Rand.IntN(2)), Stride: (cols+3)/4*4 + 4*int64(s.Rand.IntN(2))}
	v := make([]kernels.Scalar, m.Offset+rows*m.Stride)
	for i := range v {
		v[i] = kernels.Float(t, s.Rand.NormFloat64())
	}
	return m, s.FromScalars(t, v...)
}

// wildMost is the greatest number in wild matrices for backends whose sums have
// a shape of their own, in which other sums overflow.
const wildMost = 1 << 20

// over is a matrix on the call's device.
func over(m kernels.Matrix, c *memory.Column) kernels.Matrix {
	m.Data = c.Buffer(1)
	return m
}

// matrixTolerance is for backends that do not keep the reference's shape of
// sums; those on the host do, to the bit.
func (s *Suite) matrixTolerance(t arrow.DataType, depth int64) Tolerance {
	if s.tested.onHost() {
		return Tolerance{}
	}
	eps := 0x1p-52
	if t.ID() == arrow.FLOAT32 {
		eps = 0x1p-23
	}
	size := float64(depth+2) * eps
	return Tolerance{Abs: size * 40 * float64(depth+1), Rel: size}
}

// leastProducts is how many numbers matrices of Least multiply or move.
const leastProducts = 400

var gemmShapes = [][3]int64{ // m, n, k
	{1, 1, 1}, {0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {2, 4, 3}, {5, 7, 9}, {4, 4, 256}, {3, 5, 257}, {31, 33, 65},
	{127, 3, 20}, {129, 130, 7}, {64, 65, 300}, {1, 64, 64}, {64, 1, 513},
}

var scales = [][2]float64{{1, 0}, {1, 1}, {-0.5, 2}, {0, 0.5}, {0, 0}, {2, 0}, {0.1, -0.3}} // alpha, beta

func gemm(s *Suite) {
	shapes := append(gemmShapes, [3]int64{5, 5, 70_000}, [3]int64{140, 2, 4000}, [3]int64{260, 300, 70}, [3]int64{128, 256, 40}, [3]int64{256, 128, 44}, [3]int64{132, 128, 1100})
	for i, shape := range shapes {
		if s.extent == Least && shape[0]*shape[1]*shape[2] > leastProducts {
			continue
		}
		for form := range 4 {
			if raceDetector && shape[0]*shape[1]*shape[2] > Morsel && form>>1 != i%2 {
				continue // workers share the work as A lies
			}
			t, scale := floatTypes[(i+form)%2], scales[(i*3+form)%len(scales)]
			s.scope(func() bool { s.gemmCase(t, shape, form&1 != 0, form&2 != 0, scale, false); return true })
		}
	}
	for _, t := range s.Types(kernels.FloatTypes) { // each type where every argument counts
		s.scope(func() bool { s.gemmCase(t, [3]int64{6, 5, 4}, false, true, [2]float64{1.5, 0.5}, false); return true })
		s.scope(func() bool { s.gemmCase(t, [3]int64{9, 9, 9}, true, false, [2]float64{1, 0}, true); return true })
	}
	gemmRefuses(s)
}

func (s *Suite) gemmCase(t arrow.DataType, shape [3]int64, transA, transB bool, scale [2]float64, wild bool) {
	if !s.entryTypes.Has(t.ID()) {
		return
	}
	m, n, k := shape[0], shape[1], shape[2]
	build := func(rows, cols int64, trans bool) (kernels.Matrix, *memory.Column) {
		if trans {
			rows, cols = cols, rows
		}
		if m%4 == 0 && n%4 == 0 && k%4 == 0 {
			return s.evenMatrix(t, rows, cols)
		}
		return s.matrix(t, rows, cols, wild)
	}
	a, ca := build(m, k, transA)
	b, cb := build(k, n, transB)
	c, cc := build(m, n, false)
	if scale[1] == 0 {
		c, cc = s.nans(t, c)
	}
	call := Call{
		Case: Case{Type: t, Length: max(m*n, k*max(m, n))}, Types: []arrow.DataType{t}, Tol: s.matrixTolerance(t, k),
		Note: fmt.Sprintf("m=%d n=%d k=%d transA=%v transB=%v alpha=%g beta=%g wild=%v", m, n, k, transA, transB, scale[0], scale[1], wild),
	}
	if wild && !s.tested.onHost() {
		call.Tol.Abs *= wildMost * wildMost / 40
	}
	run := func(e *Env) (Result, error) {
		out, err := e.copyOf(cc)
		if err == nil {
			err = e.GEMM(e.Ctx, e.Stream, transA, transB, scale[0], over(a, e.On(ca)), over(b, e.On(cb)), scale[1], over(c, out))
		}
		return inPlace(out, err)
	}
	s.Check(call, run)
	if k == 257 || k == 4000 || k == 70_000 && !transA {
		s.Faults(call, run)
	}
}

// nans is the matrix filled with NaN: what beta 0 must not let through.
func (s *Suite) nans(t arrow.DataType, m kernels.Matrix) (kernels.Matrix, *memory.Column) {
	v := make([]kernels.Scalar, m.Offset+max(m.Rows*m.Stride, 1))
	for i := range v {
		v[i] = kernels.Float(t, math.NaN())
	}
	return m, s.FromScalars(t, v...)
}

// inPlace is the result of a kernel that writes to an argument.
func inPlace(out *memory.Column, err error) (Result, error) {
	if err != nil {
		out.Release()
		return Result{}, err
	}
	return One(out, nil)
}

func gemmRefuses(s *Suite) {
	f64, f32 := floatTypes[0], floatTypes[1]
	values := make([]kernels.Scalar, 100)
	for i := range values {
		values[i] = kernels.Float64(float64(i))
	}
	room := s.FromScalars(f64, values...)
	m := func(offset, rows, cols, stride int64) kernels.Matrix {
		return kernels.Matrix{Type: f64, Offset: offset, Rows: rows, Cols: cols, Stride: stride}
	}
	narrow := m(0, 2, 3, 3)
	narrow.Type = f32
	whole := m(0, 2, 3, 3)
	whole.Type = arrow.PrimitiveTypes.Int64
	for _, bad := range []struct {
		note    string
		a, b, c kernels.Matrix
		text    []string
	}{
		{"shapes of A and B", m(0, 2, 3, 3), m(10, 4, 2, 2), m(30, 2, 2, 2), []string{"2 x 3", "4 x 2"}},
		{"shape of C", m(0, 2, 3, 3), m(10, 3, 2, 2), m(30, 2, 3, 3), []string{"C is 2 x 3"}},
		{"stride", m(0, 2, 3, 2), m(10, 3, 2, 2), m(30, 2, 2, 2), []string{"A", "stride 2"}},
		{"outside", m(0, 2, 3, 3), m(10, 3, 2, 80), m(30, 2, 2, 2), []string{"B", "100 values"}},
		{"far outside", m(0, 2, 3, 3), m(10, 3, 2, 1<<62), m(30, 2, 2, 2), []string{"B"}},
		{"negative", m(0, 2, 3, 3), m(-1, 3, 2, 2), m(30, 2, 2, 2), []string{"B", "-1"}},
		{"overlap", m(0, 2, 3, 3), m(10, 3, 2, 2), m(5, 2, 2, 2), []string{"C overlaps A"}},
		{"overlap of rows", m(0, 2, 3, 10), m(3, 3, 2, 10), m(4, 2, 2, 10), []string{"C overlaps B"}},
		{"types", m(0, 2, 3, 3), m(10, 3, 2, 2), func() kernels.Matrix { c := narrow; c.Cols, c.Offset = 2, 80; return c }(), []string{"float64", "C", "float32"}},
		{"integers", whole, m(10, 3, 2, 2), m(30, 2, 2, 2), []string{"A", "int64"}},
	} {
		if !s.entryTypes.Has(bad.c.Type.ID()) {
			continue
		}
		s.Check(Call{Case: Case{Type: f64, Length: 4}, Note: bad.note, Text: bad.text}, func(e *Env) (Result, error) {
			d := e.On(room)
			return inPlace(nil, e.GEMM(e.Ctx, e.Stream, false, false, 1, over(bad.a, d), over(bad.b, d), 0, over(bad.c, d)))
		})
	}
	s.Check(Call{Case: Case{Type: f64, Length: 4}, Note: "no buffer", Text: []string{"C: no buffer"}}, func(e *Env) (Result, error) {
		d := e.On(room)
		return inPlace(nil, e.GEMM(e.Ctx, e.Stream, false, false, 1, over(m(0, 2, 3, 3), d), over(m(10, 3, 2, 2), d), 0, m(30, 2, 2, 2)))
	})
	beside := Call{Case: Case{Type: f64, Length: 4}, Note: "side by side in one matrix"}
	s.Check(beside, func(e *Env) (Result, error) {
		out, err := e.copyOf(room)
		if err == nil {
			err = e.GEMM(e.Ctx, e.Stream, false, false, 1, over(m(0, 2, 3, 10), out), over(m(3, 3, 2, 10), out), 0, over(m(5, 2, 2, 10), out))
		}
		return inPlace(out, err)
	})
}

func benchGEMM(b *Bencher) {
	for _, t := range floatTypes {
		for _, shape := range [][3]int64{{256, 256, 256}, {1000, 1000, 1000}, {5, 5, 1_000_000}} {
			m, n, k := shape[0], shape[1], shape[2]
			if m > 256 && b.Rows < 1_000_000 {
				continue
			}
			a, ca := b.suite.matrix(t, k, m, false)
			x, cx := b.suite.matrix(t, k, n, false)
			c, cc := b.suite.matrix(t, m, n, false)
			name := fmt.Sprintf("type=%s/m=%d/n=%d/k=%d", short(t), m, n, k)
			b.Measure(name, (m*k+k*n+m*n)*int64(memory.Width(t)), func(e *Env) (Result, error) {
				return Result{}, e.GEMM(e.Ctx, e.Stream, true, false, 1, over(a, e.On(ca)), over(x, e.On(cx)), 0, over(c, e.On(cc)))
			})
		}
	}
}
