package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
	"github.com/volley-go/volley/kernels"
)

// shape is the sizes of a product: m x k by k x n.
type shape struct{ m, n, k int64 }

// shapes are square, tall, and long: what libraries block in different ways.
var shapes = []shape{
	{128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
	{65536, 64, 64}, {64, 64, 65536},
}

// elements are those of the largest matrix.
func (s shape) elements() int64 { return max(s.m*s.n, s.m*s.k, s.n*s.k) }

func (s shape) flops() float64 { return 2 * float64(s.m) * float64(s.n) * float64(s.k) }

// GEMMPeers lists the libraries that products are raced against.
func GEMMPeers() []string { return []string{"openblas", "mkl", "gonum"} }

// GEMMOptions are what to race on and against whom.
type GEMMOptions struct {
	Backend  *kernels.Backend // on the host
	Python   []string         // the interpreter that has OpenBLAS (by NumPy) and MKL, and its arguments
	Peers    []string         // names as [GEMMPeers] lists them
	Elements int64            // of a matrix at most
	Rounds   int
	Threads  int // races are run with one thread and with so many
}

// GEMMLine is what a race at one product came to.
type GEMMLine struct {
	Op      string             `json:"op"`
	Threads int                `json:"threads"`
	Ours    float64            `json:"volley_gflop_s"` // of the fastest run, as all figures here
	Peers   map[string]float64 `json:"peers_gflop_s"`
	CPUs    map[string]float64 `json:"cpus"` // that each engine, ours among them, kept busy
	Best    string             `json:"best,omitempty"`
	Ratio   float64            `json:"ratio,omitempty"`   // ours over the best peer's: above 1 ours is faster
	Missing map[string]string  `json:"missing,omitempty"` // peers without a time or with a wrong product, and why
	Peak    float64            `json:"peak_gflop_s"`      // of multiply-adds in registers, beside the rounds
	Share   float64            `json:"share_of_peak"`     // ours

	Rounds   int `json:"rounds"`
	Retaken  int `json:"rounds_retaken"`  // because the machine gave less
	Unsteady int `json:"rounds_unsteady"` // that count although the machine gave less

	died []string // peers whose processes ended
	few  []string // who was in fewer rounds, and why
}

// skipped lists the products that are too large for the options, each with why.
func (o *GEMMOptions) skipped() map[string]string {
	all := map[string]string{}
	for _, s := range shapes {
		if s.elements() <= o.Elements {
			continue
		}
		for _, of := range gemmTypes {
			m := matrices{shape: s, of: of}
			all[m.name()] = fmt.Sprintf("left out: a matrix has %d elements, more than the %d that are permitted", s.elements(), o.Elements)
		}
	}
	return all
}

// gemmTypes are the types of the elements.
var gemmTypes = []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}

// GEMM races products of matrices of float32 and float64, with one thread and
// with all. A product of which an element is further from ours than rounding
// explains is a record whose OK is false. With peers whose processes ended the
// error, after the answer, is a [report.Incomplete].
func GEMM(ctx context.Context, o GEMMOptions, to report.Sink, p progress.Progress) (err error) {
	for _, name := range o.Peers {
		if !slices.Contains(GEMMPeers(), name) {
			return fmt.Errorf("peers: no peer %q for products; there are %v", name, GEMMPeers())
		}
	}
	dir, err := os.MkdirTemp("", "volley-peers-")
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := worker.Unpack(programs, dir); err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	if o.Elements < 1 {
		return fmt.Errorf("peers: matrices of %d elements, at least 1 is needed", o.Elements)
	}
	var lines []GEMMLine
	var died []string
	for _, threads := range slices.Compact([]int{1, o.Threads}) {
		runtime.GOMAXPROCS(threads)
		more, err := gemmWith(ctx, o, threads, dir, to, p)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	for _, l := range lines {
		for _, name := range l.died {
			died = append(died, fmt.Sprintf("%s, threads %d, %s", l.Op, l.Threads, name))
		}
	}
	return errors.Join(to.Answer(gemmAnswer(o, lines)), ended(died))
}

// gemmWith races with a number of threads.
func gemmWith(ctx context.Context, o GEMMOptions, threads int, dir string, to report.Sink, p progress.Progress) (lines []GEMMLine, err error) {
	names := slices.DeleteFunc(slices.Clone(o.Peers), func(n string) bool { return n == "gonum" })
	workers, err := startNamed(ctx, dir, o.Python, names, threads, p)
	defer func() {
		for _, w := range workers {
			if cerr := w.Close(); err == nil {
				err = cerr
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	e := &race{rounds: o.Rounds}
	if e.gauge, err = report.NewGauge(threads); err != nil {
		return nil, err
	}
	all := []multiplier{&goGEMM{of: ourGEMM(o.Backend), called: "volley", version: report.Version()}}
	for _, w := range workers {
		all = append(all, &peerGEMM{peer: peer{Worker: w}, dir: dir})
	}
	if slices.Contains(o.Peers, "gonum") {
		all = append(all, &goGEMM{of: gonumGEMM, called: "gonum", version: moduleVersion("gonum.org/v1/gonum"), most: 1 << 35})
	}
	for _, of := range gemmTypes {
		for _, s := range shapes {
			if s.elements() > o.Elements {
				continue
			}
			l, err := e.product(ctx, all, newMatrices(of, s), threads, dir, to, p)
			if err != nil {
				return lines, err
			}
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// matrices are the input of a product.
type matrices struct {
	shape
	of   arrow.DataType
	a, b arrow.Array
}

func newMatrices(of arrow.DataType, s shape) *matrices {
	return &matrices{s, of, uniform(of, 1, s.m*s.k), uniform(of, 2, s.k*s.n)}
}

func (m *matrices) name() string {
	width := 64
	if m.of.ID() == arrow.FLOAT32 {
		width = 32
	}
	return fmt.Sprintf("gemm_f%d_%dx%dx%d", width, m.m, m.n, m.k)
}

// uniform are numbers in [-1, 1).
func uniform(of arrow.DataType, i uint64, n int64) arrow.Array {
	r := rand.New(rand.NewPCG(42, i))
	if of.ID() == arrow.FLOAT32 {
		v := make([]float32, n)
		for k := range v {
			v[k] = 2*r.Float32() - 1
		}
		return fixed(of, v, nil, 0)
	}
	v := make([]float64, n)
	for k := range v {
		v[k] = 2*r.Float64() - 1
	}
	return fixed(of, v, nil, 0)
}

// product races at one product.
func (e *race) product(ctx context.Context, all []multiplier, m *matrices, threads int, dir string, to report.Sink, p progress.Progress) (l GEMMLine, err error) {
	l = GEMMLine{Op: m.name(), Threads: threads, Peers: map[string]float64{}, CPUs: map[string]float64{}, Missing: map[string]string{}}
	p.Start(fmt.Sprintf("%s, threads: %d", l.Op, threads), int64(e.rounds))
	defer p.Done()
	s := &stage{paths: map[string]string{"a": filepath.Join(dir, "a"), "b": filepath.Join(dir, "b")}, product: m}
	for name, x := range map[string]arrow.Array{"a": m.a, "b": m.b} {
		if err := writeArrow(s.paths[name], record(column{"x", x})); err != nil {
			return l, err
		}
	}
	var racers []*racer
	var want arrow.Array
	for _, c := range all {
		r := &racer{contender: c, first: math.Inf(1)}
		racers = append(racers, r)
		ways, lacks, err := c.load(ctx, &problem{name: l.Op}, s)
		var got arrow.Array
		if r.lacks = lacks; err == nil && lacks == "" {
			r.way = ways[0]
			got, r.first, err = c.product(ctx, r.way.Name)
		}
		if err != nil {
			if err := r.failed(err); err != nil {
				return l, err
			}
			continue
		}
		if want == nil {
			want = got
		}
		if got != nil {
			r.wrong = unlike(got, want, m)
		}
	}
	if err := e.run(ctx, racers, p); err != nil {
		return l, err
	}
	l.Rounds, l.Retaken, l.Unsteady = e.rounds, e.retaken, e.unsteady
	l.Peak = e.best.FMAs
	if m.of.ID() == arrow.FLOAT32 {
		l.Peak *= 2
	}
	for i, r := range racers {
		if err := r.unload(ctx); err != nil {
			if _, gone := lost(err); !gone {
				return l, err
			}
			r.died = true
		}
		if r.died {
			l.died = append(l.died, r.name())
		}
		if few := e.fewer(r); few != "" {
			l.few = append(l.few, r.name()+": "+few)
		}
		if !r.races() {
			l.Missing[r.name()] = r.lacks
			continue
		}
		rec := report.Record{
			Suite: "gemm", Op: l.Op, Engine: r.name(), Version: r.release(), Device: "cpu", Rows: report.Of(m.m), Threads: threads, Way: r.way.Name,
			OK: report.Of(r.wrong == ""), Unsteady: e.unsteady,
		}
		rec.SetTiming(r.Timing)
		rec.GFLOPs = report.Of(m.flops() / r.Median() / 1e9)
		rec.ShareOfPeak = report.Of(*rec.GFLOPs / l.Peak)
		if r.cpu > 0 {
			rec.CPUs = report.Of(r.cpu / r.wall)
			l.CPUs[r.name()] = *rec.CPUs
		}
		if err := to.Record(rec); err != nil {
			return l, err
		}
		fastest := m.flops() / r.Min() / 1e9
		if i == 0 {
			l.Ours, l.Share = fastest, fastest/l.Peak
			continue
		}
		l.Peers[r.name()] = fastest
		if r.wrong != "" {
			l.Missing[r.name()] = "the product is not ours: " + r.wrong
			continue
		}
		if l.Best == "" || fastest > l.Peers[l.Best] {
			l.Best, l.Ratio = r.name(), l.Ours/fastest
		}
	}
	return l, nil
}
