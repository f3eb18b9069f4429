package ondevice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
)

const (
	joinLimit  = time.Minute     // for all ranks to come
	closeLimit = 5 * time.Second // for all ranks to close
	lookEvery  = 10 * time.Millisecond
	graceTime  = time.Second // in which a rank that made NCCL fail is found missing
)

// UseNCCL makes NCCL carry what it can from then on. All ranks call it. Each needs the
// same version of the library (VOLLEY_NCCL_LIBRARY, or the system's) and a GPU of its
// own; where one has not, all get an ErrUnavailable that says which rank lacks what, and
// the Comm goes on through the host.
func (d *Comm) UseNCCL(ctx context.Context) error {
	return d.do(ctx, operation{call: "use NCCL", run: d.introduce}, nil)
}

// introduce makes the ranks' communicator.
func (d *Comm) introduce(ctx context.Context) error {
	if d.direct != nil {
		return device.Errorf(device.ErrMismatch, d.b.Device.Name(), "use NCCL", "it is in use already")
	}
	gpu, lib, err := d.equipment()
	version := 0
	if err == nil {
		version = lib.Version()
	}
	if err := d.everyone(ctx, version, err); err != nil {
		return err
	}
	var id nccl.ID
	if d.c.Rank() == 0 {
		id, err = lib.NewID()
	}
	if err := d.everyone(ctx, 1, err); err != nil {
		return err
	}
	if err := d.c.Broadcast(ctx, collective.Of(id[:]), collective.Of(id[:]), 0); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	watched, stop := d.watch(limited)
	comm, err := lib.Join(watched, gpu, id, d.c.Rank(), d.c.Size())
	stop()
	if failed := d.everyone(ctx, 1, err); failed != nil {
		if comm != nil {
			comm.Abort()
		}
		return failed
	}
	d.direct = comm
	return nil
}

// equipment is the GPU and the library, or why there is none.
func (d *Comm) equipment() (*cuda.Device, *nccl.Library, error) {
	own := d.b.Device
	if w, ok := own.(interface{ Unwrap() device.Device }); ok {
		own = w.Unwrap()
	}
	gpu, ok := own.(*cuda.Device)
	if !ok {
		return nil, nil, fmt.Errorf("%s is no GPU of CUDA", own.Name())
	}
	lib, err := nccl.Load()
	return gpu, lib, err
}

// everyone is an error on all ranks, the same, where one has one or the numbers that
// they give differ.
func (d *Comm) everyone(ctx context.Context, number int, err error) error {
	const width = 256
	own, all := make([]byte, width), make([]byte, width*d.c.Size())
	if err != nil {
		copy(own, err.Error())
	}
	numbers := make([]int64, d.c.Size())
	if err := d.c.AllGather(ctx, collective.Of([]int64{int64(number)}), collective.Of(numbers)); err != nil {
		return err
	}
	if err := d.c.AllGather(ctx, collective.Of(own), collective.Of(all)); err != nil {
		return err
	}
	var said []string
	for r, n := range numbers {
		if text := strings.TrimRight(string(all[r*width:(r+1)*width]), "\x00"); text != "" {
			said = append(said, fmt.Sprintf("rank %d: %s", r, text))
		} else if n != numbers[0] && numbers[0] != 0 {
			said = append(said, fmt.Sprintf("rank %d has version %d, rank 0 %d", r, n, numbers[0]))
		}
	}
	if said == nil {
		return nil
	}
	return device.Errorf(device.ErrUnavailable, d.b.Device.Name(), "use NCCL", "%s", strings.Join(said, "; "))
}

// watch gives a context that ends too when the ranks have a Fault or one of them is
// missing, which NCCL would wait for.
func (d *Comm) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		every := time.NewTicker(lookEvery)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if f := d.c.Fault(); f != nil {
				cancel(f)
			} else if gone := d.c.Missing(); gone != nil {
				cancel(fmt.Errorf("ranks %v are gone", gone))
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// carries says whether NCCL can have these vectors.
func (d *Comm) carries(vectors ...Vector) bool {
	if d.direct == nil {
		return false
	}
	for _, v := range vectors {
		if v.Buffer.Place() != d.b.Device.Place() {
			return false
		}
	}
	return true
}

// bytes is a window of a vector, in bytes.
func (v *Vector) bytes(off, n int64) nccl.Vector {
	w := int64(v.Type.Width())
	return nccl.Vector{Buffer: v.Buffer, Offset: (v.Offset + off) * w, Len: n * w}
}

// whole is a vector for a call that knows its type.
func (v *Vector) whole() nccl.Vector {
	return nccl.Vector{Buffer: v.Buffer, Offset: v.Offset, Len: v.Len}
}

// carried runs a call of all ranks: they agree that it is the same, and only then NCCL
// hears of it, which does not compare and waits for ever.
func (d *Comm) carried(ctx context.Context, what string, give func(ctx context.Context) error) error {
	return d.beside(ctx, what, func() error { return d.c.Agree(ctx, what) }, give)
}

// exchange is carried for messages.
func (d *Comm) exchange(ctx context.Context, what string, sends, recvs []nccl.Part) error {
	return d.carried(ctx, what, func(ctx context.Context) error { return d.direct.Exchange(ctx, d.stream, nccl.Uint8, sends, recvs) })
}

// beside runs a call by NCCL after an agreement, and makes what goes wrong the Fault of
// all ranks.
func (d *Comm) beside(ctx context.Context, what string, agree func() error, give func(ctx context.Context) error) error {
	if err := agree(); err != nil {
		return err
	}
	watched, stop := d.watch(ctx)
	defer stop()
	err := give(watched)
	if err == nil {
		err = d.direct.Wait(watched, d.stream)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		f := d.c.Report(collective.Fault{Cause: collective.Canceled, Op: what, Ranks: []int{d.c.Rank()}, Text: context.Cause(ctx).Error()})
		return &device.Error{Call: "collective", Kind: device.ErrCanceled, Text: f.Error(), Cause: errors.Join(f, context.Cause(ctx))}
	}
	// A rank that died makes NCCL fail and is missing soon: it is to blame, not NCCL.
	for end := time.Now().Add(graceTime); ; time.Sleep(lookEvery) {
		if f := d.c.Fault(); f != nil {
			return f
		}
		if gone := d.c.Missing(); gone != nil {
			return d.c.Report(collective.Fault{Cause: collective.Lost, Op: what, Ranks: gone, Text: "its connection ended, or it was silent"})
		}
		if time.Now().After(end) || ctx.Err() != nil {
			break
		}
	}
	f := d.c.Report(collective.Fault{Cause: collective.Canceled, Op: what, Ranks: []int{d.c.Rank()}, Text: fmt.Sprintf("NCCL of rank %d: %v", d.c.Rank(), err)})
	return errors.Join(f, err)
}

// closeNCCL closes in order where all ranks do, else by aborting.
func (d *Comm) closeNCCL() {
	if d.direct == nil {
		return
	}
	if d.c.Fault() != nil {
		d.direct.Abort()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	watched, stop := d.watch(ctx)
	defer stop()
	_ = d.direct.Close(watched) // what it says is that others did not come: then it was aborted
	d.direct = nil
}
