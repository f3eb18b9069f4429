package distributed

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/faultinject"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/table"
)

// go test ./distributed -run Soak -timeout 60m -schedules 6000 is half an hour of the same.
var (
	schedules = flag.Int("schedules", 0, "programs of random operators, with a rank that dies in most of them, of TestSoak; TestSoakOfProcesses has an eighth of them; 0: as many as begin within half a minute")
	soakSeed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of both")
)

// usualTime is for how long programs begin, where their number is not given; those of processes for half of it.
const usualTime = 20 * time.Second

// soaks runs the programs of numbers 0, 1 and so on, and says how many: as many as are asked for, one in so many, or as many as begin within a time. short is how many there are in short
// tests.
func soaks(t *testing.T, short, oneIn int, long time.Duration, run func(i int)) int {
	t.Helper()
	began, n := time.Now(), 0
	more := func() bool {
		switch {
		case *schedules > 0:
			return n < max(1, *schedules/oneIn)
		case testing.Short():
			return n < short
		}
		return n == 0 || time.Since(began) < long
	}
	for ; more(); n++ {
		run(n)
	}
	t.Logf("-seed %d: %d programs in %v", *soakSeed, n, time.Since(began))
	return n
}

// soakName is the name of one of them, which also the end of a test that hangs prints.
func soakName(i int) string { return fmt.Sprintf("seed=%d,schedule=%d", *soakSeed, i) }

// step is one operation of a random program, and what it is on all rows.
type step struct {
	name    string
	ranks   func(r *rank, d, o *Table) (*Table, error)
	local   func(l, m *table.Table) *table.Query
	ordered bool // the order over all ranks is promised
	goesOn  bool // the next steps may work on its result
}

// steps are the operations of random programs.
var steps = func() []step {
	var all []step
	for _, op := range operators {
		all = append(all, step{op.name, func(r *rank, d, _ *Table) (*Table, error) { return op.ranks(r, d) },
			func(l, _ *table.Table) *table.Query { return op.local(l.Query()) }, true, strings.HasPrefix(op.name, "sort")})
	}
	for _, kind := range []table.Kind{table.Inner, table.Left, table.Right, table.Full, table.Semi, table.Anti} {
		all = append(all, step{"join " + kind.String(), func(r *rank, d, o *Table) (*Table, error) { return d.Join(r, o, kind, table.Keys("k", "rk")) },
			func(l, m *table.Table) *table.Query { return l.Query().Join(m, kind, table.Keys("k", "rk")) }, false, false})
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		if !strings.HasPrefix(name, "join") && name != "replicate" {
			all = append(all, step{name, operations[name], func(l, _ *table.Table) *table.Query { return l.Query() }, name == "rebalance" || name == "scatter and gather", true})
		}
	}
	sets := func(do func(d *Table, r *rank, o *Table) (*Table, error)) func(r *rank, d, _ *Table) (*Table, error) {
		return func(r *rank, d, _ *Table) (*Table, error) {
			some, err := d.Filter(r, "v % 3 = 0")
			if err != nil {
				return nil, err
			}
			defer some.Release()
			return do(d, r, some)
		}
	}
	return append(all,
		step{"intersect", sets(func(d *Table, r *rank, o *Table) (*Table, error) { return d.Intersect(r, o) }),
			func(l, _ *table.Table) *table.Query { return l.Query().Intersect(l.Query().Filter("v % 3 = 0")) }, true, false},
		step{"except", sets(func(d *Table, r *rank, o *Table) (*Table, error) { return d.Except(r, o) }),
			func(l, _ *table.Table) *table.Query { return l.Query().Except(l.Query().Filter("v % 3 = 0")) }, true, true},
	)
}()

// program is what all ranks run: steps on the rows of a source, one after another.
type program struct {
	shape string
	seed  uint64
	steps []step
}

func randomProgram(r *rand.Rand, most int) program {
	p := program{shape: shapes[r.IntN(len(shapes))], seed: r.Uint64()}
	for range 1 + r.IntN(most) {
		p.steps = append(p.steps, steps[r.IntN(len(steps))])
	}
	return p
}

func (p program) String() string {
	text := p.shape
	for _, s := range p.steps {
		text += ", " + s.name
	}
	return text
}

// run runs it. Rank 0 holds each result against the local operator's on the rows of all ranks.
func (p program) run(r *rank) error {
	n := r.comm.Size()
	left, right := newSource(p.shape, p.seed, 80, n), newSource("even", p.seed+1, 50, n)
	d, err := r.spread(left, "")
	if err != nil {
		return err
	}
	defer func() { d.Release() }()
	o, err := r.spread(right, "r")
	if err != nil {
		return err
	}
	defer o.Release()
	whole, other := left.whole(r.backend, ""), right.whole(r.backend, "r")
	defer func() { whole.Release() }()
	defer other.Release()
	for _, s := range p.steps {
		got, err := s.ranks(r, d, o)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := p.check(r, s, got, whole, other); err != nil || !s.goesOn {
			got.Release()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			continue
		}
		d.Release()
		d = got
		next, err := d.Gather(r, 0)
		if err != nil {
			return err
		}
		whole.Release()
		whole = next
	}
	return nil
}

// check compares a result with what it is to be.
func (p program) check(r *rank, s step, got *Table, whole, other *table.Table) error {
	all, err := r.all(got)
	if err != nil || r.id() != 0 {
		return err
	}
	if got.by.Scheme == Replicated {
		all = all[:len(all)/r.comm.Size()]
	}
	want, err := s.local(whole, other).Collect(r)
	if err != nil {
		return err
	}
	defer want.Release()
	wanted := rows(want)
	if !s.ordered {
		slices.Sort(all)
		slices.Sort(wanted)
	}
	if !slices.Equal(wanted, all) {
		return fmt.Errorf("rows %q in place of %q", all, wanted)
	}
	return nil
}

// Random operators, with a rank that is killed or stopped in the middle: results are right, the survivors all have one Fault that names the rank, nothing is left, and
// what remains of the group goes on.
func TestSoak(t *testing.T) {
	usual := groupLimits
	groupLimits.few, groupLimits.sample = 3, 20 // groups and rows move
	defer func() { groupLimits = usual }()
	goroutines, faults := runtime.NumGoroutine(), 0
	n := soaks(t, 15, 1, usualTime, func(i int) {
		r := rand.New(rand.NewPCG(*soakSeed, uint64(i)))
		size, p := 2+r.IntN(3), randomProgram(r, 4)
		event := faultinject.Event{Rank: r.IntN(size), N: int64(r.IntN(80)), Kind: faultinject.Kind(r.IntN(2))}
		carrier := []string{"inproc", "inproc", "shm", "tcp"}[r.IntN(4)]
		t.Run(soakName(i), func(t *testing.T) {
			what := fmt.Sprintf("-seed %d, schedule %d: %d ranks over %s, %+v: %s", *soakSeed, i, size, carrier, event, p)
			t.Log(what)
			ends := func() []transport.Endpoint { return inproc.New(size) }
			if between, ok := transports(t, size)[carrier]; ok {
				ends = between
			}
			if survivesIn(t, ends(), event, func(r *rank) error {
				defer func() {
					if v := recover(); v != nil { // nothing else would say which program it was
						panic(fmt.Sprintf("rank %d of %s: %v\n%s", r.id(), what, v, debug.Stack()))
					}
				}()
				return p.run(r)
			}) {
				faults++
			}
		})
	})
	if n > 12 { // of a few none may come to its event
		require.Greater(t, faults, n/4)
	}
	for tries := 0; runtime.NumGoroutine() > goroutines && tries < 100; tries++ {
		time.Sleep(20 * time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+1, "goroutines are left")
}
