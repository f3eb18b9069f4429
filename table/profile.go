package table

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/profile"
	"github.com/volley-go/volley/kernels"
)

// Profile is what a run measured: see package flow/profile.
type Profile = profile.Profile

// Profile runs the query as Collect does and measures it: rows, batches and bytes of each
// step, and the time in it and waiting, of each worker. The rows are the same as without. On a device each
// step is waited for, so that times are those of its kernels; the run as a whole takes longer for
// that. Where the query fails the profile, unless nil, is of what was run until then.
func (q *Query) Profile(ctx context.Context) (*Table, *Profile, error) {
	p := newProfiler()
	t, err := q.collect(ctx, p)
	return t, p.finish(), err
}

// ExplainJSON is the plan as it would run, as JSON: the operators with their columns, conditions
// and guesses of rows, which conditions sources are given, the steps that run them, and the
// pipelines of steps that each worker carries morsels through. Joins of large sides may
// be cut into two pipelines as they run.
func (q *Query) ExplainJSON(ctx context.Context) (_ string, err error) {
	defer exec.Guard(q.place(), &err)
	p := newProfiler()
	if _, err := q.outline(ctx, p, func(string, node) {}); err != nil {
		return "", err
	}
	return p.outlined().JSON()
}

// outline gives the optimised plan and notes what it and the plans that go with it would be run by. scalar is
// told the plan of each scalar.
func (q *Query) outline(ctx context.Context, p *profiler, scalar func(name string, n node)) (node, error) {
	r := &runner{backend: q.backend, morsel: exec.MorselRows, prof: p}
	n, o, err := q.resolved(ctx, func(o *optimiser, s *scalarNode) (kernels.Scalar, error) {
		plan := o.optimise(s.plan())
		scalar(s.name, plan)
		if err := r.outline("scalar "+s.name, plan); err != nil {
			return kernels.Scalar{}, err
		}
		return unknownScalar(s)
	})
	if err == nil {
		err = r.outline(resultPlan, n)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range o.shares {
		if err := r.outline(fmt.Sprintf("shared %d", s.number), s.final); err != nil {
			return nil, err
		}
	}
	if q.backend != nil {
		p.out.Device = q.backend.Device.Name()
	}
	return n, nil
}

// outline notes what a plan would be run by.
func (r *runner) outline(name string, n node) error {
	rows, err := r.plan(name, n)
	if err != nil {
		return err
	}
	rows.Close()
	return nil
}

// profiler notes what the plans of one query are run by. It is nil of queries that are neither
// profiled nor explained.
type profiler struct {
	*profile.Recorder
	main *profile.Track // of the caller's goroutine

	lock   sync.Mutex // of what follows: parts of a plan may be compiled while others run
	out    *Profile
	plans  map[node]*profile.Node
	nodes  []node          // by ID
	made   []*profile.Node // of these
	frames []*frame
}

// frame is a node that is being compiled.
type frame struct {
	nodes  []int // and those that are run with it
	inputs []int // steps
}

// The first steps of every profile.
const (
	stepResult = iota
	stepPlan
)

func newProfiler() *profiler {
	p := &profiler{Recorder: profile.NewRecorder(), out: &Profile{}, plans: map[node]*profile.Node{}}
	p.step(profile.KindResult, "result", nil, nil)
	p.step(profile.KindPlan, "plan", nil, nil)
	p.main = p.Track("caller", stepPlan)
	return p
}

// begin is the context of a run; on nil that which is given.
func (p *profiler) begin(ctx context.Context, r *runner) context.Context {
	if p == nil {
		return ctx
	}
	p.out.Device = r.backend.Device.Name()
	return profile.With(ctx, p.main)
}

// collecting says that the caller waits for rows and keeps them, from here on.
func (p *profiler) collecting() {
	if p != nil {
		p.main.Enter(stepResult)
	}
}

// gave counts a batch of the result.
func (p *profiler) gave(b *Batch) {
	if p != nil {
		p.main.In(stepResult, b.Len(), b.Size())
	}
}

// finish is the profile. All that was compiled must be closed.
func (p *profiler) finish() *Profile {
	p.Finish(p.out)
	return p.outlined()
}

// outlined is the plans and what they are run by, with guesses of rows.
func (p *profiler) outlined() *Profile {
	guess := newEstimates()
	for id, n := range p.nodes {
		rows := guess.rows(n)
		p.made[id].Rows = &rows
	}
	for _, s := range p.out.Steps {
		for _, id := range s.Nodes {
			p.made[id].Steps = append(p.made[id].Steps, s.ID)
		}
	}
	return p.out
}

// step makes a step.
func (p *profiler) step(kind, text string, nodes, inputs []int) int {
	id := len(p.out.Steps)
	p.out.Steps = append(p.out.Steps, &profile.Step{ID: id, Kind: kind, Text: text, Nodes: nodes, Inputs: inputs})
	return id
}

// plan compiles a whole plan, measured under a name.
func (r *runner) plan(name string, n node) (exec.Source, error) {
	p := r.prof
	if p == nil {
		return n.compile(r)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	held := p.frames
	root := &frame{}
	p.frames = []*frame{root}
	defer func() { p.frames = held }()
	plan := &profile.Plan{Name: name, Root: p.describe(n)}
	p.out.Plans = append(p.out.Plans, plan)
	op, err := r.compile(n)
	if err == nil {
		plan.Step = root.inputs[0]
	}
	if name == resultPlan {
		p.out.Steps[stepResult].Inputs = root.inputs
	}
	return op, err
}

// resultPlan is the name of the plan of a query itself.
const resultPlan = "result"

// compile makes the source of a node's rows, which is measured if the query is.
func (r *runner) compile(n node) (exec.Source, error) {
	p := r.prof
	if p == nil {
		return n.compile(r)
	}
	f := p.push(n)
	rows, err := n.compile(r)
	p.pop()
	if err != nil {
		return nil, err
	}
	switch rows.(type) {
	case *pipe, *measuredSource: // have their steps
		p.read(f.inputs...)
		return rows, nil
	}
	id := p.step(opOf(n), n.text(), f.nodes, f.inputs)
	p.read(id)
	return &measuredSource{Source: rows, r: r, step: id}, nil
}

// push begins to compile nodes of a plan as one. Of a node that is in no plan, but was made of one that is,
// the frame below tells that.
func (p *profiler) push(nodes ...node) *frame {
	f := &frame{}
	for _, n := range nodes {
		if known := p.plans[n]; known != nil && !slices.Contains(f.nodes, known.ID) {
			f.nodes = append(f.nodes, known.ID)
		}
	}
	if len(f.nodes) == 0 && len(p.frames) > 0 {
		f.nodes = p.frames[len(p.frames)-1].nodes
	}
	p.frames = append(p.frames, f)
	return f
}

// same says that a node stands for one of a plan.
func (p *profiler) same(stands, n node) {
	if p != nil && p.plans[n] != nil {
		p.plans[stands] = p.plans[n]
	}
}

func (p *profiler) pop() { p.frames = p.frames[:len(p.frames)-1] }

// read says that what is being compiled reads steps.
func (p *profiler) read(steps ...int) {
	top := p.frames[len(p.frames)-1]
	top.inputs = append(top.inputs, steps...)
}

// with says that the node that is being compiled does what another one says, too.
func (r *runner) with(n node) {
	if p := r.prof; p != nil && p.plans[n] != nil {
		top := p.frames[len(p.frames)-1]
		top.nodes = append(top.nodes[:len(top.nodes):len(top.nodes)], p.plans[n].ID)
	}
}

// measuredSource measures a source.
type measuredSource struct {
	exec.Source
	r    *runner
	step int
}

func (o *measuredSource) Next(ctx context.Context) (*Batch, error) {
	t := profile.Of(ctx)
	defer t.Back(t.Enter(o.step))
	b, err := o.Source.Next(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.r.settled(ctx); err != nil {
		b.Release()
		return nil, err
	}
	t.Out(o.step, b.Len(), b.Size())
	return b, nil
}

// settled waits for what was queued on a device.
func (r *runner) settled(ctx context.Context) error {
	if r.onHost() {
		return nil
	}
	return r.stream.Wait(ctx)
}

// measured is a source that is a step of a pipeline's profile, its first.
func (r *runner) measured(rows exec.Source, m *measuredPipe) exec.Source {
	if m == nil {
		return rows
	}
	return &measuredSource{Source: rows, r: r, step: m.steps[0]}
}

// measuredPipe is what a profile knows of a pipe: the steps that its parts are.
type measuredPipe struct {
	source   int
	steps    []int
	output   int
	pipeline *profile.Pipeline
}

// record is how a pipeline is measured. One without steps is not: it only carries what its source,
// which is, gives.
func (r *runner) record(m *measuredPipe) *exec.Record {
	if m == nil || m.pipeline == nil {
		return nil
	}
	out := &exec.Record{Recorder: r.prof.Recorder, Name: fmt.Sprintf("pipeline %d", m.pipeline.ID), Source: m.source, Steps: m.steps, Output: m.output}
	if !r.onHost() {
		out.Settle = r.stream.Wait
	}
	return out
}

// pipe begins to note a pipeline.
func (p *profiler) pipe() *measuredPipe {
	if p == nil {
		return nil
	}
	return &measuredPipe{}
}

// source compiles the source of a pipeline.
func (p *profiler) source(m *measuredPipe, compile func() (exec.Source, error)) (exec.Source, error) {
	if p == nil {
		return compile()
	}
	f := p.push(nil)
	op, err := compile()
	p.pop()
	if err == nil {
		m.source = f.inputs[0]
		m.output = m.source
	}
	return op, err
}

// pipeStep makes the operator of a step, which reads the step before it.
func (p *profiler) pipeStep(m *measuredPipe, n pipeNode, compile func() (exec.Operator, error)) (exec.Operator, error) {
	if p == nil {
		return compile()
	}
	f := p.push(n.planned...)
	op, err := compile()
	p.pop()
	if err == nil {
		m.add(p.step(opOf(n.stepNode), n.text(), f.nodes, append([]int{m.output}, f.inputs...)))
	}
	return op, err
}

// lastStep notes a step that is no node's own.
func (p *profiler) lastStep(m *measuredPipe, what string) {
	if p != nil && what != "" {
		m.add(p.step("partial", what, p.frames[len(p.frames)-1].nodes, []int{m.output}))
	}
}

func (m *measuredPipe) add(step int) { m.steps, m.output = append(m.steps, step), step }

// pipeDone ends the notes of a pipeline: what is being compiled reads its output, or its source
// where there are no steps.
func (p *profiler) pipeDone(m *measuredPipe, o exec.Options) {
	if p == nil {
		return
	}
	if len(m.steps) > 0 {
		p.piped(m, o)
	}
	p.read(m.output)
}

// piped notes a pipeline of the steps that it has.
func (p *profiler) piped(m *measuredPipe, o exec.Options) {
	m.output = p.step(profile.KindOutput, "in order", nil, []int{m.output})
	m.pipeline = &profile.Pipeline{ID: len(p.out.Pipelines) + 1}
	p.out.Pipelines = append(p.out.Pipelines, m.pipeline)
	p.laid(m, o)
}

// laid writes a pipeline down as it is now.
func (p *profiler) laid(m *measuredPipe, o exec.Options) {
	*m.pipeline = profile.Pipeline{ID: m.pipeline.ID, Source: m.source, Steps: m.steps, Output: m.output, Workers: o.Workers}
	if o.Rows != exec.Uncut {
		m.pipeline.MorselRows = o.Rows
	}
	for _, s := range append(m.steps[:len(m.steps):len(m.steps)], m.output) {
		p.out.Steps[s].Pipeline = &m.pipeline.ID
	}
}

// cut makes a pipeline of its own of the steps before one, and gives it.
func (p *profiler) cut(m *measuredPipe, at int, o exec.Options) *measuredPipe {
	if p == nil {
		return nil
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	below := &measuredPipe{source: m.source, steps: m.steps[:at:at], output: m.steps[at-1]}
	p.piped(below, o)
	m.source, m.steps = below.output, m.steps[at:]
	p.out.Steps[m.steps[0]].Inputs[0] = below.output
	p.laid(m, o)
	return below
}

// whole says that the first step is a join of whole columns, and the source of the others.
func (p *profiler) whole(m *measuredPipe, o exec.Options) {
	if p == nil {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.out.Steps[m.steps[0]].Pipeline = nil
	m.source, m.steps = m.steps[0], m.steps[1:]
	p.laid(m, o)
}

// describe numbers the nodes of a plan.
func (p *profiler) describe(n node) *profile.Node {
	out := &profile.Node{ID: len(p.nodes), Op: opOf(n), Text: n.text(), Columns: fieldNames(n.schema())}
	p.nodes, p.made, p.plans[n] = append(p.nodes, n), append(p.made, out), out
	switch n := n.(type) {
	case *filterNode:
		out.Conditions = append(conditionsOf(n.predicate), testsOf(n.keys)...)
	case *scanNode:
		out.SourceConditions = append(conditionsOf(n.predicate), testsOf(n.keys)...)
	case *joinNode:
		out.Conditions = conditionsOf(n.where)
	}
	for _, in := range n.inputs() {
		out.Inputs = append(out.Inputs, p.describe(in))
	}
	return out
}

func conditionsOf(e *expr.Expr) (list []string) {
	if e == nil {
		return nil
	}
	for _, c := range expr.Conjuncts(e) {
		list = append(list, c.String())
	}
	return list
}

// opOf is the name of a node's operator.
func opOf(n node) string {
	switch n.(type) {
	case *joinNode:
		return "join"
	case *groupNode:
		return "group"
	case *projectNode:
		return "project"
	}
	word, _, _ := strings.Cut(n.text(), " ")
	return word
}
