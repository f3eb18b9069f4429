package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/collective/transport/mpi"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/device"
)

// commObject is a rank's membership in a group, with the variables by which the ranks met, and what carries vectors of devices.
type commObject struct {
	unmanaged
	c      *collective.Comm
	getenv func(string) string
	on     carriers
	lent   bool // a gang has it, and closes it
}

func (*commObject) kind() string { return "comm" }

// leave leaves the group.
func (o *commObject) leave() {
	o.on.close()
	if !o.lent {
		_ = o.c.Close()
	}
}

// named is an error with this rank's number. A Fault has its own, those to blame, and so has an error that all ranks get.
func (o *commObject) named(err error) error { return onRank(o.c, err) }

func onRank(c *collective.Comm, err error) error {
	var fault *collective.Fault
	var agreed *agree.Error
	if err == nil || errors.As(err, &fault) || errors.As(err, &agreed) {
		return err
	}
	return fmt.Errorf("rank %d: %w", c.Rank(), err)
}

// giveComm is the outcome of a call that hands out a group, none for nil.
func giveComm(out *C.uintptr_t, c *collective.Comm, getenv func(string) string, err error) (outcome, error) {
	if err != nil || c == nil {
		return outcome{}, err
	}
	o := &commObject{c: c, getenv: getenv}
	return outcome{commit: func() { *out = register(o) }, discard: o.leave}, nil
}

// joiner is how a rank joins others: the variables of the environment with what the options say in their place, and the options themselves.
// nccl is the device whose vectors NCCL carries, "" for none.
type joiner struct {
	getenv  func(string) string
	options collective.Options
	nccl    string
	mpi     bool // an MPI library brings the ranks together and carries their messages
}

// joining reads the options of a rank that joins.
func joining(p *C.volley_comm_options) (*joiner, error) {
	o, err := options("options", p)
	if err != nil {
		return nil, err
	}
	j := &joiner{options: collective.Options{Deterministic: o.deterministic != 0, Checksum: o.checksum != 0, Heartbeat: milliseconds(o.heartbeat),
		Deadline: milliseconds(o.deadline), Timeout: milliseconds(o.timeout), JoinTimeout: milliseconds(o.join_timeout), Chunk: int(o.chunk)}}
	if o.wire != nil {
		if j.options.Wire, err = elementType("wire", o.wire); err != nil {
			return nil, err
		}
	}
	if j.options.Algorithms, err = algorithms(o.algorithms); err != nil {
		return nil, err
	}
	return j, j.meeting(o)
}

// meeting reads where and over what the ranks meet.
func (j *joiner) meeting(o *C.volley_comm_options) error {
	address, err := optional("address", o.address)
	if err != nil {
		return err
	}
	transport, err := optional("transport", o.transport)
	if err != nil {
		return err
	}
	secret, err := optional("secret_file", o.secret_file)
	if err != nil {
		return err
	}
	if o.ranks < 0 || o.rank < 0 || address == "" && (o.ranks != 0 || o.rank != 0) {
		return mismatch("rank %d of %d and the address %q", int64(o.rank), int64(o.ranks), address)
	}
	if o.ranks > 0 {
		address += "?rank=" + strconv.Itoa(int(o.rank)) + "&size=" + strconv.Itoa(int(o.ranks))
	}
	device, err := optional("device", o.device)
	if err != nil {
		return err
	}
	said := map[string]string{"VOLLEY_ADDRESS": address, "VOLLEY_TRANSPORT": transport, "VOLLEY_SECRET_FILE": secret}
	j.getenv = func(name string) string {
		if v := said[name]; v != "" {
			return v
		}
		return os.Getenv(name)
	}
	switch {
	case transport == "mpi" && (address != "" || secret != ""):
		return mismatch("transport is mpi, and address is %q: MPI's launcher brings the ranks together, without a secret", address)
	case transport == "mpi":
		j.mpi = true
	case transport == "nccl":
		said["VOLLEY_TRANSPORT"] = "" // the host's messages go over whichever fits
		j.nccl = gpuOf(j.getenv, device)
	case device != "":
		return mismatch("device is %q and transport %q: a device is for transport nccl", device, transport)
	}
	return nil
}

// give is the outcome of a rank that has joined.
func (j *joiner) give(ctx context.Context, out *C.uintptr_t, c *collective.Comm, err error) (outcome, error) {
	if err != nil || j.nccl == "" {
		return giveComm(out, c, j.getenv, own(ctx, err))
	}
	o := &commObject{c: c, getenv: j.getenv}
	if err := o.useNCCL(ctx, j.nccl); err != nil {
		o.leave()
		return outcome{}, own(ctx, o.named(err))
	}
	return outcome{commit: func() { *out = register(o) }, discard: o.leave}, nil
}

func milliseconds(n C.int64_t) time.Duration { return time.Duration(n) * time.Millisecond }

//export go_volley_comm_init
func go_volley_comm_init(p *C.volley_comm_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_comm_init", t, func(*keeper) (work, error) {
		j, err := joining(p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			if j.mpi {
				c, err := joinMPI(ctx, j.options)
				return j.give(ctx, out, c, err)
			}
			c, err := collective.InitFrom(ctx, j.getenv, j.options)
			return j.give(ctx, out, c, err)
		}, nil
	})
}

// own marks an error that the call's own token brought about.
func own(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return stopped{err}
	}
	return err
}

// elementType is a type of elements by its name.
func elementType(name string, p *C.char) (collective.Type, error) {
	n, err := text(name, p)
	if err != nil {
		return 0, err
	}
	for t := collective.Int8; t <= collective.Float64; t++ {
		if t.String() == n {
			return t, nil
		}
	}
	return 0, mismatch("%s is %q: int8 to uint64, float16, bfloat16, float32 and float64 are types of elements", name, n)
}

var reductions = []collective.Op{collective.Sum, collective.Prod, collective.Min, collective.Max, collective.Avg, collective.And, collective.Or, collective.Xor}

func reduction(p *C.char) (collective.Op, error) {
	n, err := text("op", p)
	if err != nil {
		return collective.Op{}, err
	}
	for _, op := range reductions {
		if op.String() == n {
			return op, nil
		}
	}
	return collective.Op{}, mismatch("op is %q: sum, prod, min, max, avg, and, or and xor are reductions", n)
}

// vector is n elements in C's memory; of none it is the zero Vector where the rank need not give it.
func vector(name string, p unsafe.Pointer, n int64, t collective.Type) (collective.Vector, error) {
	if n < 0 || n > 1<<44 {
		return collective.Vector{}, mismatch("%s has %d elements", name, n)
	}
	if p == nil && n > 0 {
		return collective.Vector{}, mismatch("%s is NULL", name)
	}
	v, err := collective.Raw(t, unsafe.Slice((*byte)(p), n*int64(t.Width())))
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// withComm runs a call on one group.
func withComm(name string, h C.uintptr_t, body func(c *collective.Comm) error) C.int32_t {
	return call(name, func() error {
		return with("comm", h, func(o *commObject) error { return body(o.c) })
	})
}

//export go_volley_comm_rank
func go_volley_comm_rank(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return withComm("volley_comm_rank", h, func(c *collective.Comm) error {
		*out = C.int64_t(c.Rank())
		return nil
	})
}

//export go_volley_comm_size
func go_volley_comm_size(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return withComm("volley_comm_size", h, func(c *collective.Comm) error {
		*out = C.int64_t(c.Size())
		return nil
	})
}

//export go_volley_comm_transport
func go_volley_comm_transport(h C.uintptr_t, out **C.char) C.int32_t {
	return call("volley_comm_transport", func() error {
		return with("comm", h, func(o *commObject) error {
			name := o.c.Transport()
			if o.on.nccl() {
				name += "+nccl"
			}
			return giveText(out, name)
		})
	})
}

// newComm makes a group of another one.
func newComm(name string, h, t C.uintptr_t, out *C.uintptr_t, make func(ctx context.Context, c *collective.Comm) (*collective.Comm, error)) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		o, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			c, err := make(ctx, o.c)
			return giveComm(out, c, o.getenv, own(ctx, o.named(err)))
		}, nil
	})
}

//export go_volley_comm_split
func go_volley_comm_split(h C.uintptr_t, color, key C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return newComm("volley_comm_split", h, t, out, func(ctx context.Context, c *collective.Comm) (*collective.Comm, error) {
		return c.Split(ctx, int(color), int(key))
	})
}

//export go_volley_comm_shrink
func go_volley_comm_shrink(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return newComm("volley_comm_shrink", h, t, out, func(ctx context.Context, c *collective.Comm) (*collective.Comm, error) { return c.Shrink(ctx) })
}

//export go_volley_comm_fault
func go_volley_comm_fault(h C.uintptr_t, ranks *C.int64_t, capacity C.int64_t, cause **C.char, n *C.int64_t) C.int32_t {
	return withComm("volley_comm_fault", h, func(c *collective.Comm) error {
		return giveFault(c.Fault(), ranks, capacity, cause, n)
	})
}

// giveFault hands out what ended a group's work, nothing for nil.
func giveFault(f *collective.Fault, ranks *C.int64_t, capacity C.int64_t, cause **C.char, n *C.int64_t) error {
	room, err := count("ranks", ranks, capacity)
	if err != nil {
		return err
	}
	if f == nil {
		return giveText(cause, "")
	}
	for i, r := range f.Ranks[:min(room, len(f.Ranks))] {
		unsafe.Slice(ranks, room)[i] = C.int64_t(r)
	}
	*n = C.int64_t(len(f.Ranks))
	return giveText(cause, string(f.Cause))
}

//export go_volley_comm_free
func go_volley_comm_free(h C.uintptr_t) C.int32_t {
	if o, err := find[*commObject]("comm", h); err == nil {
		o.leave()
	}
	return free[*commObject]("volley_comm_free", h)
}

// root is a rank's number.
func root(name string, n C.int64_t) (int, error) {
	if n < 0 || n > 1<<24 {
		return 0, device.Errorf(device.ErrMismatch, "", name, "rank %d", int64(n))
	}
	return int(n), nil
}

// joinMPI makes the Comm of all ranks of an MPI job.
func joinMPI(ctx context.Context, o collective.Options) (*collective.Comm, error) {
	ends, err := mpi.Join(ctx, rendezvous.World{}, mpi.Options{})
	if err != nil {
		return nil, &device.Error{Call: "transport mpi", Kind: device.ErrUnavailable, Cause: err}
	}
	c, err := collective.New(ends, o)
	if err != nil {
		return nil, errors.Join(err, ends.Close())
	}
	return c, nil
}

//export go_volley_comm_finalize
func go_volley_comm_finalize(limit C.int64_t, t C.uintptr_t) C.int32_t {
	return long("volley_comm_finalize", t, func(*keeper) (work, error) {
		if limit <= 0 {
			return nil, mismatch("milliseconds is %d", int64(limit))
		}
		return func(ctx context.Context) (outcome, error) {
			bounded, cancel := context.WithTimeout(ctx, milliseconds(limit))
			defer cancel()
			return outcome{}, own(ctx, mpi.Finalize(bounded))
		}, nil
	})
}
