package main

// #include "base.h"
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/gang"
)

// blobOf is a value that is no table as bytes with their encoding: what Go programs give that is no bytes is JSON.
func blobOf(v any) (gang.Blob, error) {
	switch v := v.(type) {
	case gang.Blob:
		return v, nil
	case []byte:
		return gang.Blob{Codec: "bytes", Data: v}, nil
	case gang.Ref:
		return gang.Blob{Codec: "ref", Data: []byte(v.String())}, nil
	}
	text, err := json.Marshal(v)
	return gang.Blob{Codec: "json", Data: text}, err
}

// slotsObject is places that gangs compete for.
type slotsObject struct {
	unmanaged
	*gang.Slots
}

func (*slotsObject) kind() string { return "slots" }

//export go_volley_slots_new
func go_volley_slots_new(n C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_slots_new", func() error {
		if n < 1 || n > 1<<31 {
			return mismatch("count is %d: there is one place at least", int64(n))
		}
		*out = register(&slotsObject{Slots: gang.NewSlots(int(n))})
		return nil
	})
}

//export go_volley_slots_free
func go_volley_slots_free(h C.uintptr_t) C.int32_t { return free[*slotsObject]("volley_slots_free", h) }

//export go_volley_gang_start
func go_volley_gang_start(command **C.char, n C.int64_t, p *C.volley_gang_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_gang_start", t, func(k *keeper) (work, error) {
		words, err := texts("command", command, n)
		if err != nil {
			return nil, err
		}
		o, err := options("options", p)
		if err != nil {
			return nil, err
		}
		g := gang.Options{Workers: int(o.workers), Lease: milliseconds(o.lease), JoinTimeout: milliseconds(o.join_timeout), Grace: milliseconds(o.grace)}
		if o.generation < 0 || o.workers < 0 {
			return nil, mismatch("generation is %d and workers are %d", int64(o.generation), int64(o.workers))
		}
		g.Generation = uint64(o.generation)
		if g.Host, err = optional("host", o.host); err != nil {
			return nil, err
		}
		if g.Folder, err = optional("folder", o.folder); err != nil {
			return nil, err
		}
		if h := C.uintptr_t(uintptr(unsafe.Pointer(o.slots))); h != 0 {
			s, err := kept[*slotsObject](k, "slots", h)
			if err != nil {
				return nil, err
			}
			g.Slots = s.Slots
		}
		body := gang.Invited()
		if len(words) > 0 {
			body = gang.Processes(words[0], words[1:]...)
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := gang.Start(ctx, body, g)
			if err != nil {
				return outcome{}, own(ctx, err)
			}
			o := &gangObject{start: made}
			return outcome{commit: func() { *out = register(o) }, discard: o.leave}, nil
		}, nil
	})
}

// onStart runs a call that can take long on a gang's start.
func onStart(name string, h, t C.uintptr_t, do func(ctx context.Context, g *gang.Gang) error) C.int32_t {
	return longGang(name, h, t, func(o *gangObject) (work, error) {
		g, err := o.asStart()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) { return outcome{}, do(ctx, g) }, nil
	})
}

//export go_volley_gang_ready
func go_volley_gang_ready(h, t C.uintptr_t) C.int32_t {
	return onStart("volley_gang_ready", h, t, func(ctx context.Context, g *gang.Gang) error { return g.Ready(ctx) })
}

//export go_volley_gang_restart
func go_volley_gang_restart(h, t C.uintptr_t) C.int32_t {
	return onStart("volley_gang_restart", h, t, func(ctx context.Context, g *gang.Gang) error { return g.Restart(ctx) })
}

//export go_volley_gang_stop
func go_volley_gang_stop(h, t C.uintptr_t) C.int32_t {
	return onStart("volley_gang_stop", h, t, func(ctx context.Context, g *gang.Gang) error { return g.Stop(ctx) })
}

//export go_volley_gang_invitation
func go_volley_gang_invitation(h C.uintptr_t, rank C.int64_t, out **C.char) C.int32_t {
	return withGang("volley_gang_invitation", h, func(o *gangObject) error {
		g, err := o.asStart()
		if err != nil {
			return err
		}
		v, err := g.Invitation(int(rank))
		if err != nil {
			return err
		}
		return giveText(out, v)
	})
}

//export go_volley_gang_run
func go_volley_gang_run(h C.uintptr_t, name, codec *C.char, p unsafe.Pointer, n C.int64_t, t C.uintptr_t, out **C.char) C.int32_t {
	return longGang("volley_gang_run", h, t, func(o *gangObject) (work, error) {
		g, err := o.asStart()
		if err != nil {
			return nil, err
		}
		what, err := text("name", name)
		if err != nil {
			return nil, err
		}
		v, err := encoded(codec, p, n)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			refs, err := g.Run(ctx, what, v)
			var lines []string
			for _, r := range refs {
				lines = append(lines, r.String())
			}
			return outcome{commit: func() { *out = C.CString(strings.Join(lines, "\n")) }}, err
		}, nil
	})
}

//export go_volley_gang_next
func go_volley_gang_next(h, t C.uintptr_t, out *C.int64_t, name, codec, data **C.char, n *C.int64_t) C.int32_t {
	return longGang("volley_gang_next", h, t, func(o *gangObject) (work, error) {
		w, err := o.asWorker()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			for {
				c, err := w.Next(ctx)
				if err != nil {
					return outcome{}, err
				}
				b, err := argument(c)
				if err != nil {
					c.Done(gang.Ref{}, err)
					continue
				}
				return outcome{commit: func() {
					*out = o.remember(c)
					*name, *codec = C.CString(c.Name), C.CString(b.Codec)
					giveBlock(data, n, b.Data)
				}, discard: func() { c.Done(gang.Ref{}, errors.New("nobody took the call")) }}, nil
			}
		}, nil
	})
}

// argument is that of a call, which a program in another language has one of.
func argument(c *gang.Call) (gang.Blob, error) {
	args, err := c.Args()
	if err != nil {
		return gang.Blob{}, err
	}
	if len(args) != 1 {
		return gang.Blob{}, mismatch("%s is called with %d arguments: one, of bytes, is what this worker takes", c.Name, len(args))
	}
	return blobOf(args[0])
}

func (o *gangObject) remember(c *gang.Call) C.int64_t {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	o.calls[o.last] = c
	return C.int64_t(o.last)
}

// answer ends the call of a number.
func (o *gangObject) answer(number C.int64_t, result gang.Ref, failed error) error {
	o.mu.Lock()
	c := o.calls[int64(number)]
	delete(o.calls, int64(number))
	o.mu.Unlock()
	if c == nil {
		return mismatch("call %d was answered, or never made", int64(number))
	}
	c.Done(result, failed)
	return nil
}

//export go_volley_gang_answer
func go_volley_gang_answer(h C.uintptr_t, number C.int64_t, ref, failed *C.char) C.int32_t {
	return withGang("volley_gang_answer", h, func(o *gangObject) error {
		if ref != nil {
			result, err := reference(ref)
			if err != nil {
				return err
			}
			return o.answer(number, result, nil)
		}
		why, err := optional("error", failed)
		if err != nil {
			return err
		}
		return o.answer(number, gang.Ref{}, errors.New(why))
	})
}

//export go_volley_gang_answer_fault
func go_volley_gang_answer_fault(h C.uintptr_t, number C.int64_t, failed, cause *C.char, p *C.int64_t, n C.int64_t) C.int32_t {
	return withGang("volley_gang_answer_fault", h, func(o *gangObject) error {
		why, err := text("error", failed)
		if err != nil {
			return err
		}
		by, err := text("cause", cause)
		if err != nil {
			return err
		}
		ranks, err := ranksOf(p, n)
		if err != nil {
			return err
		}
		return o.answer(number, gang.Ref{}, &collective.Fault{Cause: collective.Cause(by), Op: "Run", Ranks: ranks, Text: why})
	})
}

// number is what a place knows of itself.
func number(name string, h C.uintptr_t, out *C.int64_t, of func(o *gangObject) (int, error)) C.int32_t {
	return withGang(name, h, func(o *gangObject) error {
		n, err := of(o)
		*out = C.int64_t(n)
		return err
	})
}

//export go_volley_gang_rank
func go_volley_gang_rank(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return number("volley_gang_rank", h, out, func(o *gangObject) (int, error) {
		if o.start != nil {
			return gang.Origin, nil
		}
		return o.worker.Rank(), nil
	})
}

//export go_volley_gang_size
func go_volley_gang_size(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return number("volley_gang_size", h, out, func(o *gangObject) (int, error) {
		if o.start != nil {
			return o.start.Size(), nil
		}
		return o.worker.Size(), nil
	})
}

//export go_volley_gang_generation
func go_volley_gang_generation(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return number("volley_gang_generation", h, out, func(o *gangObject) (int, error) {
		if o.start != nil {
			n, err := o.start.Generation()
			return int(n), err
		}
		return int(o.worker.Generation()), nil
	})
}

// commOf hands out a Comm of a worker.
func commOf(name string, h, t C.uintptr_t, out *C.uintptr_t, lent bool, make func(ctx context.Context, w *gang.Worker) (*collective.Comm, error)) C.int32_t {
	return longGang(name, h, t, func(o *gangObject) (work, error) {
		w, err := o.asWorker()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			c, err := make(ctx, w)
			if err != nil {
				return outcome{}, fmt.Errorf("rank %d: %w", w.Rank(), err)
			}
			made := &commObject{c: c, getenv: noVariables, lent: lent}
			return outcome{commit: func() { *out = register(made) }, discard: made.leave}, nil
		}, nil
	})
}

func noVariables(string) string { return "" }

//export go_volley_gang_comm
func go_volley_gang_comm(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return commOf("volley_gang_comm", h, t, out, true, func(ctx context.Context, w *gang.Worker) (*collective.Comm, error) { return w.Comm(ctx) })
}

//export go_volley_gang_group
func go_volley_gang_group(h C.uintptr_t, id *C.char, p *C.int64_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	var name string
	var ranks []int
	if status := call("volley_gang_group", func() (err error) {
		if name, err = text("id", id); err != nil {
			return err
		}
		ranks, err = ranksOf(p, n)
		return err
	}); status != C.VOLLEY_OK {
		return status
	}
	return commOf("volley_gang_group", h, t, out, false, func(ctx context.Context, w *gang.Worker) (*collective.Comm, error) {
		return w.Group(ctx, name, ranks)
	})
}
