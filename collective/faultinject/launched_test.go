package faultinject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
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
	for _, s := range slices.Concat(transfers(), startedTogether(), vForms(), operations()) {
		for _, e := range faults(s.messages) {
			slots <- struct{}{}
			cases++
			all.Go(func() {
				defer func() { <-slots }()
				if cerr := launchedCase(ctx, ends, s, e); cerr != nil {
					mu.Lock()
					defer mu.Unlock()
					err = errors.Join(err, fmt.Errorf("mpi: rank %d: %s, %s at message %d: %w", ends.Rank(), s.name, e.Kind, e.N, cerr))
				}
			})
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
func launchedCase(ctx context.Context, ends transport.Endpoint, s subject, e Event) error {
	everyone := []int{0, 1, 2, 3}
	var left error // what this rank alone has found when it left a trial
	for deadline := time.Second; ; deadline *= 4 {
		label := fmt.Sprint(s.name, e.Kind, e.N, deadline)
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
		err, own := launchedTrial(ctx, control, groups[0], s, e, deadline)
		left = errors.Join(left, own)
		err = errors.Join(err, control.Close())
		if !errors.Is(err, errLate) || 8*deadline > limit {
			return errors.Join(err, left)
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

// launchedTrial runs a subject's rounds under an event and judges what all ranks saw; left is what this one alone has found.
func launchedTrial(ctx context.Context, control *collective.Comm, plain transport.Endpoint, s subject, e Event, deadline time.Duration) (err, left error) {
	end, in := WrapOne(plain, e)
	c, err := collective.New(end, s.options([]Event{e}, deadline))
	if err != nil {
		return err, nil
	}
	defer c.Close()
	call, leave, err := s.enter(c)
	if err != nil {
		return err, nil
	}
	done := make(chan error, 1)
	go func() {
		for round := range rounds {
			if err := call(round); err != nil {
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
			err = errHangs
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
		return err, nil
	}
	if saw.Other != errHangs.Error() {
		left = leave()
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
	return judge(errs, dead, []Event{e}, func(rank int) int64 { return all[rank].Messages }), left
}

var errHangs = errors.New("the operation hangs")

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
