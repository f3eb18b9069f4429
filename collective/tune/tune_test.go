package tune

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/processors"
	"github.com/volley-go/volley/device"
)

// measured runs Rank on goroutines.
func measured(t *testing.T, ranks int, cases []Timing) *Report {
	t.Helper()
	ends := inproc.New(ranks)
	reports, errs := make([]*Report, ranks), make([]error, ranks)
	var all sync.WaitGroup
	for r := range ends {
		all.Go(func() {
			var f *Figures
			if f, errs[r] = Measure(context.Background(), ends[r], "test"); f != nil {
				reports[r] = &Report{Figures: f}
			}
			if errs[r] == nil && cases != nil {
				var x *Report
				if x, errs[r] = one(context.Background(), ends[r], cases, 0, nil); x != nil {
					reports[r] = x
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for r, x := range reports {
		if (x != nil) != (r == 0) {
			t.Errorf("rank %d has the report %v", r, x)
		}
		if err := ends[r].Close(); err != nil {
			t.Error(err)
		}
	}
	return reports[0]
}

// What is measured makes a machine whose predictions are times, a model, and a table
// that a Comm takes.
func TestMeasure(t *testing.T) {
	cases := []Timing{{Op: "AllReduce", Algorithm: "ring", Bytes: 64}, {Op: "AllReduce", Algorithm: "direct", Bytes: 64}}
	crowd := processors.Count + 1
	m := Join(measured(t, 2, cases), measured(t, crowd, nil))
	f := m.Figures
	if f.Transport != "inproc" || f.Crowd == nil || f.Crowd.Ranks != crowd || f.Crowd.Near <= 0 || f.Crowd.Far <= 0 || f.Call < 0 || len(m.Times) != 2 {
		t.Fatalf("%+v", m)
	}
	for i, c := range f.curves() {
		if len(*c) != len(Lengths) {
			t.Errorf("curve %d has %d points", i, len(*c))
		}
	}
	if x := f.Model(); x.Alpha <= 0 || x.Beta <= 0 || x.Gamma < 0 {
		t.Errorf("model %+v", x)
	}
	all, err := m.Predictions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Predicted <= 0 || p.Seconds <= 0 || p.Ranks != 2 {
			t.Errorf("%+v", p)
		}
	}
	if _, err := f.Predict(context.Background(), Timing{Op: "Sum"}); err == nil {
		t.Error("an operation that there is not is predicted")
	}
	if _, err := Measure(context.Background(), inproc.New(1)[0], "test"); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("one rank alone: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, inproc.New(2)[0], "test"); !errors.Is(err, device.ErrCanceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// Several measurements make one of the middle of each figure and of all rounds of a time; those
// of other transports or cases do not.
func TestMiddle(t *testing.T) {
	of := func(call, shift float64, rounds ...float64) *Machine {
		f := &Figures{Transport: "tcp", Call: call, Crowd: &Crowd{Shift: []simulate.Point{{Bytes: 8, Seconds: shift}}}}
		return &Machine{Figures: f, Times: []Timing{{"tcp", "AllReduce", "ring", 2, 8, rounds[0], 1, rounds}}}
	}
	a, b, c := of(2, 7, 5, 8), of(3, 4, 4, 6, 7), of(1, 9, 6)
	m, err := Middle(a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	x := m.Times[0]
	if m.Figures.Call != 2 || m.Figures.Crowd.Shift[0].Seconds != 7 || x.Seconds != 6 || !slices.Equal(x.Rounds, []float64{4, 5, 6, 6, 7, 8}) || x.Spread() != 1.5 {
		t.Errorf("figures %+v of four ranks %+v, times %+v", m.Figures, m.Figures.Crowd, m.Times)
	}
	if a.Figures.Call != 2 || a.Figures.Crowd.Shift[0].Seconds != 7 || a.Times[0].Seconds != 5 || len(a.Times[0].Rounds) != 2 {
		t.Errorf("the first measurement was changed: %+v, %+v", a.Figures, a.Times)
	}
	other := of(1, 1, 1)
	other.Times[0].Algorithm = "direct"
	if _, err := Middle(a, other); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("of other cases: %v", err)
	}
	other = of(1, 1, 1)
	other.Figures.Transport = "shm"
	if _, err := Middle(a, other); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("of another transport: %v", err)
	}
	here, there := of(1, 1, 1), of(1, 1, 1)
	here.Hosts, there.Hosts = []Host{{State: State{Lines: 1}}}, []Host{{State: State{Lines: 4}}}
	if _, err := Middle(here, there); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("of another state of the host: %v", err)
	}
	if m, err := Middle(here, here); err != nil || len(m.Hosts) != 1 {
		t.Errorf("twice of one state: %+v, %v", m, err)
	}
	if _, err := Middle(); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("of none: %v", err)
	}
}

// Times are from when the first rank begins until the last is done, and a clock's numbers
// pass through messages unchanged.
func TestWhole(t *testing.T) {
	v := make([]float32, 4)
	for _, at := range []int64{0, 1, -1, 1<<62 + 12345, clock()} {
		if stamp(v, at); stamped(v) != at {
			t.Errorf("%d comes as %d", at, stamped(v))
		}
	}
	ends := inproc.New(2)
	done := make(chan error)
	go func() {
		_, err := (&meter{}).over(ends[1]).whole(3_000_000_000, 9_000_000_000)
		done <- err
	}()
	took, err := (&meter{}).over(ends[0]).whole(4_000_000_000, 8_000_000_000)
	if err := errors.Join(err, <-done, ends[0].Close(), ends[1].Close()); err != nil || took != 6 {
		t.Errorf("%v s, %v", took, err)
	}
}

// What a new group does first does not count, nor the first runs of a kind.
func TestTrials(t *testing.T) {
	for _, young := range []bool{false, true} {
		all := trials{young: young}
		all.start()
		n := 0
		for since := 0.0; !all.knows; n++ {
			since += 0.001
			all.add(0.001, since)
		}
		if want := map[bool]int{false: learning - 1, true: 50}[young]; n < want-1 || n > want+1 || len(all.took) > 0 {
			t.Errorf("of a new group %v: %d trials of a millisecond before the first that counts, of %d that did", young, n, len(all.took))
		}
	}
}

// A table has the fastest algorithm where it changes.
func TestTable(t *testing.T) {
	f := recorded(t)[0].Figures
	time := func(a string, bytes int64, s float64) Timing {
		return Timing{f.Transport, "AllReduce", a, 2, bytes, s, 1, nil}
	}
	m := &Machine{Figures: f, Times: []Timing{
		time("ring", 8, 2), time("direct", 8, 1), time("ring", 64, 3), time("direct", 64, 2), time("ring", 4096, 3), time("direct", 4096, 4),
	}}
	c := Table("a test", m).Transports[f.Transport].Choices
	if len(c) != 2 || c[0].Algorithm != "direct" || c[0].Bytes != 8 || c[1].Algorithm != "ring" || c[1].Bytes != 4096 || c[1].Ranks != 2 {
		t.Errorf("%+v", c)
	}
	want := 2 * 3 // reductions without an algorithm
	for op := algorithm.Broadcast; op <= algorithm.AllToAll; op++ {
		want += 2 * len(algorithm.For(op))
	}
	if n := len(Cases([]int64{8, 64})); n != want {
		t.Errorf("%d cases, not %d", n, want)
	}
}

// Reductions without an algorithm are timed where the transport does them, are in the table, and are not predicted.
func TestTimesOfMerges(t *testing.T) {
	cases := []Timing{{Op: "AllReduce", Algorithm: "ring", Bytes: 1 << 20}}
	for _, n := range []int64{64, 1 << 20} {
		cases = append(cases, Timing{Op: "AllReduce", Algorithm: collective.MergeName, Bytes: n})
	}
	m := Join(measured(t, 2, cases), nil)
	if len(m.Times) != 2 || m.Times[1].Algorithm != collective.MergeName || m.Times[1].Bytes != 1<<20 || m.Times[1].Seconds <= 0 {
		t.Fatalf("%+v", m.Times)
	}
	found, err := m.Predictions(context.Background())
	if err != nil || len(found) != 1 || found[0].Algorithm != "ring" {
		t.Errorf("%+v, %v", found, err)
	}
	m.Times[0].Seconds = 2 * m.Times[1].Seconds
	if of := Table("here", m).Transports["inproc"].Choices; len(of) != 1 || of[0].Algorithm != collective.MergeName {
		t.Errorf("the table has %+v", of)
	}
}
