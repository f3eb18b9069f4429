package kerneltest

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// Family is the checks and the benchmark of one kernel.
type Family struct {
	Name   string // of the group of kernels: Movement, Order, …
	Kernel string // the field of kernels.Set
	Run    func(*Suite)
	Bench  func(*Bencher)
}

// families are all kernels' checks, in the order of kernels.Set.
var families = []Family{
	{"Elementwise", "Cast", cast, benchCast},
	{"Elementwise", "Arithmetic", arithmetic, benchArithmetic},
	{"Elementwise", "Unary", unary, benchUnary},
	{"Elementwise", "Temporal", temporal, benchTemporal},
	{"Elementwise", "Compare", compareKernel, benchCompare},
	{"Elementwise", "Match", match, nil},
	{"Elementwise", "Substring", substring, nil},
	{"Elementwise", "Logic", logic, benchLogic},
	{"Elementwise", "Not", not, nil},
	{"Elementwise", "IsNull", isNull, nil},
	{"Elementwise", "FillNull", fillNull, benchFillNull},
	{"Elementwise", "IfElse", ifElse, benchIfElse},
	{"Elementwise", "Hash", hash, benchHash},
	{"Expressions", "Apply", apply, benchApply},
	{"Expressions", "Evaluate", evaluate, benchEvaluate},
	{"Movement", "Filter", filter, benchFilter},
	{"Movement", "Take", take, benchTake},
	{"Movement", "Concat", concat, benchConcat},
	{"Movement", "Partition", partition, benchPartition},
	{"Reduce", "Reduce", reduce, benchReduce},
	{"Reduce", "Scan", scan, benchScan},
	{"Order", "SortIndices", sortIndices, benchSortIndices},
	{"Order", "TopK", topK, benchTopK},
	{"Groups", "Group", group, benchGroup},
	{"Groups", "Aggregate", aggregate, benchAggregate},
	{"Groups", "GroupBy", groupBy, benchGroupBy},
	{"Groups", "Unique", unique, benchUnique},
	{"Groups", "IsIn", isIn, benchIsIn},
	{"Joins", "JoinBuild", joinBuild, benchJoinBuild},
	{"Joins", "Cross", cross, benchCross},
	{"Matrix", "GEMM", gemm, benchGEMM},
	{"Matrix", "GEMV", gemv, benchGEMV},
	{"Matrix", "Transpose", transpose, benchTranspose},
}

// Option is an option of Run.
type Option func(*options)

type options struct {
	golden string
	extent *Extent
	shape  bool
	only   []string
	morsel int64
}

// Support holds what the backend supports against a golden file, as Golden
// does, after the kernels were run; not at the extent Least, which leaves pairs out.
func Support(path string) Option { return func(o *options) { o.golden = path } }

// Size says how much to run; without it that follows from the device and the
// test's flags. The environment variable VOLLEY_KERNELTEST (least, tiny, brief,
// full) makes it smaller.
func Size(e Extent) Option { return func(o *options) { o.extent = &e } }

// Only leaves kernels out but those of some fields of kernels.Set.
func Only(kernels ...string) Option { return func(o *options) { o.only = kernels } }

// MorselOf sets the rows around which large cases have theirs, for kernels that take long on many.
func MorselOf(rows int64) Option { return func(o *options) { o.morsel = rows } }

// SumShape holds float reductions of a column to the reference bit for bit on a
// device too, where the contract asks for its bound only.
func SumShape() Option { return func(o *options) { o.shape = true } }

const defaultSeed = 20261120

// seedOf is the seed of this process.
func seedOf(fatalf func(string, ...any)) uint64 {
	text := os.Getenv("VOLLEY_SEED")
	if text == "" {
		return defaultSeed
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		fatalf("VOLLEY_SEED=%q is no number", text)
	}
	return seed
}

// Run holds every kernel of a backend against the reference, as subtests
// Family/Kernel. Kernels that the backend has not got are left out: what it has
// is the golden list's to say.
func Run(t *testing.T, b *kernels.Backend, opts ...Option) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	seed, extent := seedOf(t.Fatalf), extentOf(t.Fatalf, b.Device, o.extent)
	byName := map[string][]Family{}
	var names []string
	for _, f := range families {
		if byName[f.Name] == nil {
			names = append(names, f.Name)
		}
		byName[f.Name] = append(byName[f.Name], f)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, f := range byName[name] {
				if !has(b.Set, f.Kernel) || o.only != nil && !slices.Contains(o.only, f.Kernel) {
					continue
				}
				t.Run(f.Kernel, func(t *testing.T) {
					t.Parallel()
					s := newSuite(t, b, referenceBackend(t), true, extent)
					s.shape, s.morsel = o.shape, o.morsel
					f.run(s, seed)
				})
			}
		})
	}
	if b.Set.GatherRows.Func != nil && o.only == nil {
		t.Run("Movement/GatherRows", func(t *testing.T) { gatherRows(t, b) })
	}
	if o.golden != "" && extent > Least { // which does not run all pairs
		t.Run("Support", func(t *testing.T) { Golden(t, b.Set, o.golden) })
	}
}

func (f Family) run(s *Suite, seed uint64) {
	s.begin(f.Kernel, seed)
	defer s.release(0)
	f.Run(s)
	s.release(0)
	if s.tested.onHost() && !*s.repeated && !s.planted && !s.Failed() {
		s.Errorf("%s: no call has the %d rows from which on it is made with %v threads", s.kernel, s.Morsel(), Threads)
	}
	for _, in := range s.inputs {
		if n := in.live.Load(); n != 0 {
			s.Errorf("%s: %d blocks of arguments are still held (seed %d)", s.kernel, n, s.seed)
		}
	}
	if a := s.tested.arguments; a != nil && a.live.Load() != 0 {
		s.Errorf("%s: %d blocks of arguments on the device are still held (seed %d)", s.kernel, a.live.Load(), s.seed)
	}
	for _, m := range s.inputs {
		if err := m.close(); err != nil {
			s.Errorf("%s: %v (seed %d)", s.kernel, err, s.seed)
		}
	}
	if err := s.tested.close(); err != nil {
		s.Errorf("%s: %v (seed %d)", s.kernel, err, s.seed)
	}
}

// newSuite holds b against reference. Guarded, arguments and results lie
// against unmapped memory, or on another device before a fence.
func newSuite(r Reporter, b, reference *kernels.Backend, guarded bool, extent Extent) *Suite {
	inputs := []*tally{{Allocator: memory.Heap}}
	if guarded {
		inputs = []*tally{{Allocator: guard.New(guard.Tail)}, {Allocator: guard.New(guard.Head)}}
	}
	tested, err := newSide(b, guarded)
	if err != nil {
		r.Fatalf("streams of %s: %v", b.Device.Name(), err)
		return nil
	}
	ref, err := newSide(reference, false)
	if err != nil {
		r.Fatalf("streams of %s: %v", reference.Device.Name(), err)
		return nil
	}
	return &Suite{
		Reporter:  r,
		extent:    extent,
		tested:    tested,
		reference: ref,
		inputs:    inputs,
		ran:       pairsOf(b.Set),
		faulted:   map[string]bool{},
		checked:   map[string]int{},
		repeated:  new(bool),

		overReleases: memory.OverReleases(),
	}
}

func has(set *kernels.Set, kernel string) bool {
	return !reflect.ValueOf(set).Elem().FieldByName(kernel).FieldByName("Func").IsNil()
}

func referenceBackend(t testing.TB) *kernels.Backend {
	d := host.New()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return &kernels.Backend{Device: d, Set: reference.New()}
}
