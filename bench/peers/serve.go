package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
)

// Serve makes this process a worker of ours for [Needs], "volley" or
// "volley-ordered": it takes the commands of the peers' worker that measure memory,
// as lines of JSON, and answers each with one, until in ends.
func Serve(ctx context.Context, b *kernels.Backend, name string, in io.Reader, out io.Writer) error {
	if name != oursName && name != orderedName {
		return fmt.Errorf("peers: no engine %q of ours", name)
	}
	say := func(v any) error {
		line, err := json.Marshal(v)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", line)
		}
		return err
	}
	if err := say(map[string]string{"version": report.Version()}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		err := json.Unmarshal(lines.Bytes(), &c)
		var a *needAnswer
		switch {
		case err != nil:
		case c.Do != "measure":
			err = fmt.Errorf("unknown command %q", c.Do)
		default:
			a, err = measure(ctx, &ours{backend: b, ordered: name == orderedName}, c)
		}
		if err != nil {
			err = say(map[string]string{"error": err.Error()})
		} else {
			err = say(a)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// resident is the memory that is resident once garbage is collected and what is
// kept for reuse given back; the peak begins there.
func (o *ours) resident() (int64, error) {
	if pool, ok := o.backend.Device.Memory().(interface{ Trim() int64 }); ok {
		pool.Trim()
	}
	runtime.GC()
	debug.FreeOSMemory()
	if err := report.ResetPeakRSS(); err != nil {
		return 0, err
	}
	return report.PeakRSS()
}

// measure runs an operation once.
func measure(ctx context.Context, o *ours, c command) (a *needAnswer, err error) {
	i := slices.IndexFunc(problems, func(p problem) bool { return p.name == c.Op })
	if i < 0 {
		return nil, fmt.Errorf("no operation %q", c.Op)
	}
	a = &needAnswer{}
	if a.Start, err = o.resident(); err != nil {
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
	if a.Input, err = o.resident(); err != nil {
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
