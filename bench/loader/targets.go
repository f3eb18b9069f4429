package loader

import (
	"fmt"

	"github.com/volley-go/volley/bench/report"
)

// Target is a figure and what it should be.
type Target struct {
	Name string  `json:"name"`
	Want float64 `json:"want"`
	Got  float64 `json:"got"`
	Met  bool    `json:"met"`
	most bool    // Want is the most that is right, else the least
	show func(float64) string
}

// String is the target as a line.
func (t Target) String(op string) string {
	sign, met := "at least", "met"
	if t.most {
		sign = "at most"
	}
	if !t.Met {
		met = "missed"
	}
	return fmt.Sprintf("%s, %s: %s, %s %s: %s.", op, t.Name, t.show(t.Got), sign, t.show(t.Want), met)
}

// ratios are how many times as long as ours the others should take.
var ratios = map[string]map[string]float64{
	"memory":  {"torch-loader-0": 40, "torch-loader-2": 40, "torch-batch": 6, "torch-gather": 1.2},
	"parquet": {"pyarrow": 2},
}

const (
	shareOfLimit = 0.7
	besideRing   = 64 << 20 // bytes of resident memory over the data and the ring
	ringBatches  = 4        // of two workers
)

// firstBatch is the longest that the first batch may take, in seconds.
var firstBatch = map[string]float64{"memory": 0.05, "parquet": 0.3}

// targetsOf holds a line against what it should be, as far as it was measured.
func targetsOf(l *Line, batch int64) (all []Target) {
	add := func(t Target) {
		t.Met = t.Got >= t.Want
		if t.most {
			t.Met = t.Got <= t.Want
		}
		all = append(all, t)
	}
	times := func(x float64) string { return fmt.Sprintf("%.2f times", x) }
	percent := func(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }
	for _, ours := range Engines()[:2] {
		e := l.Engines[ours]
		if e.MinS == 0 {
			continue
		}
		for _, name := range Engines()[2:] {
			if want, other := ratios[l.Op][name], l.Engines[name]; want > 0 && other.MinS > 0 {
				add(Target{Name: ours + " before " + name, Want: want, Got: other.MinS / e.MinS, show: times})
			}
		}
		if ours == "volley" && l.LimitS > 0 {
			add(Target{Name: ours + " of the limit", Want: shareOfLimit, Got: l.LimitS / e.MinS, show: percent})
		}
		if most := firstBatch[l.Op]; most > 0 {
			add(Target{Name: ours + ", first batch", Want: most, Got: e.FirstS, most: true, show: report.Seconds})
			ring := ringBatches * 4 * batch * l.Columns
			add(Target{Name: ours + ", growth", Want: float64(besideRing + ring), Got: float64(e.Growth), most: true,
				show: func(x float64) string { return report.Bytes(int64(x)) }})
		}
	}
	return all
}
