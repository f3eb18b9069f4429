package faultinject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/mpi"
	"github.com/volley-go/volley/collective/transport/rendezvous"
)

// asRank makes the test program a rank of an MPI launcher's job: see scripts/mpi.sh.
const asRank = "VOLLEY_FAULTINJECT_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asRank) == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	if err := overMPI(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// overMPI is the matrix with ranks that are processes, each of which meets the events of
// its own rank. All groups are splits of one endpoint, which nobody watches and no fault
// ends.
func overMPI(ctx context.Context) error {
	world, err := rendezvous.Environment(os.Getenv)
	if err != nil {
		return err
	}
	if world.Size != ranks {
		return fmt.Errorf("the matrix is for %d ranks, not %d", ranks, world.Size)
	}
	ends, err := mpi.Join(ctx, world, mpi.Options{})
	if err != nil {
		return err
	}
	slots := make(chan struct{}, 24) // the same on all ranks, which begin the cases in one order
	var all sync.WaitGroup
	var mu sync.Mutex
	cases := 0
	for op := algorithm.Barrier; op <= algorithm.AllToAll; op++ {
		for _, a := range algorithm.For(op) {
			for _, kind := range []Kind{Kill, Freeze, Drop, Delay, Duplicate, Corrupt, Partition} {
				for _, n := range []int64{0, 2} {
					slots <- struct{}{}
					cases++
					all.Go(func() {
						defer func() { <-slots }()
						e := Event{Rank: 1, N: n, Kind: kind, Delay: 30 * time.Millisecond, Others: []int{0, 2, 3}}
						if cerr := launchedCase(ctx, ends, op, a.Name, e); cerr != nil {
							mu.Lock()
							defer mu.Unlock()
							err = errors.Join(err, fmt.Errorf("mpi: rank %d: %s by %s, %s at message %d: %w", ends.Rank(), op, a.Name, kind, n, cerr))
						}
					})
				}
			}
		}
	}
	all.Wait()
	last, lerr := collective.New(ends, collective.Options{Deadline: limit})
	if lerr != nil {
		return errors.Join(err, lerr)
	}
	if err = errors.Join(err, last.Barrier(ctx), last.Close()); err != nil {
		return err
	}
	if err := mpi.Finalize(ctx); err != nil {
		return err
	}
	if ends.Rank() == 0 {
		fmt.Printf("%d cases\n", cases)
	}
	fmt.Printf("rank %d of %d agrees\n", ends.Rank(), ranks)
	return nil
}

// launchedCase is patiently for ranks in processes: what they saw is gathered, so that all
// of them judge alike and try again together.
func launchedCase(ctx context.Context, ends transport.Endpoint, op algorithm.Op, name string, e Event) error {
	everyone := []int{0, 1, 2, 3}
	for deadline := time.Second; ; deadline *= 4 {
		label := fmt.Sprint(op, name, e.Kind, e.N, deadline)
		var groups [2]transport.Endpoint
		for i := range groups {
			var err error
			if groups[i], err = ends.Split(ctx, fmt.Sprint(label, i), everyone); err != nil {
				return err
			}
		}
		control, err := collective.New(groups[1], collective.Options{Heartbeat: limit / 10, Deadline: limit})
		if err != nil {
			return err
		}
		err = errors.Join(launchedTrial(ctx, control, groups[0], op, name, e, deadline), control.Close())
		if !errors.Is(err, errLate) || 8*deadline > limit {
			return err
		}
	}
}

// outcome is what a rank saw.
type outcome struct {
	Fault    *collective.Fault
	Other    string // an error that is none
	Messages int64  // that it posted
}

// outcomeLen is the bytes of one, as they are gathered.
const outcomeLen = 2048

// launchedTrial runs three rounds of an operation under an event and judges what all ranks
// saw.
func launchedTrial(ctx context.Context, control *collective.Comm, plain transport.Endpoint, op algorithm.Op, name string, e Event, deadline time.Duration) error {
	end, in := WrapOne(plain, e)
	c, err := collective.New(end, collective.Options{Heartbeat: deadline / 10, Deadline: deadline, Timeout: 2 * deadline, Checksum: true, Chunk: 1024,
		Algorithms: map[algorithm.Op]string{op: name}})
	if err != nil {
		return err
	}
	defer c.Close()
	done := make(chan error, 1)
	go func() {
		for round := range 3 {
			if err := call(c, op, round); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	dead := lost([]Event{e})
	var saw outcome
	if len(dead) == 0 || dead[0] != c.Rank() { // else it may be frozen until the others are through
		select {
		case err = <-done:
		case <-time.After(limit):
			err = errors.New("the operation hangs")
		}
		if !errors.As(err, &saw.Fault) && err != nil {
			saw.Other = err.Error()
		}
		saw.Messages = in.Messages(c.Rank())
	}
	all, err := gathered(ctx, control, saw)
	if len(dead) == 1 && dead[0] == c.Rank() {
		in.Thaw()
		<-done
	}
	if err != nil {
		return err
	}
	errs := make([]error, ranks)
	for r, o := range all {
		switch {
		case o.Fault != nil:
			errs[r] = o.Fault
		case o.Other != "":
			errs[r] = errors.New(o.Other)
		}
	}
	return judge(errs, dead, []Event{e}, func(rank int) int64 { return all[rank].Messages })
}

// gathered are all ranks' outcomes.
func gathered(ctx context.Context, c *collective.Comm, own outcome) (all [ranks]outcome, err error) {
	text, err := json.Marshal(own)
	if err != nil {
		return all, err
	}
	if len(text) > outcomeLen {
		return all, fmt.Errorf("an outcome of %d bytes: %s", len(text), text)
	}
	in, out := make([]byte, outcomeLen), make([]byte, ranks*outcomeLen)
	for i := copy(in, text); i < len(in); i++ {
		in[i] = ' '
	}
	if err := c.AllGather(ctx, collective.Of(in), collective.Of(out)); err != nil {
		return all, err
	}
	for r := range all {
		if err := json.Unmarshal(out[r*outcomeLen:(r+1)*outcomeLen], &all[r]); err != nil {
			return all, err
		}
	}
	return all, nil
}
