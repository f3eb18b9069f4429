package simulate

import (
	"fmt"
	"math"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/collective/tune"
)

// Compared is predictions beside times, a line each with how much the times differ, the
// geometric mean of how far they are apart, and how far the times' own rounds are.
func Compared(all []tune.Prediction) report.Grid {
	g := report.Grid{Title: "Predicted and measured", Left: []bool{true, true, true},
		Header: []string{"transport", "op", "algorithm", "ranks", "size", "predicted", "measured", "error", "over the least"}}
	within, agree, sum := 0, 0.0, 0.0
	for i := range all {
		t := &all[i]
		e := t.Error()
		if math.Abs(e) <= 0.3 {
			within++
		}
		agree += t.Agree()
		sum += math.Abs(math.Log(t.Predicted / t.Seconds))
		g.Add(t.Transport, t.Op, t.Algorithm, fmt.Sprint(t.Ranks), report.Bytes(t.Bytes), report.Seconds(t.Predicted), report.Seconds(t.Seconds), fmt.Sprintf("%+.0f %%", 100*e), fmt.Sprintf("%+.0f %%", 100*(t.Spread()-1)))
	}
	if n := len(all); n > 0 {
		g.Note = fmt.Sprintf("%d of %d within 30 %%; geometric mean of the factor between them: %.2f. Measured is the middle of all rounds; of two rounds of a place one is within 30 %% of the other in %.0f of 100.", within, n, math.Exp(sum/float64(n)), 100*agree/float64(n))
	}
	return g
}

// Operations is predicted over measured by operation: the geometric mean over its algorithms and lengths, a line each.
func Operations(all []tune.Prediction) report.Grid {
	g := report.Grid{Title: "Predicted over measured, by operation", Left: []bool{true, true}, Header: []string{"transport", "op", "ranks", "geometric mean", "places within 30 %"}}
	type world struct {
		transport, op string
		ranks         int
	}
	type tally struct {
		n, within int
		logs      float64
	}
	var order []world
	of := map[world]*tally{}
	for i := range all {
		p := &all[i]
		w := world{p.Transport, p.Op, p.Ranks}
		if of[w] == nil {
			of[w] = &tally{}
			order = append(order, w)
		}
		of[w].n++
		of[w].logs += math.Log(p.Predicted / p.Seconds)
		if math.Abs(p.Error()) <= 0.3 {
			of[w].within++
		}
	}
	within := 0
	for _, w := range order {
		t := of[w]
		mean := math.Exp(t.logs / float64(t.n))
		if math.Abs(mean-1) <= 0.3 {
			within++
		}
		g.Add(w.transport, w.op, fmt.Sprint(w.ranks), fmt.Sprintf("%.2f", mean), fmt.Sprintf("%d of %d", t.within, t.n))
	}
	if len(order) > 0 {
		g.Note = fmt.Sprintf("%d of %d within 30 %%.", within, len(order))
	}
	return g
}

// Hosts is in which state of the host machines were measured, a line for each number of ranks; none where nobody looked.
func Hosts(machines []*tune.Machine) report.Grid {
	g := report.Grid{Title: "The host, while this was measured", Left: []bool{true}, Header: []string{"transport", "8 B", "8 KiB", "arithmetic", "measurements", "in another state"},
		Note: "What messages through shared memory and arithmetic on both processors took; a virtual machine's host moves its processors, and what it moved meanwhile was measured again."}
	for _, m := range machines {
		for _, h := range m.Hosts {
			if h.State != (tune.State{}) {
				g.Add(m.Figures.Transport, report.Seconds(h.State.Short), report.Seconds(h.State.Lines), report.Seconds(h.State.Loop), fmt.Sprint(h.Units), fmt.Sprint(h.Apart))
			}
		}
	}
	return g
}
