package simulate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/faultinject"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// real runs an AllReduce of real ranks one of which is killed at a message, and
// returns what they got.
func real(t *testing.T, ranks, dead, at int, with string) []error {
	t.Helper()
	o := collective.Options{Heartbeat: 50 * time.Millisecond, Deadline: 20 * time.Second, Algorithms: map[algorithm.Op]string{algorithm.AllReduce: with}}
	ends, _ := faultinject.Wrap(inproc.New(ranks), faultinject.Event{Rank: dead, N: int64(at), Kind: faultinject.Kill})
	errs := make([]error, ranks)
	var all sync.WaitGroup
	for r := range ranks {
		c, err := collective.New(ends[r], o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all.Go(func() {
			v := make([]float32, 1024)
			errs[r] = c.AllReduce(context.Background(), collective.Of(v), collective.Of(v), collective.Sum)
		})
	}
	all.Wait()
	return errs
}

// What the survivors of a dead rank learn is what those of real Comms learn.
func TestVerdictIsTheRealOne(t *testing.T) {
	const ranks = 6
	node := Node("node", ranks, 0, Costs{Send: 1e-6, Recv: 1e-6}) // as in one process: a sender waits until its message is taken
	for _, c := range []struct {
		dead, step int
		with       string
	}{{2, 0, "ring"}, {2, 3, "ring"}, {0, 5, "ring"}, {5, 9, "ring"}, {1, 1, "doubling"}} {
		r, err := Run(context.Background(), Config{Network: node, Op: algorithm.AllReduce, Algorithm: c.with, Ranks: ranks, Bytes: 4096,
			Failure: &Failure{Rank: c.dead, Step: c.step}})
		if err != nil {
			t.Fatal(err)
		}
		v := r.Verdict
		if v == nil || v.Fault == nil {
			t.Fatalf("%+v: no fault", c)
		}
		ended := 0
		for q, err := range real(t, ranks, c.dead, c.step, c.with) {
			if q == c.dead {
				continue
			}
			if err == nil {
				ended++
				continue
			}
			var f *collective.Fault
			if !errors.As(err, &f) {
				t.Fatalf("%+v: rank %d of the real ones: %v", c, q, err)
			}
			if f.Cause != v.Fault.Cause || f.Op != v.Fault.Op || f.Seq != v.Fault.Seq || !slices.Equal(f.Ranks, v.Fault.Ranks) {
				t.Errorf("%+v: simulated %+v, real %+v", c, v.Fault, f)
			}
			if !slices.Contains(v.Witnesses, Witness{f.By, f.Step}) {
				t.Errorf("%+v: the real fault is seen by rank %d in step %d, simulated witnesses are %v", c, f.By, f.Step, v.Witnesses)
			}
		}
		if ended > v.Ended || ended == ranks-1 {
			t.Errorf("%+v: %d real ranks ended without the dead one, %d simulated ones", c, ended, v.Ended)
		}
	}
}

// The times follow the rules of the watch: a closed connection is seen within two
// looks, a silent rank after the deadline.
func TestVerdictTimes(t *testing.T) {
	n := Node("node", 64, 0, ends)
	run := func(f Failure, with string) *Verdict {
		t.Helper()
		r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: with, Ranks: 64, Bytes: 1 << 20, Chunk: 1 << 17, Failure: &f})
		if err != nil {
			t.Fatal(err)
		}
		return r.Verdict
	}
	closed := run(Failure{Rank: 7, Step: 1}, "chain")
	if closed.Noticed < 0.05 || closed.Noticed > 0.16 || closed.Complete < closed.Decided || closed.Decided < closed.Noticed || closed.Complete > closed.Noticed+0.01 {
		t.Errorf("a closed connection: %+v", closed)
	}
	silent := run(Failure{Rank: 7, Step: 1, Silent: true}, "chain")
	if silent.Noticed < 5 || silent.Noticed > 5.15 {
		t.Errorf("a silent rank: %+v", silent)
	}
	if len(closed.Witnesses) != 2 || closed.Witnesses[0].Rank != 6 || closed.Witnesses[1].Rank != 8 {
		t.Errorf("witnesses of rank 7 in a chain: %+v", closed.Witnesses)
	}
	// A leaf that dies before it has entered is needed by its parent only where the
	// parent waits for it; a short message is in its hands at once.
	r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: "binomial", Ranks: 64, Bytes: 8, Failure: &Failure{Rank: 63}})
	if err != nil || r.Verdict.Fault != nil || r.Verdict.Ended != 63 {
		t.Errorf("nobody needs a leaf: %+v, %v", r.Verdict, err)
	}
	if v := run(Failure{Rank: 7, Step: 1000}, "chain"); v != nil {
		t.Errorf("a rank that has ended before the step dies: %+v", v)
	}
}
