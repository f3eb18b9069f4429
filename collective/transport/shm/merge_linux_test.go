package shm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// merging is a group whose ranks merge; nil where the system does not have them write each other's memory.
func merging(t *testing.T, n int) []*endpoint {
	t.Helper()
	var all []*endpoint
	for _, end := range group(t, n) {
		e := end.Endpoint.(*endpoint)
		t.Cleanup(func() { e.Close() })
		all = append(all, e)
	}
	if !all[0].Merges(transport.ToAll, n*mergeLeast) {
		unwritten(t)
		return nil
	}
	return all
}

// Merged vectors are the canonical tree's sum, of any number of ranks and any length, and messages go on
// between.
func TestMerge(t *testing.T) {
	for ranks := 2; ranks <= 5; ranks++ {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			all := merging(t, ranks)
			if all == nil {
				return
			}
			seq := 0
			for _, n := range []int{ranks * mergeLeast, ranks*mergeLeast + 4, ranks*300_000 + 12, 3*ranks*mergeStep + 8*part + 20} {
				for range 3 {
					seq++
					transporttest.MergeAll(t, all, transport.ToAll, seq, n&^3)
				}
				seq++
				carry(t, all[0], all[1], seq, 5*part+3, nil)
			}
		})
	}
}

// What a rank may not write into another's memory that one reads.
func TestMergeIntoAShutDoor(t *testing.T) {
	for shut := range reaches {
		all := merging(t, 3)
		if all == nil {
			return
		}
		for length := range reaches {
			if length == shut || shut == wholes {
				all[1].lanes[0].in.door.reaches[length].len.Store(0)
			}
		}
		for seq := 1; seq <= 2; seq++ {
			transporttest.MergeAll(t, all, transport.ToAll, seq, 3*700_000+4)
		}
	}
}

// lentToLast has all ranks but the last lend it vectors of n bytes, and gives the last one's.
func lentToLast(t *testing.T, all []*endpoint, h *transport.Header, n int) []byte {
	t.Helper()
	vectors, _ := transporttest.Vectors(len(all), n)
	last := len(all) - 1
	for r, e := range all[:last] {
		from, to := e.mergeBlock(n, r)
		if err := e.lend(last, h, vectors[r], vectors[r][from:to]); err != nil {
			t.Fatal(err)
		}
	}
	return vectors[last]
}

// Where a rank's memory cannot be read, since its process has ended, that rank is to blame: not the one
// that was waited for last.
func TestMergeOfEndedProcess(t *testing.T) {
	all := merging(t, 4)
	if all == nil {
		return
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	const n, own, gone = 4 * mergeLeast, 3, 1
	header := transport.Header{Seq: 1, Len: n}
	in := lentToLast(t, all, &header, n)
	pid := all[gone].seg.rank(gone).pid.Swap(int64(ended.ProcessState.Pid()))
	defer all[gone].seg.rank(gone).pid.Store(pid)
	on := -1
	err := all[own].Merge(&transport.Merge{Header: &header, In: in, Out: make([]byte, n), Combine: transporttest.Sum, On: func(rank int) { on = rank }})
	if !errors.Is(err, unix.ESRCH) || on != gone {
		t.Errorf("rank %d is to blame for %v, not rank %d for %v", on, err, gone, unix.ESRCH)
	}
}

// A vector that is taken back while it is read makes its rank the one to blame, whom the call then waits
// for until it is interrupted.
func TestMergeOfVectorTakenBack(t *testing.T) {
	all := merging(t, 4)
	if all == nil {
		return
	}
	const n, own, gone = 4 * mergeLeast, 3, 1
	header := transport.Header{Seq: 1, Len: n}
	in := lentToLast(t, all, &header, n)
	e, on, back := all[own], -1, false
	at := &e.lanes[gone]
	m := &transport.Merge{Header: &header, In: in, Out: make([]byte, n)}
	m.Combine = func(into, a, b []byte) {
		if transporttest.Sum(into, a, b); !back {
			back = at.in.slots[at.read&(e.depth-1)].claim.CompareAndSwap(claimed, revoked)
		}
	}
	m.On = func(rank int) {
		if on = rank; back && rank == gone {
			go e.Interrupt(errOver)
		}
	}
	err := returns(t, "Merge", func() error { return e.Merge(m) })
	if !errors.Is(err, errOver) || on != gone || !back {
		t.Errorf("rank %d is to blame for %v, not rank %d for %v; taken back: %v", on, err, gone, errOver, back)
	}
}

// Once the call of a rank that is interrupted has returned nothing is written into its result.
func TestInterruptedMerge(t *testing.T) {
	for i := range 40 {
		all := merging(t, 3)
		if all == nil {
			return
		}
		const n = 3 * 8 * mergeStep
		var ranks sync.WaitGroup
		outs := make([][]byte, len(all))
		for r, e := range all {
			outs[r] = make([]byte, n)
			ranks.Go(func() {
				in := make([]byte, n)
				m := &transport.Merge{Header: &transport.Header{Seq: 1}, In: in, Out: outs[r], Combine: transporttest.Sum, On: func(int) {}}
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				_ = e.Merge(m) // it may be interrupted
				for k := range outs[r] {
					outs[r][k] = 0xee
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
		for _, e := range all {
			e.Interrupt(errOver)
		}
		ranks.Wait()
		time.Sleep(time.Millisecond)
		for r, out := range outs {
			for k, is := range out {
				if is != 0xee {
					t.Fatalf("trial %d: byte %d of rank %d was written after the call", i, k, r)
				}
			}
		}
	}
}
