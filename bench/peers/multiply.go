package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// multiplier is a contender at products of matrices.
type multiplier interface {
	contender
	// product multiplies once, and gives the result and the seconds.
	product(ctx context.Context, way string) (arrow.Array, float64, error)
}

// peerGEMM is the multiplier in a Worker.
type peerGEMM struct {
	peer
	dir string
}

func (p *peerGEMM) product(ctx context.Context, way string) (arrow.Array, float64, error) {
	path := p.dir + "/c"
	a, err := p.call(ctx, command{Do: "keep", Way: way, Path: path})
	if err != nil {
		return nil, 0, err
	}
	if len(a.Seconds) != 1 {
		return nil, 0, fmt.Errorf("peers: %s does not tell how long a product took", p.name())
	}
	r, err := readArrow(path)
	if err != nil {
		return nil, 0, err
	}
	return r.Column(0), a.Seconds[0], nil
}

// readArrow reads the first batch of an Arrow file.
func readArrow(path string) (arrow.RecordBatch, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	if err != nil {
		return nil, err
	}
	return r.RecordBatch(0)
}

// goGEMM is a multiplier in this process.
type goGEMM struct {
	of              func(m *matrices) (multiply func(context.Context) error, c arrow.Array, close func() error, err error)
	called, version string
	most            float64 // operations that it takes on; 0 for any number

	multiply func(context.Context) error
	c        arrow.Array
	close    func() error
}

func (g *goGEMM) name() string    { return g.called }
func (g *goGEMM) release() string { return g.version }

func (g *goGEMM) load(_ context.Context, _ *problem, s *stage) (ways []way, lacks string, err error) {
	if n := s.product.flops(); g.most > 0 && n > g.most {
		return nil, fmt.Sprintf("%.0f GFLOP would take it too long", n/1e9), nil
	}
	g.multiply, g.c, g.close, err = g.of(s.product)
	return []way{{"gemm", true}}, "", err
}

func (g *goGEMM) check(context.Context, string) (*checked, error) {
	return nil, fmt.Errorf("peers: %s multiplies and has no rows", g.called)
}

func (g *goGEMM) product(ctx context.Context, _ string) (arrow.Array, float64, error) {
	start := time.Now()
	err := g.multiply(ctx)
	return g.c, time.Since(start).Seconds(), err
}

func (g *goGEMM) run(ctx context.Context, _ string, atLeast time.Duration, most int) (turn, error) {
	return repeat(ctx, atLeast, most, func(ctx context.Context) (func(), error) { return func() {}, g.multiply(ctx) })
}

func (g *goGEMM) unload(context.Context) error {
	if g.close == nil {
		return nil
	}
	err := g.close()
	g.multiply, g.c, g.close = nil, nil, nil
	return err
}

// ourGEMM multiplies by our kernel, in the device's own memory, as peers do in
// theirs.
func ourGEMM(b *kernels.Backend) func(m *matrices) (func(context.Context) error, arrow.Array, func() error, error) {
	return func(m *matrices) (multiply func(context.Context) error, c arrow.Array, done func() error, err error) {
		s, err := b.NewStream()
		if err != nil {
			return nil, nil, nil, err
		}
		var on [3]kernels.Matrix
		done = func() error {
			for _, x := range on {
				if x.Data != nil {
					x.Data.Release()
				}
			}
			return s.Close()
		}
		for i, x := range []kernels.Matrix{{Rows: m.m, Cols: m.k}, {Rows: m.k, Cols: m.n}, {Rows: m.m, Cols: m.n}} {
			x.Type, x.Stride = m.of, x.Cols
			if x.Data, err = memory.New(b.Device.Memory(), x.Rows*x.Cols*int64(memory.Width(m.of))); err != nil {
				return nil, nil, nil, errors.Join(err, done())
			}
			on[i] = x
		}
		for i, x := range []arrow.Array{m.a, m.b, uniform(m.of, 3, m.m*m.n)} {
			copy(on[i].Data.Bytes(), x.Data().Buffers()[1].Bytes())
		}
		if m.of.ID() == arrow.FLOAT32 {
			c = fixed(m.of, memory.View[float32](on[2].Data), nil, 0)
		} else {
			c = fixed(m.of, memory.View[float64](on[2].Data), nil, 0)
		}
		return func(ctx context.Context) error {
			if err := b.GEMM(ctx, s, false, false, 1, on[0], on[1], 0, on[2]); err != nil {
				return err
			}
			return s.Wait(ctx)
		}, c, done, nil
	}
}

// gonumGEMM multiplies by gonum's own BLAS, which is Go.
func gonumGEMM(m *matrices) (func(context.Context) error, arrow.Array, func() error, error) {
	c := uniform(m.of, 3, m.m*m.n)
	rows, cols, inner := int(m.m), int(m.n), int(m.k)
	multiply := func(context.Context) error {
		if m.of.ID() == arrow.FLOAT32 {
			gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, rows, cols, inner, 1, numbers[float32](m.a), inner, numbers[float32](m.b), cols, 0, numbers[float32](c), cols)
			return nil
		}
		gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, rows, cols, inner, 1, numbers[float64](m.a), inner, numbers[float64](m.b), cols, 0, numbers[float64](c), cols)
		return nil
	}
	return multiply, c, func() error { return nil }, nil
}

// numbers are the values of an array without nulls, not copied.
func numbers[T float32 | float64](a arrow.Array) []T {
	b := a.Data().Buffers()[1].Bytes()
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), a.Len())
}

// unlike says how a product differs from another by more than rounding: an
// element may be off by one unit for each of its k terms, each below 1.
func unlike(got, want arrow.Array, m *matrices) string {
	if got.Len() != want.Len() || got.DataType().ID() != want.DataType().ID() {
		return fmt.Sprintf("%d elements of type %s, not %d of type %s", got.Len(), got.DataType(), want.Len(), want.DataType())
	}
	if g, ok := got.(*array.Float32); ok {
		return farthest(g.Float32Values(), want.(*array.Float32).Float32Values(), 0x1p-23*float64(m.k), m.n)
	}
	return farthest(got.(*array.Float64).Float64Values(), want.(*array.Float64).Float64Values(), 0x1p-52*float64(m.k), m.n)
}

func farthest[T float32 | float64](got, want []T, bound float64, cols int64) string {
	for i, g := range got {
		if d := math.Abs(float64(g) - float64(want[i])); !(d <= bound) {
			return fmt.Sprintf("element (%d, %d) is %v, not %v", int64(i)/cols, int64(i)%cols, g, want[i])
		}
	}
	return ""
}

// moduleVersion is the version of a module in this binary.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == path {
				return d.Version
			}
		}
	}
	return ""
}

// gemmAnswer is the table of rates.
func gemmAnswer(o GEMMOptions, lines []GEMMLine) report.Answer {
	g := &report.Grid{
		Title:  "Fastest products, GFLOP/s",
		Header: append(append([]string{"op", "threads", "volley"}, o.Peers...), "best peer", "ratio", "peak", "of peak", "CPUs"),
		Left:   []bool{true},
		Note: "The ratio is ours over the best peer: above 1 ours is faster. The peak is that of fused multiply-adds in registers, measured beside the rounds\n" +
			"(twice the one of float64 for float32). CPUs are those that each kept busy: volley, " + strings.Join(o.Peers, ", ") + ".",
	}
	skipped, fallen := o.skipped(), new(falls)
	for _, name := range slices.Sorted(maps.Keys(skipped)) {
		g.Note += fmt.Sprintf("\n%s: %s.", name, skipped[name])
	}
	for _, l := range lines {
		fallen.add(fmt.Sprintf("%s, threads %d,", l.Op, l.Threads), l.Rounds, l.Retaken, l.Unsteady)
		for _, few := range l.few {
			g.Note += fmt.Sprintf("\n%s, threads %d, %s.", l.Op, l.Threads, few)
		}
		for _, name := range slices.Sorted(maps.Keys(l.Missing)) {
			g.Note += fmt.Sprintf("\n%s, threads %d, %s: %s.", l.Op, l.Threads, name, l.Missing[name])
		}
	}
	g.Note = strings.Join(append([]string{g.Note}, fallen.notes()...), "\n")
	rate := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	for _, l := range lines {
		row := []string{l.Op, fmt.Sprint(l.Threads), rate(l.Ours)}
		for _, name := range o.Peers {
			x, ok := l.Peers[name]
			row = append(row, dash(ok, func() string { return rate(x) }))
		}
		var cpus []string
		for _, name := range append([]string{"volley"}, o.Peers...) {
			x, ok := l.CPUs[name]
			cpus = append(cpus, dash(ok, func() string { return fmt.Sprintf("%.1f", x) }))
		}
		g.Add(append(row, l.Best, dash(l.Best != "", func() string { return starred(fmt.Sprintf("%.2f", l.Ratio), l.Unsteady) }), rate(l.Peak),
			fmt.Sprintf("%.0f %%", 100*l.Share), strings.Join(cpus, " "))...)
	}
	return report.Answer{Suite: "gemm", Value: map[string]any{"peers": lines, "skipped": skipped}, Grid: g}
}
