package flights

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

const folder = "../../testdata/flights/"

// answerOf reads the answer of the query as its JSON has it.
func answerOf(t *testing.T, s *sink) (a struct {
	Answer
	Agree, Known bool
	Notes        []string
}) {
	t.Helper()
	if len(s.answers) != 2 {
		t.Fatalf("%d answers", len(s.answers))
	}
	text, err := json.Marshal(s.answers[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestMillion runs the suite on the real flights, on the host and on a device
// with memory of its own.
func TestMillion(t *testing.T) {
	there, fake := apart(t)
	here, s := onHost(t), new(sink)
	far := remote(t)
	o := Options{Data: folder + "flights-1m.parquet", Airports: folder + "airports.csv", Backends: []*kernels.Backend{here, there, far}, Host: here, Runs: 1, Threads: 2, Limit: report.Bandwidth{ReadGBs: 10}}
	if err := Run(context.Background(), o, s, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	a := answerOf(t, s)
	if a.Rows != 1_000_000 || a.Passed != 543_872 || len(a.States) != 48 || !a.Agree || !a.Known {
		t.Errorf("%d rows, %d passed, %d states, agree %v, known %v", a.Rows, a.Passed, len(a.States), a.Agree, a.Known)
	}
	for i, want := range map[int]State{
		0: {"WY", 133, 16.142857142857142, 219, 0.3007518796992481}, 1: {"IA", 629, 15.255961844197138, 718, 0.24960254372019078},
		2: {"SC", 863, 13.249130938586326, 1368, 0.27925840092699883}, 47: {"MT", 610, -3.5295081967213116, 432, 0.07377049180327869},
	} {
		if got := a.States[i]; got != want {
			t.Errorf("state %d is %+v, not %+v", i, got, want)
		}
	}
	for i, want := range []float64{-12.17023108, -0.88448681, 23.1112642, 6.56831618, -9.49606109} {
		if math.Abs(a.Coefficients[i]-want) > 5e-9 {
			t.Errorf("coefficient %d is %v, not %v", i, a.Coefficients[i], want)
		}
	}
	if math.Abs(a.R2-0.0214471604535571) > 1e-12 {
		t.Errorf("R² is %v", a.R2)
	}
	for _, e := range [][2]string{{"volley", "cpu"}, {"volley", "apart"}, {"volley", "cuda:0"}, {"reference", "cpu"}} {
		for _, op := range []string{"query", "fit"} {
			if r := s.find(t, e[0], e[1], op); r.OK == nil || !*r.OK || r.MedianS == nil || r.Runs != 1 || r.GBs == nil || r.ShareOfLimit == nil || *r.Rows != 1_000_000 {
				t.Errorf("%+v", r)
			}
		}
	}
	for _, device := range []string{"cpu", "apart", "cuda:0"} {
		if r := s.find(t, "volley", device, "batches"); r.OK == nil || !*r.OK || r.MedianS == nil || *r.Rows != 1_000_000 {
			t.Errorf("%+v", r)
		}
	}
	s.find(t, "volley", "cpu", "read")
	s.find(t, "volley", "apart", "read")
	// Three columns of 8 bytes, three letters and an offset a row, at least.
	for _, device := range []string{"apart", "cuda:0"} {
		if r := s.find(t, "volley", device, "transfer"); *r.Bytes < 31_000_000 || r.MedianS == nil || r.GBs == nil || r.ShareOfLimit != nil {
			t.Errorf("%+v", r)
		}
	}
	if len(s.records) != 5+4*2+3 {
		t.Errorf("%d records", len(s.records))
	}
	if fake.Calls() == 0 {
		t.Error("no copy went through the device's stream")
	}
	if note := s.answers[0].Grid.Note; !strings.Contains(note, "cpu works on host memory: nothing to transfer") || strings.Contains(note, "apart works") || !strings.Contains(note, "They are the known ones") {
		t.Errorf("the note is %q", note)
	}
}

// TestOtherData holds the suite against plain loops over flights that nobody
// else has an answer for.
func TestOtherData(t *testing.T) {
	f, here, s := writeSmall(t), onHost(t), new(sink)
	there, _ := apart(t)
	if err := Run(context.Background(), f.options(here, there, remote(t)), s, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	a := answerOf(t, s)
	if !a.Agree || a.Known || !strings.Contains(s.answers[0].Grid.Note, "There is no answer by other software") {
		t.Errorf("agree %v, known %v, %q", a.Agree, a.Known, s.answers[0].Grid.Note)
	}
	want, sum, late, passed := map[string]State{}, map[string]float64{}, map[string]float64{}, int64(0)
	for i := range smallRows {
		_, delay, distance, origin := flight(i)
		if distance < 500 || origin == "???" {
			continue
		}
		name := origins[i%len(origins)].state
		w, seen := want[name]
		if w.Flights++; !seen || delay > w.MaxDelay {
			w.MaxDelay = delay
		}
		want[name] = w
		passed++
		sum[name] += float64(delay)
		if delay > 15 {
			late[name]++
		}
	}
	if a.Passed != passed || len(a.States) != len(want) {
		t.Errorf("%d passed in %d states, not %d in %d", a.Passed, len(a.States), passed, len(want))
	}
	for i, got := range a.States {
		w := want[got.State]
		n := float64(w.Flights)
		if got.Flights != w.Flights || got.MaxDelay != w.MaxDelay || !near(got.MeanDelay, sum[got.State]/n, meanBound) || !near(got.LateShare, late[got.State]/n, meanBound) {
			t.Errorf("%+v, not %+v", got, w)
		}
		if i > 0 && got.MeanDelay > a.States[i-1].MeanDelay {
			t.Errorf("%s comes after %s", got.State, a.States[i-1].State)
		}
	}
	// The delays are 7·hour − 30 + distance/250 + latitude − longitude/10.
	for i, want := range []float64{-30, 4, 168, 90, -18} {
		if math.Abs(a.Coefficients[i]-want) > 1e-8 {
			t.Errorf("coefficient %d is %v, not %v", i, a.Coefficients[i], want)
		}
	}
	if math.Abs(a.R2-1) > 1e-9 {
		t.Errorf("R² is %v", a.R2)
	}
}

// spoiled is a backend on the same device with one wrong kernel.
func spoiled(b *kernels.Backend, spoil func(*kernels.Set)) *kernels.Backend {
	set := *b.Set
	spoil(&set)
	return &kernels.Backend{Device: b.Device, Set: &set}
}

func TestWrongKernels(t *testing.T) {
	f, here := writeSmall(t), onHost(t)
	for op, spoil := range map[string]func(*kernels.Set){
		"query": func(s *kernels.Set) { // loses the flights of 500 miles
			right := s.Compare.Func
			s.Compare.Func = func(ctx context.Context, st device.Stream, op kernels.CompareOp, a, b kernels.Datum) (*memory.Column, error) {
				if op == kernels.GreaterEqual {
					op = kernels.Greater
				}
				return right(ctx, st, op, a, b)
			}
		},
		"fit": func(s *kernels.Set) { // the sum of the delays is too large
			right := s.GEMM.Func
			s.GEMM.Func = func(ctx context.Context, st device.Stream, ta, tb bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
				err := right(ctx, st, ta, tb, alpha, a, b, beta, c)
				memory.View[float64](c.Data)[c.Cols-1] *= 1.001
				return err
			}
		},
	} {
		bad := spoiled(here, spoil)
		s := new(sink)
		o := f.options(here, here)
		o.Backends = append(o.Backends, bad)
		if err := Run(context.Background(), o, s, progress.Nothing()); err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		var wrong []string
		for _, r := range s.records {
			if r.Wrong() {
				wrong = append(wrong, r.Engine+" "+r.Op)
			}
		}
		if len(wrong) != 1 || wrong[0] != "volley "+op {
			t.Errorf("%s is spoiled, wrong are %q", op, wrong)
		}
		if a := answerOf(t, s); a.Agree || !strings.Contains(s.answers[0].Grid.Note, "DO NOT AGREE") {
			t.Errorf("%s is spoiled: agree %v, %q", op, a.Agree, s.answers[0].Grid.Note)
		}
	}
}

// TestWrongAnswers spoils each field of the known answer.
func TestWrongAnswers(t *testing.T) {
	var known Answer
	if err := json.Unmarshal(goldenJSON, &known); err != nil {
		t.Fatal(err)
	}
	if err := known.sameQuery(&known); err != nil {
		t.Error(err)
	}
	if err := known.sameFit(&known); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Answer){
		"rows": func(a *Answer) { a.Rows-- }, "passed": func(a *Answer) { a.Passed++ },
		"a state less": func(a *Answer) { a.States = a.States[1:] }, "order": func(a *Answer) { a.States[3], a.States[4] = a.States[4], a.States[3] },
		"flights": func(a *Answer) { a.States[47].Flights++ }, "mean": func(a *Answer) { a.States[9].MeanDelay *= 1 + 1e-12 },
		"max": func(a *Answer) { a.States[0].MaxDelay-- }, "share": func(a *Answer) { a.States[0].LateShare = math.NaN() },
	} {
		bad := known
		bad.States = append([]State(nil), known.States...)
		spoil(&bad)
		if bad.sameQuery(&known) == nil {
			t.Errorf("another %s is not noticed", name)
		}
	}
	for i := range known.Coefficients {
		bad := known
		if bad.Coefficients[i] *= 1 + 1e-8; bad.sameFit(&known) == nil {
			t.Errorf("another coefficient %d is not noticed", i)
		}
	}
	bad := known
	if bad.R2 = math.NaN(); bad.sameFit(&known) == nil {
		t.Error("a NaN as R² is not noticed")
	}
	here := onHost(t)
	f, s := writeSmall(t), new(sink)
	run := &suite{Options: f.options(here, here), to: s, p: progress.Nothing(), golden: &known}
	ok, err := run.engine(context.Background(), engine{"volley", here, 1})
	if err != nil || ok || !s.records[1].Wrong() || !s.records[2].Wrong() {
		t.Errorf("against another answer: ok %v, %v, %+v", ok, err, s.records)
	}
}
