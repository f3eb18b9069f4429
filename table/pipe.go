package table

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/profile"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
)

// stepNode is a node that may be a step of a pipeline: what it makes of a batch does
// not depend on the batches before.
type stepNode interface {
	node
	// input is the node whose batches the step takes; nil where this node is no step.
	input() node
	// step makes the step.
	step(r *runner) (exec.Operator, error)
}

// pipe runs steps over the batches of a source on all processors: each worker
// takes the next batch through all steps, and into a sink if there is one. The pipeline is made
// with the first batch: whether a join is a step is known once its right side is there.
type pipe struct {
	r     *runner
	in    exec.Source
	steps []exec.Operator
	cut   bool           // batches are cut to morsels
	few   bool           // there is nothing to do for workers
	run   *exec.Pipeline // owns in and steps, once it is there
	noted *measuredPipe  // what the profile of the query knows; nil without one
}

// pipe compiles a node and the steps below it.
func (r *runner) pipe(n node) (exec.Source, error) {
	o, err := r.steps(n, "")
	if err != nil {
		return nil, err
	}
	if len(o.steps) == 0 {
		return o.in, nil
	}
	return o, nil
}

// sunk compiles a node and the steps below it into a sink, which it takes over, and gives what that
// makes of all rows. what is how a profile shows what the sink does with each morsel, empty where
// it only keeps it.
func (r *runner) sunk(n node, s exec.Sink, what string) (exec.Source, error) {
	o, err := r.steps(n, what)
	if err != nil {
		s.Close()
		return nil, err
	}
	return exec.Sunk(o, s), nil
}

// steps compiles a node and the steps below it; what is a last one.
// Batches are cut to morsels where there are several steps: one alone has kernels
// that go over a whole batch on all processors, and copies nothing.
func (r *runner) steps(n node, what string) (o *pipe, err error) {
	o = &pipe{r: r, noted: r.prof.pipe()}
	defer func() {
		if err != nil {
			o.Close()
		}
	}()
	var nodes []pipeNode
	var planned []node // that the next step does
	for {
		s, ok := n.(stepNode)
		if !ok || s.input() == nil {
			break
		}
		if p, ok := n.(*projectNode); ok {
			if one := p.onto(p.in); one != nil {
				planned, n = append(planned, n, p.in), one
				continue
			}
		}
		nodes, n, planned = append(nodes, pipeNode{s, append(planned, s)}), s.input(), nil
	}
	if at := len(nodes) - 1; at >= 0 {
		f, _ := nodes[at].stepNode.(*filterNode)
		if s, ok := n.(*scanNode); ok && f != nil {
			switch does, left := s.filtered(f, r); {
			case left != nil:
				nodes[at].stepNode, n = left, does
			case does != nil:
				nodes, n = nodes[:at], does
			}
		}
	}
	if o.in, err = r.prof.source(o.noted, func() (exec.Source, error) { return r.compile(n) }); err != nil {
		return o, err
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		s, err := r.prof.pipeStep(o.noted, nodes[i], func() (exec.Operator, error) { return nodes[i].step(r) })
		if err != nil {
			return o, err
		}
		o.steps = append(o.steps, s)
	}
	r.prof.lastStep(o.noted, what)
	all := len(o.steps)
	if what != "" {
		all++
	}
	o.cut, o.few = all > 1, all == 0
	r.prof.pipeDone(o.noted, o.options())
	return o, nil
}

// pipeNode is a node that is a step, and the nodes of the plan that it does.
type pipeNode struct {
	stepNode
	planned []node
}

// onHost reports whether the backend works in host memory.
func (r *runner) onHost() bool { return r.backend.Device.Place() == memory.Host }

// Close gives back the source and the steps.
func (o *pipe) Close() {
	if o.run != nil {
		o.run.Close()
		return
	}
	for _, s := range o.steps {
		s.Close()
	}
	if o.in != nil {
		o.in.Close()
	}
}

// Next is the next batch that the last step gives.
func (o *pipe) Next(ctx context.Context) (*Batch, error) {
	if o.run == nil {
		if err := o.start(ctx); err != nil {
			return nil, err
		}
	}
	return o.run.Next(ctx)
}

// Into gives all that the last step gives to a sink.
func (o *pipe) Into(ctx context.Context, s exec.Sink) (exec.SinkState, error) {
	if err := o.start(ctx); err != nil {
		return nil, err
	}
	return o.run.Into(ctx, s)
}

// start makes the pipeline. A join of whole columns reads a pipeline of the steps below
// it, and is what the steps above it read.
func (o *pipe) start(ctx context.Context) error {
	for at := 0; at < len(o.steps); {
		j, ok := o.steps[at].(*probeStep)
		if !ok {
			at++
			continue
		}
		way, err := o.prepare(ctx, at, j)
		if err != nil {
			return wrapError("join", err)
		}
		if way == wholeNever {
			o.withMasks(at, j)
			at++
			continue
		}
		if at > 0 {
			below := o.r.prof.cut(o.noted, at, o.options())
			o.in = o.pipeline(o.in, o.steps[:at], below)
			o.steps, at = o.steps[at:], 0
		}
		if at, err = o.startWhole(ctx, j, way); err != nil {
			return wrapError("join", err)
		}
	}
	o.run = o.pipeline(o.in, o.steps, o.noted)
	return nil
}

// withMasks has a filter just below a join hand on rows with their mask.
func (o *pipe) withMasks(at int, j *probeStep) {
	if at == 0 || !o.cut || !j.takesMasks() {
		return
	}
	if f, ok := o.steps[at-1].(*filterStep); ok {
		f.selected = arrow.NewSchema(append(slices.Clone(f.n.out.Fields()), exec.MaskField), nil)
	}
}

// prepare reads the right side of a join: see probeStep.
func (o *pipe) prepare(ctx context.Context, at int, j *probeStep) (wholeWay, error) {
	if o.noted != nil {
		t := profile.Of(ctx)
		defer t.Back(t.Enter(o.noted.steps[at]))
	}
	return j.prepare(ctx)
}

// startWhole makes a join of whole columns, the first step, the source of the others, if it can be
// done. It gives which step is to be looked at next.
func (o *pipe) startWhole(ctx context.Context, j *probeStep, way wholeWay) (at int, err error) {
	if o.noted != nil {
		t := profile.Of(ctx)
		defer t.Back(t.Enter(o.noted.steps[0]))
	}
	held, rows, err := j.startWhole(ctx, o.in, way)
	if err != nil {
		return 0, err
	}
	if rows == nil {
		o.in = exec.Concat(exec.Batches(held...), o.in)
		return 1, j.buildTable(ctx)
	}
	o.in, o.steps = o.r.measured(&wholeSource{probeStep: j, left: o.in, rows: rows}, o.noted), o.steps[1:]
	o.r.prof.whole(o.noted, o.options())
	return 0, nil
}

// pipeline runs steps over the batches of a source.
func (o *pipe) pipeline(in exec.Source, steps []exec.Operator, noted *measuredPipe) *exec.Pipeline {
	options := o.options()
	options.Record = o.r.record(noted)
	return exec.New(sourceOf(in), steps, options)
}

// options say how pipelines run. On a device one goroutine gives its kernels whole batches. Of
// a plan that is only explained, and says no device, nothing is known.
func (o *pipe) options() exec.Options {
	if o.r.backend == nil {
		return exec.Options{}
	}
	options := exec.Options{Workers: 1, Rows: exec.Uncut, Device: o.r.backend.Device.Name()}
	if o.r.onHost() && !o.few {
		options.Workers = processors.Count()
		if o.cut {
			options.Rows = o.r.morsel
		}
	}
	return options
}

// stepFunc is a step that makes at most one batch of each. prepare makes once what all
// workers share, and release gives it back; either may be nil.
type stepFunc struct {
	prepare func(ctx context.Context) error
	execute func(ctx context.Context, b *Batch) (*Batch, error)
	release func()
}

func (s *stepFunc) Prepare(ctx context.Context) error {
	if s.prepare == nil {
		return nil
	}
	return s.prepare(ctx)
}

func (s *stepFunc) Begin(context.Context) (exec.State, error) { return stepState{s}, nil }

func (s *stepFunc) Close() {
	if s.release != nil {
		s.release()
	}
}

type stepState struct{ *stepFunc }

func (s stepState) Close() {} // the step is every worker's

func (s stepState) Execute(ctx context.Context, b *Batch, emit func(*Batch) error) error {
	out, err := s.execute(ctx, b)
	b.Release()
	if err != nil {
		return err
	}
	return emit(out)
}
