package table

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/profile"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Explain is the plan as it would run, after optimisation: a line for each
// operator, its inputs indented below it, with the columns and conditions that
// sources are given. The plans of scalars come after it, in the order in which they are
// run; in the conditions their names stand for the values. Parts that stand in the plans more
// than once, and are run once, come behind these. How many rows a step gives is a guess. At the end
// are the pipelines: what each worker, or the device, does with a part of a source's rows, one
// step after the other, who takes the result, and where the keys that joins hand down go.
func (q *Query) Explain(ctx context.Context) (_ string, err error) {
	defer exec.Guard(q.place(), &err)
	guess, p := newEstimates(), newProfiler()
	scalars, b := explainer{guess: guess}, explainer{guess: guess}
	n, err := q.outline(ctx, p, func(name string, n node) {
		scalars.text.WriteString("scalar " + name + "\n")
		scalars.node(n, 1)
	})
	if err != nil {
		return "", err
	}
	b.node(n, 0)
	b.text.WriteString(scalars.text.String())
	for _, s := range scalars.shared {
		b.number(s)
	}
	for i := 0; i < len(b.shared); i++ { // one may hold another
		fmt.Fprintf(&b.text, "shared %d, run once\n", b.shared[i].number)
		b.node(b.shared[i].final, 1)
	}
	b.text.WriteString(p.pipelines(q.backend != nil && q.backend.Device.Place() == memory.Host))
	return b.text.String(), nil
}

// pipelines are a line for each pipeline, and for each column of keys that a join hands down.
func (p *profiler) pipelines(onHost bool) string {
	var lines [][3]string
	for _, pipe := range p.out.Pipelines {
		by := p.out.Device
		if onHost { // as many as there are processors
			by = "workers"
		}
		parts := []string{p.part(pipe.Source)}
		for _, s := range pipe.Steps {
			parts = append(parts, p.part(s))
		}
		if to := p.taker(pipe); to != "" && to != parts[len(parts)-1] {
			parts = append(parts, to)
		}
		lines = append(lines, [3]string{fmt.Sprint(pipe.ID), by, strings.Join(parts, " -> ")})
	}
	text, first, second := "", 0, 0
	for _, l := range lines {
		first, second = max(first, len(l[0])), max(second, len(l[1]))
	}
	for _, l := range lines {
		text += strings.TrimRight(fmt.Sprintf("  %*s  %-*s  %s", first, l[0], second, l[1], l[2]), " ") + "\n"
	}
	text += p.handings()
	if text == "" {
		return ""
	}
	return "pipelines:\n" + text
}

// handings say where the keys that joins hand down go.
func (p *profiler) handings() (text string) {
	from := map[*handed]*joinNode{}
	for _, n := range p.nodes {
		if j, ok := n.(*joinNode); ok {
			for _, h := range j.hands {
				from[h] = j
			}
		}
	}
	for _, h := range slices.SortedFunc(maps.Keys(from), func(a, b *handed) int { return a.number - b.number }) {
		j, to := from[h], []string(nil)
		for _, n := range p.nodes {
			var tests []keyTest
			switch n := n.(type) {
			case *filterNode:
				tests = n.keys
			case *scanNode:
				tests = n.keys
			}
			for _, t := range tests {
				if t.of == h {
					to = append(to, fmt.Sprintf("%s of %s", expr.Col(t.column), partOf(opOf(n), n.text())))
				}
			}
		}
		if len(to) > 0 {
			text += fmt.Sprintf("  keys %d: %s of %s -> %s\n", h.number, expr.Col(j.keys[h.key].right), partOf(opOf(j), j.text()), strings.Join(to, ", "))
		}
	}
	return text
}

// part is a step in few words; of the output of a pipeline that one.
func (p *profiler) part(step int) string {
	s := p.out.Steps[step]
	if s.Kind == profile.KindOutput && s.Pipeline != nil {
		return fmt.Sprintf("pipeline %d", *s.Pipeline)
	}
	if s.Kind == "scan" && slices.ContainsFunc(s.Nodes, func(id int) bool { return p.made[id].Op == "filter" }) {
		return partOf(s.Kind, s.Text) + " and filter" // the reader does
	}
	return partOf(s.Kind, s.Text)
}

// taker is what reads the output of a pipeline: a step, another pipeline, or nothing but the plan's end.
func (p *profiler) taker(pipe *profile.Pipeline) string {
	for _, other := range p.out.Pipelines {
		if other.Source == pipe.Output {
			return fmt.Sprintf("pipeline %d", other.ID)
		}
	}
	for _, s := range p.out.Steps {
		if at := slices.Index(s.Inputs, pipe.Output); at >= 0 {
			if s.Pipeline != nil && at > 0 {
				return "right side of " + partOf(s.Kind, s.Text)
			}
			return partOf(s.Kind, s.Text)
		}
	}
	for _, plan := range p.out.Plans {
		if plan.Step == pipe.Output {
			return plan.Name
		}
	}
	return ""
}

// partOf is the text of a step without what the plan above says of it.
func partOf(kind, text string) string {
	switch kind {
	case "filter", "project":
		text, _, _ = strings.Cut(text, " ")
		return text
	}
	for _, end := range []string{", columns [", " columns [", ", keys ", ", bounds of ", ", of each morsel", ": ", " where "} {
		text, _, _ = strings.Cut(text, end)
	}
	return text
}

// Schema is the names and types of the columns that the query gives. Files are opened for it,
// and no rows are read: of a plan that would fail before its first row it is that error.
func (q *Query) Schema(ctx context.Context) (_ *arrow.Schema, err error) {
	defer exec.Guard(q.place(), &err)
	n, _, err := q.resolved(ctx, func(_ *optimiser, s *scalarNode) (kernels.Scalar, error) { return unknownScalar(s) })
	if err != nil {
		return nil, err
	}
	return n.schema(), nil
}

// explainer writes plans, and remembers the shared parts that they read.
type explainer struct {
	text   strings.Builder
	shared []*shared
	guess  *estimates
}

// rowsKnown reports whether every table and source below says how many rows it has.
func rowsKnown(n node) bool {
	switch n := n.(type) {
	case *scanNode:
		return n.rowsStated() >= 0
	case *sharedNode:
		return rowsKnown(n.of.in)
	}
	return !slices.ContainsFunc(n.inputs(), func(in node) bool { return !rowsKnown(in) })
}

// about is how many rows are guessed of what gives another number than what is below it.
func (e *explainer) about(n node) string {
	switch n := n.(type) {
	case *filterNode, *joinNode, *distinctNode, *sharedNode:
	case *groupNode:
		if len(n.keys) == 0 {
			return ""
		}
	default:
		return ""
	}
	if !rowsKnown(n) {
		return ""
	}
	return fmt.Sprintf(" (about %.0f rows)", e.guess.rows(n))
}

func (e *explainer) node(n node, depth int) {
	if s, ok := n.(*sharedNode); ok {
		e.number(s.of)
	}
	e.text.WriteString(strings.Repeat("  ", depth) + n.text() + e.about(n) + "\n")
	for _, in := range n.inputs() {
		e.node(in, depth+1)
	}
}

func (e *explainer) number(s *shared) {
	if !slices.Contains(e.shared, s) {
		e.shared = append(e.shared, s)
	}
}
