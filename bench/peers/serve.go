package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
	"github.com/volley-go/volley/kernels"
)

// Serve makes this process a worker of ours for [Needs], "volley" or
// "volley-ordered": it takes the commands of the peers' worker that measure memory,
// as lines of JSON, and answers each with one, until in ends.
func Serve(ctx context.Context, b *kernels.Backend, name string, in io.Reader, out io.Writer) error {
	if name != oursName && name != orderedName {
		return fmt.Errorf("peers: no engine %q of ours", name)
	}
	return worker.Serve(in, out, func(c command) (any, error) {
		if c.Do != "measure" {
			return nil, fmt.Errorf("unknown command %q", c.Do)
		}
		return measure(ctx, &ours{backend: b, ordered: name == orderedName}, c)
	})
}

// measure runs an operation once.
func measure(ctx context.Context, o *ours, c command) (a *needAnswer, err error) {
	i := slices.IndexFunc(problems, func(p problem) bool { return p.name == c.Op })
	if i < 0 {
		return nil, fmt.Errorf("no operation %q", c.Op)
	}
	a = &needAnswer{}
	if a.Start, err = worker.Resident(o.backend); err != nil {
		return nil, err
	}
	ways, lacks, err := o.load(ctx, &problems[i], &stage{ipc: c.Inputs, file: c.File})
	if lacks != "" || err != nil {
		return &needAnswer{Lacks: lacks}, err
	}
	if c.Nth < 0 || c.Nth >= len(ways) {
		return nil, fmt.Errorf("no way %d of %d", c.Nth, len(ways))
	}
	a.Of, a.Way = len(ways), ways[c.Nth].Name
	if a.Input, err = worker.Resident(o.backend); err != nil {
		return nil, err
	}
	got, err := o.ways[c.Nth].run(ctx)
	if err != nil {
		return nil, err
	}
	if a.Peak, err = report.PeakRSS(); err != nil {
		return nil, err
	}
	batches, err := got.batches()
	got.Release()
	for _, b := range batches {
		a.Rows += b.NumRows()
		b.Release()
	}
	return a, errors.Join(err, o.unload(ctx))
}
