package main

// #include "base.h"
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
)

// loaderObject is a loader, and the files or the stream that it reads or the table that it took, if any. Freeing its handle closes it, whoever waits in it.
type loaderObject struct {
	unmanaged
	l      *dataloader.Loader
	device device.Device // that batches are copied to, or nil
	files  *dataloader.Files
	taken  *dataloader.Taken
	given  *batchStream
	calls  *mapCalls // that may run when it is closed, or nil
	ahead  bool      // batches are made by the loader's own threads
	once   sync.Once

	mu       sync.Mutex
	warnings []string
}

// warn notes what volley_loader_warning tells.
func (o *loaderObject) warn(text string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.warnings = append(o.warnings, fmt.Sprintf("%s: %v", text, err))
}

// close closes the loader, and then its files, once.
func (o *loaderObject) close() (err error) {
	o.once.Do(func() {
		if o.l != nil {
			err = o.l.Close()
		}
		err = errors.Join(err, o.calls.after(func() (err error) {
			if o.files != nil {
				err = o.files.Close()
			}
			if o.given != nil {
				o.given.close()
			}
			return err
		}))
	})
	return err
}

func (*loaderObject) kind() string { return "loader" }

var layouts = map[string]dataloader.Layout{
	"": dataloader.RowMajor, "row_major": dataloader.RowMajor, "column_major": dataloader.ColumnMajor, "columns": dataloader.Columns,
}

var remainders = map[string]dataloader.Remainder{
	"": dataloader.Pad, "pad": dataloader.Pad, "drop": dataloader.Drop, "uneven": dataloader.Uneven,
}

// loaderOptions reads the options, and the state to go on from if there is one.
func loaderOptions(p *C.volley_loader_options) (*loaderPlan, error) {
	if p == nil {
		return nil, mismatch("options is NULL: batch must be set")
	}
	c, err := options("options", p)
	if err != nil {
		return nil, err
	}
	plan := &loaderPlan{}
	o := &plan.options
	if c.features != nil {
		if o.Features, err = texts("features", c.features, c.features_count); err != nil {
			return nil, err
		}
	}
	if o.Labels, err = texts("labels", c.labels, c.labels_count); err != nil {
		return nil, err
	}
	var layout, remainder, typ, labelType, at, entity string
	for _, t := range []struct {
		name string
		from *C.char
		to   *string
	}{
		{"layout", c.layout, &layout}, {"remainder", c.remainder, &remainder}, {"type", c._type, &typ},
		{"label_type", c.label_type, &labelType}, {"state", c.state, &at}, {"entity", c.entity, &entity},
	} {
		if *t.to, err = optional(t.name, t.from); err != nil {
			return nil, err
		}
	}
	var known bool
	if o.Layout, known = layouts[layout]; !known {
		return nil, mismatch("there is no layout %q; there are row_major, column_major, columns", layout)
	}
	if o.Remainder, known = remainders[remainder]; !known {
		return nil, mismatch("there is no remainder %q; there are pad, drop, uneven", remainder)
	}
	if o.Type, err = tensorType(typ); err != nil {
		return nil, err
	}
	if o.LabelType, err = tensorType(labelType); err != nil {
		return nil, err
	}
	if at != "" {
		plan.state = new(dataloader.State)
		if err := json.Unmarshal([]byte(at), plan.state); err != nil {
			return nil, mismatch("state %q is none: %v", at, err)
		}
	}
	for name, n := range map[string]C.int64_t{"rank": c.rank, "ranks": c.ranks, "workers": c.workers, "prefetch": c.prefetch} {
		if n < -1<<20 || n > 1<<20 {
			return nil, mismatch("%s is %d", name, int64(n))
		}
	}
	if c.history != 0 || c.horizon != 0 || c.stride != 0 || entity != "" {
		o.Window = &dataloader.Window{History: int64(c.history), Horizon: int64(c.horizon), Stride: int64(c.stride), Entity: entity}
	}
	o.Masks, o.Shuffle, o.SkipBad = c.masks != 0, c.shuffle != 0, c.skip_bad != 0
	o.Batch, o.Epochs, o.Spare, o.Seed = int64(c.batch), int64(c.epochs), int64(c.spare), uint64(c.seed)
	o.Rank, o.Size, o.Workers, o.Prefetch = int(c.rank), int(c.ranks), int(c.workers), int(c.prefetch)
	if o.Encode, err = encodings(c.encodings, c.encodings_count); err != nil {
		return nil, err
	}
	plan.take = c.take != 0
	if err := plan.readMore(c); err != nil {
		return nil, err
	}
	return plan, plan.readOrder(c)
}

//export go_volley_loader_open
func go_volley_loader_open(h C.uintptr_t, p *C.volley_loader_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_loader_open", t, func(k *keeper) (work, error) {
		from, err := kept[*tableObject](k, "table", h)
		if err != nil {
			return nil, err
		}
		plan, err := loaderOptions(p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			if !plan.take {
				made, err := plan.open(ctx, &loaderObject{}, dataloader.FromTable(from.t), from.t.Query())
				return loaderOutcome(out, made, err)
			}
			taken := dataloader.TakeTable(from.t.Retain())
			made, err := plan.open(ctx, &loaderObject{}, taken, from.t.Query())
			if err != nil {
				return outcome{}, errors.Join(err, taken.Close())
			}
			made.taken = taken
			return loaderOutcome(out, made, nil)
		}, nil
	})
}

//export go_volley_loader_reopen
func go_volley_loader_reopen(h C.uintptr_t, p *C.volley_loader_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_loader_reopen", t, func(k *keeper) (work, error) {
		from, err := kept[*loaderObject](k, "loader", h)
		if err != nil {
			return nil, err
		}
		plan, err := loaderOptions(p)
		switch {
		case err != nil:
			return nil, err
		case from.taken == nil:
			return nil, mismatch("the loader took no table: open another one over its table")
		case plan.weights+plan.stratify+plan.groups != "":
			return nil, mismatch("weights, stratify, group are columns of the table, which was taken: open the loader without take")
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := plan.open(ctx, &loaderObject{}, from.taken, nil)
			if err == nil {
				made.taken = from.taken
			}
			return loaderOutcome(out, made, err)
		}, nil
	})
}

// shortWait is how long a batch is waited for on the thread that asks for it, which costs less than another one does, and is short beside a patience.
const shortWait = 2 * time.Millisecond

//export go_volley_loader_next
func go_volley_loader_next(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return nextBy("volley_loader_next", h, t, func(b *batchObject) (outcome, error) { return give(out, b), nil })
}

// nextBy hands out what give makes of the next batch, whose reference it takes over; nothing at the end of an epoch.
func nextBy(name string, h, t C.uintptr_t, give func(*batchObject) (outcome, error)) C.int32_t {
	// A batch that is there, or will be shortly, is handed out on this thread, whatever the token's patience.
	o, err := find[*loaderObject]("loader", h)
	if err == nil {
		ready, late := o.l.Ready(), false
		if ready || o.ahead {
			status := call(name, func() error {
				ctx, err := contextOf(t)
				if err != nil {
					return err
				}
				short := ctx
				if !ready {
					var end context.CancelFunc
					short, end = context.WithTimeout(ctx, shortWait)
					defer end()
				}
				made, err := nextBatch(short, o)
				if late = errors.Is(err, device.ErrCanceled) && short.Err() != nil && ctx.Err() == nil; late {
					return nil
				}
				if err != nil || made == nil {
					return err
				}
				given, err := give(made)
				if err == nil {
					given.commit()
				}
				return err
			})
			if !late {
				return status
			}
		}
	}
	return long(name, t, func(k *keeper) (work, error) {
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := nextBatch(ctx, o)
			if err != nil || made == nil {
				return outcome{}, err
			}
			return give(made)
		}, nil
	})
}

// contextOf is the context of a token, which may be NULL.
func contextOf(t C.uintptr_t) (context.Context, error) {
	if t == 0 {
		return context.Background(), nil
	}
	o, err := find[*token]("token", t)
	if err != nil {
		return nil, err
	}
	return o.ctx, nil
}

// nextBatch is nil at the end of an epoch.
func nextBatch(ctx context.Context, o *loaderObject) (*batchObject, error) {
	b, err := o.l.Next(ctx)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return newBatch(b, o.device), nil
}

//export go_volley_loader_state
func go_volley_loader_state(h, t C.uintptr_t, out **C.char) C.int32_t {
	return long("volley_loader_state", t, func(k *keeper) (work, error) {
		o, err := kept[*loaderObject](k, "loader", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			s, err := o.l.State(ctx)
			if err != nil {
				return outcome{}, err
			}
			text, err := json.Marshal(s)
			if err != nil {
				return outcome{}, err
			}
			made := C.CString(string(text)) // JSON has no NUL
			return outcome{commit: func() { *out = made }, discard: func() { C.free(unsafe.Pointer(made)) }}, nil
		}, nil
	})
}

//export go_volley_loader_stats
func go_volley_loader_stats(h C.uintptr_t, out *C.volley_loader_figures) C.int32_t {
	return call("volley_loader_stats", func() error {
		return with("loader", h, func(o *loaderObject) error {
			s := o.l.Stats()
			return fill("out", out, func(f *C.volley_loader_figures) {
				f.steps, f.batches, f.rows = C.int64_t(o.l.Steps()), C.int64_t(s.Batches), C.int64_t(s.Rows)
				f.elapsed, f.gather = C.int64_t(s.Elapsed), C.int64_t(s.Gather)
				f.producer_wait, f.consumer_wait = C.int64_t(s.ProducerWait), C.int64_t(s.ConsumerWait)
				f.ring, f.spare, f.fill, f.bound = C.int64_t(s.Ring), C.int64_t(s.Spare), C.double(s.Fill), interned(s.Bound)
				f.skipped = C.int64_t(s.Skipped)
				f.read, f.decode, f.decode_wait = C.int64_t(s.Read), C.int64_t(s.Decode), C.int64_t(s.DecodeWait)
				f.transform, f.copy = C.int64_t(s.Transform), C.int64_t(s.Copy)
			})
		})
	})
}

//export go_volley_loader_report
func go_volley_loader_report(h C.uintptr_t, out **C.char) C.int32_t {
	return call("volley_loader_report", func() error {
		return with("loader", h, func(o *loaderObject) error { return giveText(out, o.l.Stats().String()) })
	})
}

// fill writes a structure that begins with its size, as much of it as the caller's version has.
func fill[T any](name string, out *T, body func(*T)) error {
	own, err := options(name, out)
	if err != nil {
		return err
	}
	if out == nil {
		return mismatch("%s is NULL", name)
	}
	body(own)
	size := min(*(*uint64)(unsafe.Pointer(out)), uint64(unsafe.Sizeof(*own)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(out)), size), unsafe.Slice((*byte)(unsafe.Pointer(own)), size))
	return nil
}

//export go_volley_loader_warning
func go_volley_loader_warning(h C.uintptr_t, out **C.char) C.int32_t {
	return call("volley_loader_warning", func() error {
		return with("loader", h, func(o *loaderObject) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.warnings) == 0 {
				return nil
			}
			return giveText(out, strings.Join(o.warnings, "\n"))
		})
	})
}

//export go_volley_loader_free
func go_volley_loader_free(h C.uintptr_t) C.int32_t {
	if o, err := find[*loaderObject]("the handle", h); err == nil {
		defer func() { _ = o.close() }() // of a loader whose handle is gone
	}
	return free[*loaderObject]("volley_loader_free", h)
}
