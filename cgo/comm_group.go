package main

// #include "base.h"
import "C"

import (
	"context"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/rendezvous"
)

//export go_volley_comm_sub
func go_volley_comm_sub(h C.uintptr_t, p *C.int64_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	const name = "volley_comm_sub"
	var ranks []int
	if status := call(name, func() error {
		k, err := count("ranks", p, n)
		for _, r := range unsafe.Slice(p, k) {
			ranks = append(ranks, int(r))
		}
		return err
	}); status != C.VOLLEY_OK {
		return status
	}
	return newComm(name, h, t, out, func(ctx context.Context, c *collective.Comm) (*collective.Comm, error) { return c.Sub(ctx, ranks) })
}

//export go_volley_comm_grow
func go_volley_comm_grow(h C.uintptr_t, ranks C.int64_t, address *C.char, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_comm_grow", t, func(k *keeper) (work, error) {
		o, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		where, err := optional("address", address)
		if err != nil {
			return nil, err
		}
		if where == "" {
			if where, err = o.address(); err != nil {
				return nil, err
			}
		}
		size, err := root("ranks", ranks)
		if err != nil {
			return nil, err
		}
		meet, err := collective.MeetAt(where, o.getenv)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			c, err := o.c.Grow(ctx, size, meet)
			return giveComm(out, c, o.getenv, own(ctx, o.named(err)))
		}, nil
	})
}

// address is where the ranks of the group met, for others to meet there again.
func (o *commObject) address() (string, error) {
	w, err := rendezvous.Environment(o.getenv)
	if err != nil || !strings.HasPrefix(w.Address, "tcp://") && !strings.HasPrefix(w.Address, "file://") {
		return "", mismatch("address is NULL and the group met at none that ranks can meet at again: tcp://host:port of rank 0 and file:///path are addresses")
	}
	return w.Address, nil
}

//export go_volley_comm_enter
func go_volley_comm_enter(p *C.volley_comm_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_comm_enter", t, func(*keeper) (work, error) {
		j, err := joining(p)
		if err != nil {
			return nil, err
		}
		w, err := rendezvous.Environment(j.getenv)
		if err != nil {
			return nil, err
		}
		meet, err := collective.MeetAt(w.Address, j.getenv)
		if err != nil {
			return nil, mismatch("a rank that enters has an address: %v", err)
		}
		return func(ctx context.Context) (outcome, error) {
			c, err := collective.Enter(ctx, w.Rank, w.Size, meet, j.options)
			return j.give(ctx, out, c, err)
		}, nil
	})
}
