package collective

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/volley-go/volley/bench/pin"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/mpi"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/memory"
)

// Rank is a process of one of our worlds: what says which, and at which socket it
// takes commands, in the words of a function ours. It ends when the socket does.
func Rank(ctx context.Context, what string) error {
	words := strings.SplitN(what, ",", 5)
	if len(words) != 5 {
		return fmt.Errorf("collective: %q names no rank", what)
	}
	device, meeting, socket := words[0], words[1], words[4]
	rank, err := strconv.Atoi(words[2])
	size, err2 := strconv.Atoi(words[3])
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("collective: %q names no rank: %w", what, err)
	}
	var ends transport.Endpoint
	switch device {
	case "mpi":
		return overMPIRank(ctx, what, meeting, socket)
	case "inproc":
		return together(ctx, inproc.New(size), socket)
	case "shm":
		ends, err = shm.Join(ctx, meeting, rank, size)
	case "tcp":
		ends, err = tcp.Join(ctx, rendezvous.World{Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Address: meeting}, tcp.Options{})
	default:
		err = fmt.Errorf("collective: no transport %q; there are %v and %v", device, Devices(), Launched())
	}
	if err != nil {
		return err
	}
	return serve(ctx, ends, socket)
}

// overMPIRank is a rank that MPI's launcher has started: in its place at once, or by
// beginning anew there.
func overMPIRank(ctx context.Context, what, meeting, socket string) error {
	if meeting == anywhere {
		turn, err := strconv.Atoi(os.Getenv("OMPI_COMM_WORLD_LOCAL_RANK"))
		if err != nil {
			return fmt.Errorf("collective: Open MPI's launcher gives no OMPI_COMM_WORLD_LOCAL_RANK: %w", err)
		}
		args := slices.Clone(os.Args)
		at := slices.Index(args, what)
		if at < 0 {
			return fmt.Errorf("collective: %q is not among the arguments %q", what, args)
		}
		args[at] = strings.Replace(what, anywhere, settled, 1)
		return pin.Become(turn, args)
	}
	ends, err := mpi.Join(ctx, rendezvous.World{}, mpi.Options{})
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, ends, socket), mpi.Finalize(ctx))
}

// together runs all ranks in this process.
func together(ctx context.Context, all []transport.Endpoint, socket string) error {
	errs := make([]error, len(all))
	var ranks sync.WaitGroup
	for r, e := range all {
		ranks.Go(func() { errs[r] = serve(ctx, e, socket) })
	}
	ranks.Wait()
	return errors.Join(errs...)
}

// serve is one rank.
func serve(ctx context.Context, ends transport.Endpoint, socket string) (err error) {
	comm, err := collective.New(ends, collective.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, comm.Close()) }()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "hello %d %s\n", comm.Rank(), report.Version()); err != nil {
		return err
	}
	r := &rank{comm: comm}
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		c, err := parseCommand(line)
		if err != nil {
			return err
		}
		answer, err := r.answer(ctx, c)
		if err != nil {
			answer = "error " + strings.Join(strings.Fields(err.Error()), " ")
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return err
		}
	}
}

// rank is a rank and its memory.
type rank struct {
	comm    *collective.Comm
	in, out []float32
	buffers [2]*memory.Buffer // of these
}

// grow makes vectors as columns are made, of the memory that the library gives.
func (r *rank) grow(n int64) error {
	for i, v := range []*[]float32{&r.in, &r.out} {
		b, err := memory.NewZeroed(memory.Heap, n*elementBytes)
		if err != nil {
			return err
		}
		*v = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), n)
		if r.buffers[i] != nil {
			r.buffers[i].Release()
		}
		r.buffers[i] = b
	}
	return nil
}

func (r *rank) answer(ctx context.Context, c command) (string, error) {
	if n := r.extent(c); n > int64(len(r.in)) {
		if err := r.grow(n); err != nil {
			return "", err
		}
	}
	call := r.prepare(ctx, c)
	if c.do == "check" {
		r.fill(c)
		if err := call(); err != nil {
			return "", err
		}
		return fmt.Sprintf("ok %d", r.wrong(c)), nil
	}
	// What the operation works on, as in the peers' ranks: the rest of larger buffers is
	// left alone, and what is in the caches with it.
	clear(r.in[:r.extent(c)])
	clear(r.out[:r.extent(c)])
	if err := r.comm.Barrier(ctx); err != nil {
		return "", err
	}
	start := time.Now()
	for range c.times {
		if err := call(); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("ok %.9f", time.Since(start).Seconds()), nil
}

// prepare is the call that a command is about.
func (r *rank) prepare(ctx context.Context, c command) func() error {
	n, m := c.count, r.extent(c)
	me := int64(r.comm.Rank())
	in, out := collective.Of(r.in[:m]), collective.Of(r.out[:m])
	if c.inPlace {
		in = out
	}
	block := func(v collective.Vector, i int64) collective.Vector { return v.Slice(i*n, (i+1)*n) }
	var none collective.Vector
	switch c.op.name {
	case "allreduce":
		return func() error { return r.comm.AllReduce(ctx, in, out, collective.Sum) }
	case "broadcast":
		return func() error { return r.comm.Broadcast(ctx, in, out, 0) }
	case "reduce":
		if me != 0 {
			out = none
		}
		return func() error { return r.comm.Reduce(ctx, in, out, collective.Sum, 0) }
	case "reducescatter":
		mine := block(out, 0)
		if c.inPlace {
			mine = block(out, me)
		}
		return func() error { return r.comm.ReduceScatter(ctx, in, mine, collective.Sum) }
	case "allgather":
		mine := block(in, 0)
		if c.inPlace {
			mine = block(out, me)
		}
		return func() error { return r.comm.AllGather(ctx, mine, out) }
	case "gather":
		if me != 0 {
			out = none
		}
		return func() error { return r.comm.Gather(ctx, block(in, 0), out, 0) }
	case "scatter":
		if me != 0 {
			in = none
		}
		return func() error { return r.comm.Scatter(ctx, in, block(out, 0), 0) }
	default:
		return func() error { return r.comm.AllToAll(ctx, in, out) }
	}
}
