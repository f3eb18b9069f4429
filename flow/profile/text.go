package profile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// row is a step as it is shown, below the step that reads it.
type row struct {
	step  *Step
	depth int
	title string // of a plan that begins here
}

// rows are the steps of all plans, the result's first.
func (p *Profile) rows() []row {
	var rows []row
	seen := make([]bool, len(p.Steps))
	var walk func(id, depth int, title string)
	walk = func(id, depth int, title string) {
		if id < 0 || id >= len(p.Steps) || seen[id] {
			return
		}
		seen[id] = true
		rows = append(rows, row{p.Steps[id], depth, title})
		for _, in := range p.Steps[id].Inputs {
			walk(in, depth+1, "")
		}
	}
	for _, s := range p.Steps {
		if s.Kind == KindResult {
			walk(s.ID, 0, "")
		}
	}
	for _, plan := range p.Plans {
		walk(plan.Step, 0, plan.Name)
	}
	return rows
}

// estimate is how many rows a step was expected to give: of the node whose last step it is.
func (p *Profile) estimate(step int) (rows float64, ok bool) {
	var walk func(n *Node)
	walk = func(n *Node) {
		if len(n.Steps) > 0 && n.Steps[len(n.Steps)-1] == step && n.Rows != nil && !ok {
			rows, ok = *n.Rows, true
		}
		for _, in := range n.Inputs {
			walk(in)
		}
	}
	for _, plan := range p.Plans {
		walk(plan.Root)
	}
	return rows, ok
}

// Text is the profile as lines: the steps with their measures, each above the steps that it reads, then
// the pipelines and the workers.
func (p *Profile) Text() string {
	var b strings.Builder
	b.WriteString(p.headline() + "\n\n")
	fmt.Fprintf(&b, "%10s %6s %10s %12s %12s %12s %10s  %s\n", "time", "share", "wait", "rows in", "rows out", "estimate", "bytes out", "step")
	all := max(p.busy(), 1)
	for _, r := range p.rows() {
		if r.title != "" {
			b.WriteString(r.title + "\n")
		}
		m := r.step.Total
		if m == nil {
			m = &Measure{}
		}
		guess := ""
		if rows, ok := p.estimate(r.step.ID); ok {
			guess = count(int64(rows + 0.5))
		}
		fmt.Fprintf(&b, "%10s %5.1f%% %10s %12s %12s %12s %10s  %s%s\n", milliseconds(m.Busy), 100*float64(m.Busy)/float64(all), milliseconds(m.Wait),
			count(m.RowsIn), count(m.RowsOut), guess, size(m.BytesOut), strings.Repeat("  ", r.depth), r.step.Text)
	}
	for _, pipe := range p.Pipelines {
		b.WriteString("\n" + p.pipelineText(pipe))
	}
	b.WriteString("\n")
	for i, w := range p.Workers {
		busy, wait := p.workerTimes(i)
		fmt.Fprintf(&b, "%-24s from %s to %s: busy %s, waiting %s\n", w.Name, milliseconds(w.Start), milliseconds(w.End), milliseconds(busy), milliseconds(wait))
	}
	if p.dropped > 0 {
		fmt.Fprintf(&b, "timelines lack %d times at steps\n", p.dropped)
	}
	return b.String()
}

// headline says what was run where, and how long it took.
func (p *Profile) headline() string {
	s := milliseconds(p.Elapsed)
	if p.Device != "" {
		s += " on " + p.Device
	}
	s += fmt.Sprintf(", of which planning %s: %s rows", milliseconds(p.Planned), count(p.Rows))
	if p.Elapsed > 0 {
		s += fmt.Sprintf(", %.1f workers busy on average", float64(p.busy())/float64(p.Elapsed))
	}
	return s
}

func (p *Profile) pipelineText(pipe *Pipeline) string {
	names := []string{p.Steps[pipe.Source].Text}
	for _, s := range pipe.Steps {
		names = append(names, p.Steps[s].Text)
	}
	cut := "whole batches"
	if pipe.MorselRows > 0 {
		cut = "morsels of " + count(pipe.MorselRows) + " rows"
	}
	if pipe.Discarded > 0 {
		cut += fmt.Sprintf(", %s rows discarded", count(pipe.Discarded))
	}
	return fmt.Sprintf("pipeline %d: %d workers, %s\n  %s\n", pipe.ID, pipe.Workers, cut, strings.Join(names, "\n  -> "))
}

// workerTimes are a worker's times in steps and waiting.
func (p *Profile) workerTimes(worker int) (busy, wait time.Duration) {
	for _, s := range p.Steps {
		for _, m := range s.Workers {
			if m.Worker == worker {
				busy, wait = busy+m.Busy, wait+m.Wait
			}
		}
	}
	return busy, wait
}

func milliseconds(d time.Duration) string {
	ms := float64(d) / 1e6
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 1:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.3f ms", ms)
}

// count is a number with a comma between each three digits.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}
