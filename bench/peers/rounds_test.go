package peers

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// A round beside which the machine gives less is run again, but not for ever.
func TestRetakes(t *testing.T) {
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e := &race{contenders: []contender{&ours{backend: b}}, rounds: 2, gauge: readings{1, 2, 3}, best: report.Reading{FMAs: 1.5, ReadGBs: 2, CopyGBs: 3}}
	p := problemNamed("sum")
	all, err := e.prepare(context.Background(), p, &stage{records: p.inputs(100)}, progress.Nothing())
	if err == nil {
		err = e.run(context.Background(), all, progress.Nothing())
	}
	if err != nil {
		t.Fatal(err)
	}
	if e.retaken != 2*retakes || e.unsteady != 2 || len(all[0].Seconds) == 0 {
		t.Errorf("%d retaken, %d unsteady, %d times", e.retaken, e.unsteady, len(all[0].Seconds))
	}
}

// falling is a machine that gave more once than ever after.
type falling struct{ later bool }

func (f *falling) Read(context.Context) (report.Reading, error) {
	if f.later {
		return report.Reading{FMAs: 1, ReadGBs: 1, CopyGBs: 1}, nil
	}
	f.later = true
	return report.Reading{FMAs: 2, ReadGBs: 2, CopyGBs: 2}, nil
}

// Ratios of which rounds count although the machine gave less are marked, in the
// table and in its lines of JSON.
func TestUnsteadyIsMarked(t *testing.T) {
	for _, c := range []struct {
		gauge    gauge
		star     bool
		unsteady int
	}{{readings{1, 1, 1}, false, 0}, {&falling{}, true, 2}} {
		to, err := racedBeside(t, context.Background(), "right", c.gauge, "groupby_100")
		if err != nil {
			t.Fatal(err)
		}
		l, g := to.answers[0].Value.(map[string]any)["peers"].([]Line)[0], to.answers[0].Grid
		for _, name := range []string{"ratio", "ordered"} {
			at := len(g.Header) - 1
			for g.Header[at] != name {
				at--
			}
			if strings.HasSuffix(g.Rows[0][at], "*") != c.star {
				t.Errorf("%s is %q", name, g.Rows[0][at])
			}
		}
		if l.Unsteady != c.unsteady || l.Rounds != 2 || strings.Contains(g.Note, "groupby_100 2 of 2") != c.star {
			t.Errorf("%+v: %s", l, g.Note)
		}
		for _, r := range to.records {
			if r.Unsteady != c.unsteady {
				t.Errorf("%s: %d rounds unsteady", r.Engine, r.Unsteady)
			}
		}
	}
}

// takes is a contender that says how long it took.
type takes struct {
	contender
	seconds float64
}

func (s takes) run(context.Context, string, time.Duration, int) (turn, error) {
	return turn{Seconds: []float64{s.seconds}}, nil
}

// All contenders are in all rounds, unless that would take minutes.
func TestRoundsOfTheSlow(t *testing.T) {
	e := &race{rounds: 5, gauge: readings{1, 1, 1}}
	var all []*racer
	for _, s := range []float64{0.001, 0.1, 11, 13, 1000} {
		all = append(all, &racer{contender: takes{seconds: s}, first: s})
	}
	if err := e.run(context.Background(), all, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	var rounds []int
	for _, r := range all {
		rounds = append(rounds, len(r.Seconds))
		if few := e.fewer(r); (few != "") != (len(r.Seconds) < 5) {
			t.Errorf("%d rounds: %q", len(r.Seconds), few)
		}
	}
	if !slices.Equal(rounds, []int{5, 5, 5, 4, 2}) {
		t.Errorf("rounds %v", rounds)
	}
	all = []*racer{{contender: takes{seconds: 1000}, first: 1000}} // the fastest, whatever it takes
	if err := e.run(context.Background(), all, progress.Nothing()); err != nil || len(all[0].Seconds) != 5 {
		t.Errorf("%d rounds, %v", len(all[0].Seconds), err)
	}
}
