package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/ondevice"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// carriers are what carries a group's vectors on devices, made for a device when it is first used.
type carriers struct {
	mu     sync.Mutex
	all    map[*kernels.Backend]*ondevice.Comm
	direct bool // NCCL carries those of a device
	closed bool
}

// of is what carries vectors of a device.
func (o *carriers) of(c *collective.Comm, b *kernels.Backend) (*ondevice.Comm, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, device.Errorf(device.ErrClosed, b.Device.Name(), "comm", "the group was left")
	}
	if d := o.all[b]; d != nil {
		return d, nil
	}
	d, err := ondevice.New(c, b)
	if err != nil {
		return nil, err
	}
	if o.all == nil {
		o.all = make(map[*kernels.Backend]*ondevice.Comm)
	}
	o.all[b] = d
	return d, nil
}

// close ends what is under way.
func (o *carriers) close() {
	o.mu.Lock()
	all := o.all
	o.all, o.closed = nil, true
	o.mu.Unlock()
	for _, d := range all {
		_ = d.Close() // what is under way has the error
	}
}

func (o *carriers) nccl() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.direct
}

// useNCCL has NCCL carry the vectors of a device, by its name. A rank that cannot open it tells the others, who would wait for it.
func (o *commObject) useNCCL(ctx context.Context, name string) error {
	b, err := open(name)
	if err := o.opened(ctx, err); err != nil {
		return err
	}
	return o.useNCCLOn(ctx, b)
}

// opened is an error on all ranks, the same, where one has one.
func (o *commObject) opened(ctx context.Context, err error) error {
	const width = 256
	own, all := make([]byte, width), make([]byte, width*o.c.Size())
	if err != nil {
		copy(own, err.Error())
	}
	if err := o.c.AllGather(ctx, collective.Of(own), collective.Of(all)); err != nil {
		return err
	}
	var said []string
	for r := range o.c.Size() {
		if text := strings.ToValidUTF8(strings.TrimRight(string(all[r*width:(r+1)*width]), "\x00"), ""); text != "" {
			said = append(said, fmt.Sprintf("rank %d: %s", r, text))
		}
	}
	if said == nil {
		return nil
	}
	return device.Errorf(device.ErrUnavailable, "", "use NCCL", "%s", strings.Join(said, "; "))
}

func (o *commObject) useNCCLOn(ctx context.Context, b *kernels.Backend) error {
	d, err := o.on.of(o.c, b)
	if err != nil {
		return err
	}
	if err := d.UseNCCL(ctx); err != nil {
		return err
	}
	o.on.mu.Lock()
	o.on.direct = true
	o.on.mu.Unlock()
	return nil
}

// gpuOf is the GPU of a rank that names none: that of its number on its machine, as far as the launcher says it.
func gpuOf(getenv func(string) string, named string) string {
	if named != "" {
		return named
	}
	w, err := rendezvous.Environment(getenv)
	if err != nil || w.LocalRank == rendezvous.Unknown {
		return "cuda:0"
	}
	return "cuda:" + strconv.Itoa(w.LocalRank)
}

//export go_volley_comm_use_nccl
func go_volley_comm_use_nccl(h, d, t C.uintptr_t) C.int32_t {
	return long("volley_comm_use_nccl", t, func(k *keeper) (work, error) {
		o, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		b, err := backend(d)
		if err != nil {
			return nil, o.named(err)
		}
		return func(ctx context.Context) (outcome, error) { return outcome{}, own(ctx, o.named(o.useNCCLOn(ctx, b))) }, nil
	})
}
