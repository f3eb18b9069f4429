package shm

import (
	"errors"
	"fmt"
	"math"
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

// ways are those that results go: written by others, or taken from where they are shown, if they lie apart.
var ways = map[string]int{"written": math.MaxInt, "taken": 0}

// eachWay has groups of n ranks merge by each way.
func eachWay(t *testing.T, n int, test func(t *testing.T, all []*endpoint)) {
	for name, from := range ways {
		t.Run(name, func(t *testing.T) {
			all := merging(t, n)
			for _, e := range all {
				e.stageFrom = from
			}
			if all != nil {
				test(t, all)
			}
		})
	}
}

// What ranks take from where it is shown is what would have been written: of any number of ranks, of rounds and
// of bytes in the last one, beside vectors that are written, and with messages between.
func TestMergeStaged(t *testing.T) {
	for ranks := 2; ranks <= 5; ranks++ {
		all := merging(t, ranks)
		if all == nil {
			return
		}
		seq, shown := 0, uint32(0)
		for _, e := range all {
			e.stageFrom = 0
		}
		lengths := []int{ranks*mergeLeast + 4, ranks*stageRound + 4*ranks}
		if ranks < 4 {
			lengths = append(lengths, ranks*stageRound, 3*ranks*stageRound+8*part+20)
		}
		for _, n := range lengths {
			for range 2 {
				seq++
				transporttest.MergeApart(t, all, transport.ToAll, seq, n)
			}
			last, _ := all[0].mergeBlock(n, ranks-1)
			shown += 2 * uint32((n-last+stageRound-1)/stageRound)
			seq++
			transporttest.MergeAll(t, all, transport.ToAll, seq, n)
			seq++
			carry(t, all[0], all[1], seq, 5*part+3, nil)
		}
		for r, e := range all {
			if e.rounds != shown {
				t.Errorf("rank %d of %d has shown %d rounds, not %d", r, ranks, e.rounds, shown)
			}
		}
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
		e.staging = e.stageFrom == 0
		if err := e.lend(last, h, vectors[r], vectors[r][from:to]); err != nil {
			t.Fatal(err)
		}
	}
	return vectors[last]
}

// Where a rank's memory cannot be read, since its process has ended, that rank is to blame: not the one
// that was waited for last.
func TestMergeOfEndedProcess(t *testing.T) { eachWay(t, 4, mergeOfEndedProcess) }

func mergeOfEndedProcess(t *testing.T, all []*endpoint) {
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
func TestMergeOfVectorTakenBack(t *testing.T) { eachWay(t, 4, mergeOfVectorTakenBack) }

func mergeOfVectorTakenBack(t *testing.T, all []*endpoint) {
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
		for _, e := range all {
			e.stageFrom = ways[[]string{"written", "taken"}[i%2]]
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
