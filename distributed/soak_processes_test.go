package distributed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cpu"
)

// soakRank is the variable that names, in the environment of a process of the test's program, its place: the transport, the meeting point, rank, size and seed.
const soakRank = "SOAK_RANK"

// stopped is for how long a rank may be silent.
const stopped = 2 * time.Second

// soakProcess is a process of TestSoakOfProcesses: random programs until one fails, then one more by the survivors.
func soakProcess(place string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var carrier, meeting string
	var number, size int
	var seed uint64
	if _, err := fmt.Sscan(place, &carrier, &meeting, &number, &size, &seed); err != nil {
		return err
	}
	end, err := joinProcess(ctx, carrier, meeting, number, size)
	if err != nil {
		return err
	}
	comm, err := collective.New(end, collective.Options{Heartbeat: stopped / 20, Deadline: stopped})
	if err != nil {
		return err
	}
	defer comm.Close()
	b, err := cpu.New(host.New())
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 7))
	r := &rank{Context: ctx, comm: comm, backend: b}
	for i := 0; ; i++ {
		p := randomProgram(random, 4)
		if err = p.run(r); err != nil {
			err = fmt.Errorf("rank %d of %d, seed %d, program %d, %s: %w", number, size, seed, i, p, err)
			break
		}
		if i == 0 {
			fmt.Println("ready")
		}
	}
	var f *collective.Fault
	if !errors.As(err, &f) {
		return err
	}
	small, shrinks := comm.Shrink(ctx)
	if shrinks != nil {
		return fmt.Errorf("%w, after %w", shrinks, err)
	}
	defer small.Close()
	p := randomProgram(rand.New(rand.NewPCG(seed, 8)), 4)
	if err := p.run(&rank{Context: ctx, comm: small, backend: b}); err != nil {
		return fmt.Errorf("the survivors' program, %s: %w, after %w", p, err, f)
	}
	if err := small.Barrier(ctx); err != nil {
		return err
	}
	fmt.Println("fault", f.Ranks, "and on with", small.Size())
	return nil
}

// joinProcess joins a process of a test's program to the others.
func joinProcess(ctx context.Context, carrier, meeting string, number, size int) (transport.Endpoint, error) {
	if carrier == "shm" {
		return shm.Join(ctx, meeting, number, size)
	}
	return tcp.Join(ctx, rendezvous.World{Rank: number, Size: size, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Address: meeting}, tcp.Options{Interfaces: "=lo,=lo0"})
}
