package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/collective"
)

// Tuned is a tuning table for people: what messages of each transport cost, and from
// which length on which algorithm was found fastest, by operation and ranks. The first
// line of an operation holds for shorter vectors too.
func Tuned(t *collective.Tuning) []report.Grid {
	costs := report.Grid{Title: "What messages cost", Left: []bool{true}, Header: []string{"transport", "α", "1/β", "1/γ"},
		Note: "β and γ with two ranks at work on vectors of 1 MiB."}
	best := report.Grid{Title: "The fastest algorithm", Left: []bool{true, true, false, false, true},
		Header: []string{"transport", "op", "ranks", "from", "algorithm"}, Note: "Other operations and numbers of ranks are left to the model."}
	for _, name := range slices.Sorted(maps.Keys(t.Transports)) {
		of := t.Transports[name]
		costs.Add(name, report.Seconds(of.Model.Alpha), PerSecond(of.Model.Beta), PerSecond(of.Model.Gamma))
		choices := slices.Clone(of.Choices)
		slices.SortStableFunc(choices, func(a, b collective.Choice) int {
			return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Bytes, b.Bytes))
		})
		for _, c := range choices {
			best.Add(name, c.Op, fmt.Sprint(c.Ranks), report.Bytes(c.Bytes), c.Algorithm)
		}
	}
	return []report.Grid{costs, best}
}

// PerSecond is a time a byte as a speed.
func PerSecond(seconds float64) string {
	if seconds <= 0 {
		return "nothing"
	}
	return fmt.Sprintf("%.1f GB/s", 1e-9/seconds)
}
