package tune

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
)

// recorded are figures and times of one machine of two processors, as testdata/README.md
// says.
func recorded(t *testing.T) []*Machine {
	t.Helper()
	text, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []*Machine
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// tally is how far some predictions are from the times.
type tally struct {
	n, within int
	sum, bias float64 // of the logarithms of predicted over measured
}

func (a *tally) add(p *Prediction) {
	a.n++
	off := math.Log(p.Predicted / p.Seconds)
	a.sum += math.Abs(off)
	a.bias += off
	if math.Abs(p.Error()) <= 0.3 {
		a.within++
	}
}

// factor is the geometric mean of how many times too much or too little they are, mean
// that of predicted over measured.
func (a *tally) factor() float64 { return math.Exp(a.sum / float64(a.n)) }
func (a *tally) mean() float64   { return math.Exp(a.bias / float64(a.n)) }

func (a *tally) String() string {
	return fmt.Sprintf("%d of %d within 30 %%, factor %.2f, mean %.2f", a.within, a.n, a.factor(), a.mean())
}

// What a machine's figures predict of its collective operations, by every algorithm, none
// of which the figures have seen, is held against what they took. By geometric mean every
// operation but three is predicted within 30 %; the other bounds are what the model reaches,
// which docs/collectives.md tells about.
func TestPredictions(t *testing.T) {
	wide := map[string]bool{"tcp 2 AllToAll": true, "tcp 4 Gather": true, "shm 4 AllToAll": true}
	for _, c := range []struct {
		transport string
		ranks     int
		share     int     // in 100 that are within 30 %
		factor    float64 // geometric mean over all of them
	}{
		{"tcp", 2, 88, 1.20},
		{"tcp", 4, 76, 1.30},
		{"shm", 2, 91, 1.20},
		{"shm", 4, 75, 1.30},
	} {
		whole, byOp := tally{}, map[string]*tally{}
		far := ""
		for _, p := range predicted(t, c.transport, c.ranks) {
			if byOp[p.Op] == nil {
				byOp[p.Op] = &tally{}
			}
			whole.add(&p)
			byOp[p.Op].add(&p)
			if math.Abs(p.Error()) > 0.3 {
				far += fmt.Sprintf("\n%s by %s, %d bytes: %.1f µs, predicted %.1f µs", p.Op, p.Algorithm, p.Bytes, 1e6*p.Seconds, 1e6*p.Predicted)
			}
		}
		what := fmt.Sprintf("%s, %d ranks", c.transport, c.ranks)
		t.Logf("%s: %v", what, &whole)
		for op := algorithm.Broadcast; op <= algorithm.AllToAll; op++ {
			one := byOp[op.String()]
			t.Logf("%s, %s: %v", what, op, one)
			if !wide[fmt.Sprint(c.transport, " ", c.ranks, " ", op)] && math.Abs(math.Log(one.mean())) > math.Log(1.3) {
				t.Errorf("%s, %s: %v", what, op, one)
			}
		}
		if whole.n != 204 || 100*whole.within < c.share*whole.n || whole.factor() > c.factor {
			t.Errorf("%s: %v:%s", what, &whole, far)
		}
	}
}

func predicted(t *testing.T, transport string, ranks int) (some []Prediction) {
	t.Helper()
	for _, m := range recorded(t) {
		if m.Figures.Transport != transport {
			continue
		}
		all, err := m.Predictions(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.Ranks == ranks {
				some = append(some, p)
			}
		}
	}
	return some
}
