package inproc

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

func several(t *testing.T) {
	t.Helper()
	before := runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// A rank that waits takes parts of another one's work, whether it still looks or sleeps
// already, and its own message comes through after.
func TestWaitingRankHelps(t *testing.T) {
	several(t)
	for _, asleep := range []time.Duration{0, 50 * time.Millisecond} {
		ends := New(2)
		got := make(chan error, 1)
		h := transport.Header{Seq: 1, Len: 8}
		go func() {
			want := h
			got <- ends[1].Recv(0, &want, &transport.Sink{Into: make([]byte, 8)})
		}()
		time.Sleep(asleep)
		const n = 2<<20 + 12
		times := make([]atomic.Int32, n)
		var now atomic.Int32
		two, once := make(chan struct{}), sync.Once{}
		var missed atomic.Bool
		ends[0].(transport.Sharer).Share(n, false, func(from, to int) {
			if from%64 != 0 || from >= to || to > n {
				t.Errorf("a part [%d, %d) of %d", from, to, n)
			}
			if now.Add(1) == 2 {
				once.Do(func() { close(two) })
			}
			if from == 0 { // until another part is being done
				select {
				case <-two:
				case <-time.After(20 * time.Second):
					missed.Store(true)
				}
			}
			for i := from; i < to; i++ {
				times[i].Add(1)
			}
			now.Add(-1)
		})
		if missed.Load() {
			t.Errorf("nobody helps, waiting since %v", asleep)
		}
		for i := range times {
			if times[i].Load() != 1 {
				t.Fatalf("byte %d was done %d times", i, times[i].Load())
			}
		}
		if err := ends[0].Post(1, &h, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Errorf("the message that was waited for: %v", err)
		}
	}
}

// Messages that are shared arrive whole, and each part is combined once; without Apart in
// order and by the receiver alone.
func TestSharedMessages(t *testing.T) {
	several(t)
	for _, n := range []int{sharedLeast - 1, sharedLeast, sharedLeast + 63, 1<<20 + 1, longLeast, 3*longPart + longLeast + 5} {
		for _, apart := range []bool{false, true} {
			ends := New(2)
			payload := make([]byte, n)
			for i := range payload {
				payload[i] = byte(i * 7)
			}
			h := transport.Header{Seq: 1, Len: int64(n)}
			var sender sync.WaitGroup
			sender.Go(func() {
				for range 2 {
					if err := errors.Join(ends[0].Post(1, &h, payload), ends[0].Flush(1)); err != nil {
						t.Error(err)
					}
				}
			})
			into, sum := make([]byte, n), make([]byte, n)
			want := h
			if err := ends[1].Recv(0, &want, &transport.Sink{Into: into}); err != nil {
				t.Fatal(err)
			}
			next := 0
			want = h
			err := ends[1].Recv(0, &want, &transport.Sink{Apart: apart, Combine: func(off int, part []byte) {
				if !apart {
					if off != next {
						t.Errorf("part at %d, not %d", off, next)
					}
					next += len(part)
				}
				for i, x := range part {
					sum[off+i] += x
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			sender.Wait()
			if !bytes.Equal(into, payload) || !bytes.Equal(sum, payload) {
				t.Errorf("%d bytes, apart %v: not what was sent", n, apart)
			}
		}
	}
}

// A helper that is interrupted ends its part and returns; who has shared gets all done.
func TestHelperIsInterrupted(t *testing.T) {
	several(t)
	ends := New(2)
	why := errors.New("enough")
	got := make(chan error, 1)
	go func() {
		got <- ends[1].Recv(0, &transport.Header{Seq: 1, Len: 8}, &transport.Sink{Into: make([]byte, 8)})
	}()
	var done atomic.Int64
	both, inside := make(chan struct{}), atomic.Int32{}
	const n = 2 << 20
	ends[0].(transport.Sharer).Share(n, false, func(from, to int) {
		switch inside.Add(1) {
		case 1:
			select {
			case <-both:
			case <-time.After(20 * time.Second):
				t.Error("nobody helps")
			}
		case 2:
			ends[1].Interrupt(why)
			close(both)
		}
		done.Add(int64(to - from))
	})
	if err := <-got; !errors.Is(err, why) {
		t.Errorf("the rank that waited: %v", err)
	}
	if done.Load() != n {
		t.Errorf("%d of %d bytes are done", done.Load(), n)
	}
}

// Where there is one processor, or one rank, nobody else does anything.
func TestShareAlone(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	ends := New(2)
	runtime.GOMAXPROCS(max(2, before)) // so that a helper could run
	defer runtime.GOMAXPROCS(before)
	got := make(chan error, 1)
	h := transport.Header{Seq: 1}
	go func() {
		want := h
		got <- ends[1].Recv(0, &want, &transport.Sink{})
	}()
	var inside, most atomic.Int32
	ends[0].(transport.Sharer).Share(1<<20, false, func(int, int) {
		most.Store(max(most.Load(), inside.Add(1)))
		time.Sleep(time.Millisecond)
		inside.Add(-1)
	})
	if most.Load() != 1 {
		t.Errorf("%d ranks are at work on one processor", most.Load())
	}
	if err := ends[0].Post(1, &h, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	calls := 0
	New(1)[0].(transport.Sharer).Share(4<<20, true, func(from, to int) {
		if from != 0 || to != 4<<20 {
			t.Errorf("a part [%d, %d)", from, to)
		}
		calls++
	})
	if calls != 1 {
		t.Errorf("%d parts", calls)
	}
}

// Who waits for a rank that has left is told at the first look that gives way: on a busy machine the others take long.
func TestLeftIsSeenBeforeSleep(t *testing.T) {
	w := newWorld(2)
	l := &w.lanes[0][1]
	l.crowd, w.board.processors = 3, 2
	helped := false
	j := &w.board.jobs[0] // work to help with, which every later look finds
	j.length, j.part, j.do = 10, 1, func(int, int) { helped = true }
	j.inside.Store(1)
	w.board.open.Store(1)
	w.left[0].Set(transport.ErrLeft)
	if err := l.reader.wait(&l.slots[0].state, full, l, transport.NewStop()); !errors.Is(err, transport.ErrLeft) {
		t.Errorf("the wait ends with %v", err)
	}
	if helped {
		t.Error("it looked again before it was told")
	}
}
