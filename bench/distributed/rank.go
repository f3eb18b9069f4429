package distributed

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/distributed"
	"github.com/volley-go/volley/gang"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
)

// The functions that the start calls on ranks.
const (
	callLoad, callAnswer, callTime = "bench distributed: load", "bench distributed: answer", "bench distributed: time"
	callMemory, callAllToAll       = "bench distributed: memory", "bench distributed: all-to-all"
)

// rank is a process of a gang, with its share of both sides.
type rank struct {
	backend *kernels.Backend
	comm    *collective.Comm
	local   bool // the local operators run, on all rows
	sides   [2]*distributed.Table
}

// Rank makes this process one of the suite's, with the place that its environment names. It ends with the gang.
func Rank(ctx context.Context) (err error) {
	b, err := cpu.New(host.New())
	if err != nil {
		return err
	}
	r := &rank{backend: b}
	defer func() { err = errors.Join(err, b.Close()) }()
	w, err := gang.Enter(ctx, gang.EnterOptions{Backend: b})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	defer r.release()
	for name, f := range map[string]gang.Function{
		callLoad: r.load, callAnswer: r.answer, callTime: r.time, callMemory: r.memory, callAllToAll: r.allToAll,
	} {
		if err := gang.Register(name, f); err != nil {
			return err
		}
	}
	return w.Serve(ctx)
}

func (r *rank) release() {
	for i, d := range r.sides {
		d.Release()
		r.sides[i] = nil
	}
}

// load makes this rank's rows of two tables of args[0] rows; args[1] says that local operators run. It gives the bytes of both sides.
func (r *rank) load(ctx context.Context, w *gang.Worker, args ...any) (_ any, err error) {
	rows, ok := args[0].(int64)
	local, ok2 := args[1].(bool)
	if !ok || !ok2 {
		return nil, fmt.Errorf("distributed: %v are no rows and a bool", args)
	}
	r.release()
	if r.comm, err = w.Comm(ctx); err != nil {
		return nil, err
	}
	r.local = local
	for i := range r.sides {
		part, err := side(r.backend, i, rows, share(rows, w.Rank(), w.Size()), share(rows, w.Rank()+1, w.Size()))
		if err != nil {
			return nil, err
		}
		r.sides[i], err = distributed.New(ctx, r.comm, part)
		part.Release()
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// run runs an operation once, and gives this rank's part of the result.
func (r *rank) run(ctx context.Context, op *operation) (*table.Table, error) {
	if r.local {
		return op.local(r.sides[0].Local(), r.sides[1].Local()).Collect(ctx)
	}
	d, err := op.ranks(ctx, r.sides[0], r.sides[1])
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return d.Local().Retain(), nil
}

func (r *rank) operation(args []any) (*operation, error) {
	if len(args) > 0 {
		if name, ok := args[0].(string); ok {
			if op := operationNamed(name); op != nil && (op.local != nil || !r.local) {
				return op, nil
			}
		}
	}
	return nil, fmt.Errorf("distributed: %v name no operation of these ranks", args)
}

// answer is this rank's part of the result of args[0].
func (r *rank) answer(ctx context.Context, _ *gang.Worker, args ...any) (any, error) {
	op, err := r.operation(args)
	if err != nil {
		return nil, err
	}
	return r.run(ctx, op)
}

// time runs args[0] until args[1] milliseconds are over on rank 0, or args[2] times. It gives this rank's seconds of each run, which all ranks begin together, and
// then the seconds of processor time of all.
func (r *rank) time(ctx context.Context, _ *gang.Worker, args ...any) (any, error) {
	op, err := r.operation(args)
	if err != nil {
		return nil, err
	}
	atLeast, most := time.Duration(args[1].(int64))*time.Millisecond, args[2].(int64)
	runtime.GC()
	var all []any
	var cpu time.Duration
	for began := time.Now(); ; {
		if err := r.comm.Barrier(ctx); err != nil {
			return nil, err
		}
		before, known := report.CPUTime()
		start := time.Now()
		t, err := r.run(ctx, op)
		seconds := time.Since(start).Seconds()
		if err != nil {
			return nil, err
		}
		t.Release()
		if after, err := report.CPUTime(); known == nil && err == nil {
			cpu += after - before
		}
		all = append(all, seconds)
		more := []int64{0}
		if int64(len(all)) < most && time.Since(began) < atLeast {
			more[0] = 1
		}
		if err := r.comm.Broadcast(ctx, collective.Of(more), collective.Of(more), 0); err != nil {
			return nil, err
		}
		if more[0] == 0 {
			return append(all, cpu.Seconds()), nil
		}
	}
}

// memory runs args[0] once. It gives the bytes of the sides that it reads and of the result, the peak of resident memory above what the process had, and
// the bytes that this rank sent.
func (r *rank) memory(ctx context.Context, _ *gang.Worker, args ...any) (any, error) {
	op, err := r.operation(args)
	if err != nil {
		return nil, err
	}
	input := bytesOf(r.sides[0].Local())
	if op.both {
		input += bytesOf(r.sides[1].Local())
	}
	runtime.GC()
	if pool, ok := r.backend.Device.Memory().(interface{ Trim() int64 }); ok {
		pool.Trim() // what it keeps of earlier operations would hide what this one takes
	}
	if err := r.comm.Barrier(ctx); err != nil {
		return nil, err
	}
	before, known := int64(0), report.ResetPeakRSS()
	if known == nil {
		before, known = report.PeakRSS()
	}
	sent := r.comm.Stats().Sent.Bytes
	t, err := r.run(ctx, op)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	peak := int64(-1)
	if known == nil {
		if peak, err = report.PeakRSS(); err != nil {
			return nil, err
		}
		peak -= before
	}
	return []any{input, bytesOf(t), peak, int64(r.comm.Stats().Sent.Bytes - sent)}, nil
}

// bytesOf is the bytes of a table of integers without nulls.
func bytesOf(t *table.Table) int64 { return 8 * t.NumRows() * int64(t.NumColumns()) }

// allToAll moves as many bytes as a shuffle of the left side does by the transport alone. It gives the seconds of each of args[0] times.
func (r *rank) allToAll(ctx context.Context, _ *gang.Worker, args ...any) (any, error) {
	times, ok := args[0].(int64)
	if !ok {
		return nil, fmt.Errorf("distributed: %v are no times", args)
	}
	n := int64(r.comm.Size())
	words := r.sides[0].NumRows() * int64(r.sides[0].NumColumns()) / n / n
	in, out := make([]int64, words*n), make([]int64, words*n)
	for i := range in {
		in[i] = int64(i)
	}
	var all []any
	for range times + 1 {
		if err := r.comm.Barrier(ctx); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := r.comm.AllToAll(ctx, collective.Of(in), collective.Of(out)); err != nil {
			return nil, err
		}
		all = append(all, time.Since(start).Seconds())
	}
	return all[1:], nil // the first one maps memory
}
