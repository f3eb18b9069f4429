package inproc

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

var errOver = errors.New("over")

func group(n int) (all []*endpoint) {
	for _, e := range New(n) {
		all = append(all, e.(*endpoint))
	}
	return all
}

// mergeOf is rank r's part of a merge out of place.
func mergeOf(vector []byte, combine func(into, a, b []byte), on func(int)) *transport.Merge {
	return &transport.Merge{Header: &transport.Header{Seq: 1}, In: vector, Out: make([]byte, len(vector)), Combine: combine, On: on}
}

func nobody(int) {}

// within fails where something takes longer than it may.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not return", what)
	}
}

// Merged vectors are the canonical tree's sum, of any number of ranks and any length, and messages go on
// between.
func TestMerge(t *testing.T) {
	for ranks := 2; ranks <= 5; ranks++ {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			all := group(ranks)
			if all[0].Merges(transport.ToAll, ranks*mergeLeast-1) || !all[0].Merges(transport.ToAll, ranks*mergeLeast) {
				t.Error("what is merged begins elsewhere")
			}
			seq := 0
			sizes := []int{ranks * mergeLeast, ranks*mergeLeast + 4, 100_000*ranks + 12}
			if ranks%2 == 1 {
				sizes = append(sizes, mergePast/2/ranks)
			}
			if ranks == 3 {
				sizes = append(sizes, mergeLong/2/ranks+mergeAlign+20)
			}
			for _, n := range sizes {
				for _, to := range []transport.Merged{transport.ToAll, transport.ToRoot, transport.ToBlocks, transport.ToAll} {
					seq++
					transporttest.MergeAll(t, all, to, seq, n/ranks&^3*ranks)
				}
				seq++
				h := transport.Header{Seq: uint64(seq), Len: 3}
				if err := all[0].Post(1, &h, []byte("abc")); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 3)
				if err := all[1].Recv(0, &h, &transport.Sink{Into: got}); err != nil || string(got) != "abc" {
					t.Fatalf("message %d: %q, %v", seq, got, err)
				}
			}
		})
	}
}

// Long vectors whose results are apart go to the loop that stores past the caches, all of a rank's block and nothing else; what it
// does not do is done as ever.
func TestMergeDirectly(t *testing.T) {
	const ranks, n = 2, mergePast / 2
	for _, does := range []bool{true, false} {
		all := group(ranks)
		vectors, want := transporttest.Vectors(ranks, n)
		var stored atomic.Int64
		past := func(into, of [][]byte) bool {
			if len(into) != ranks || len(of) != ranks {
				t.Errorf("%d vectors to %d", len(of), len(into))
			}
			if does {
				stored.Add(int64(len(into[0])))
				for _, v := range into {
					transporttest.Sum(v, of[0], of[1])
				}
			}
			return does
		}
		var both sync.WaitGroup
		for r := range ranks {
			both.Go(func() {
				m := mergeOf(vectors[r], transporttest.Sum, nobody)
				m.Past = past
				if err := all[r].Merge(m); err != nil || !bytes.Equal(m.Out, want) {
					t.Errorf("rank %d, %t: %v, or another sum", r, does, err)
				}
			})
		}
		both.Wait()
		if expect := map[bool]int64{true: n}[does]; stored.Load() != expect {
			t.Errorf("%d bytes were stored past the caches, not %d", stored.Load(), expect)
		}
	}
}

// Whoever merges is told of one that is at something else, and that one of what was lent to it, unless it was taken back
// before.
func TestMergeMeetsAMessage(t *testing.T) {
	all := group(2)
	vectors, _ := transporttest.Vectors(2, 2*mergeLeast)
	var merged, received error
	within(t, "a merge beside a message", func() {
		var both sync.WaitGroup
		both.Go(func() {
			on := -1
			merged = all[0].Merge(mergeOf(vectors[0], transporttest.Sum, func(r int) { on = r }))
			if on != 1 {
				t.Errorf("rank %d is to blame, not 1", on)
			}
			all[1].Interrupt(errOver)
		})
		both.Go(func() {
			h := transport.Header{Seq: 7, Len: 3}
			if err := all[1].Post(0, &h, []byte("abc")); err != nil {
				t.Error(err)
			}
			received = all[1].Recv(0, &h, &transport.Sink{Into: make([]byte, 3)})
		})
		both.Wait()
	})
	var m *transport.Mismatch
	if !errors.As(merged, &m) || m.Got.Seq != 7 {
		t.Errorf("the merge: %v", merged)
	}
	if !errors.As(received, &m) && !errors.Is(received, errOver) {
		t.Errorf("the message: %v", received)
	}
}

// A rank that leaves, or never comes and leaves, is the one to blame.
func TestMergeWithoutARank(t *testing.T) {
	all := group(3)
	vectors, _ := transporttest.Vectors(3, 3*mergeLeast)
	within(t, "a merge without a rank", func() {
		var both sync.WaitGroup
		for r := range 2 {
			both.Go(func() {
				on := -1
				err := all[r].Merge(mergeOf(vectors[r], transporttest.Sum, func(r int) { on = r }))
				if !errors.Is(err, transport.ErrLeft) || on != 2 {
					t.Errorf("rank %d: rank %d is to blame for %v", r, on, err)
				}
			})
		}
		time.Sleep(20 * time.Millisecond) // both sleep
		all[2].Close()
		both.Wait()
	})
}

// A rank that is interrupted while it combines, and those that are interrupted since, have their vectors back:
// nothing is read or written when Merge has returned. Who is told of no error has the whole result.
func TestMergeInterrupted(t *testing.T) {
	const ranks, n = 4, 2 << 20
	for at := range int32(6) {
		all := group(ranks)
		vectors, want := transporttest.Vectors(ranks, n)
		var calls atomic.Int32
		combine := func(into, a, b []byte) {
			if calls.Add(1) == 1+at*50 {
				all[1].Interrupt(errOver)
			}
			transporttest.Sum(into, a, b)
		}
		within(t, "an interrupted merge", func() {
			var both sync.WaitGroup
			for r, e := range all {
				both.Go(func() {
					m := mergeOf(vectors[r], combine, nobody)
					err := e.Merge(m)
					in, out := bytes.Clone(m.In), bytes.Clone(m.Out)
					if r == 1 {
						if !errors.Is(err, errOver) {
							t.Errorf("rank %d: %v", r, err)
						}
						time.Sleep(5 * time.Millisecond)
						for _, other := range all {
							other.Interrupt(errOver)
						}
					} else if err != nil && !errors.Is(err, errOver) {
						t.Errorf("rank %d: %v", r, err)
					}
					if err == nil && !bytes.Equal(out, want) {
						t.Errorf("rank %d takes a part for the whole result", r)
					}
					time.Sleep(10 * time.Millisecond)
					if !bytes.Equal(in, m.In) || !bytes.Equal(out, m.Out) {
						t.Errorf("rank %d: its vectors were written when it had them back", r)
					}
				})
			}
			both.Wait()
		})
	}
}

// Vectors that are taken back before they are read make their rank the one to blame, whom the call then waits for
// until it is interrupted; others get theirs back.
func TestMergeOfVectorTakenBack(t *testing.T) {
	all := group(4)
	vectors, _ := transporttest.Vectors(4, 4*mergeLeast)
	h := transport.Header{Seq: 1, Len: 4 * mergeLeast}
	for r := 1; r < 4; r++ {
		if err := all[r].w.lanes[r][0].lend(&h, vectors[r], make([]byte, len(vectors[r])), all[r].stop); err != nil {
			t.Fatal(err)
		}
	}
	on, asked := -1, 0
	m := mergeOf(vectors[0], transporttest.Sum, nil)
	m.On = func(r int) {
		on = r
		if asked++; asked == 6 { // three were lent to, and the others' but the last one's have come
			all[2].w.lanes[2][0].revoke()
			time.AfterFunc(20*time.Millisecond, func() { all[0].Interrupt(errOver) })
		}
	}
	within(t, "a merge of vectors that are taken back", func() {
		if err := all[0].Merge(m); !errors.Is(err, errOver) || !errors.Is(err, errRevoked) || on != 2 {
			t.Errorf("rank %d is to blame for %v", on, err)
		}
	})
	if state := all[1].w.lanes[1][0].slots[0].state.Load(); state != broken {
		t.Errorf("rank 1's vectors are in state %d", state)
	}
}
