package shm

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

var groups atomic.Int64

// group joins the ranks of a new group in this process.
func group(t *testing.T, n int) []transporttest.End {
	t.Helper()
	name := fmt.Sprintf("%s %d %d", t.Name(), time.Now().UnixNano(), groups.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends := make([]transporttest.End, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() { ends[r].Endpoint, errs[r] = Join(ctx, name, r, n) })
	}
	all.Wait()
	for r, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
	return ends
}

func TestTransport(t *testing.T) { transporttest.Run(t, group) }

// The same where no rank may read another's memory.
func TestThroughChunks(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
		ends := group(t, n)
		for _, e := range ends {
			own := e.Endpoint.(*endpoint)
			own.seg.rank(own.rank).noread.Store(1)
		}
		return ends
	})
}

// A lane counts its messages in 32 bits: the count may pass over.
func TestCountPassesOver(t *testing.T) {
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	l := a.seg.lane(0, 1)
	from := ^uint32(0) - 20
	a.lanes[1].posted, a.lanes[1].freed, b.lanes[0].read = from, from, from
	l.done.Store(from)
	for k := from - depth; k != from; k++ {
		l.slots[k%depth].flag.Store(k + 1)
	}
	for i := range 64 {
		long := make([]byte, inline+i) // read in place from the second on
		long[0], long[len(long)-1] = byte(i), byte(i)
		h := &transport.Header{Seq: 1, Step: uint32(i), Len: int64(len(long))}
		if err := a.Post(1, h, long); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(long))
		if err := b.Recv(0, h, &transport.Sink{Into: got}); err != nil {
			t.Fatal(err)
		}
		if err := a.Flush(1); err != nil {
			t.Fatal(err)
		}
		if got[0] != byte(i) || got[len(got)-1] != byte(i) {
			t.Fatalf("message %d: %v, %v", i, got[0], got[len(got)-1])
		}
	}
}

// What lanes may hold at a time is bounded however many ranks there are, and never less than
// the least that a transport promises.
func TestLanesHold(t *testing.T) {
	for n := 2; n <= 64; n++ {
		for _, crowded := range []bool{false, true} {
			d, m := int(depthFor(n, crowded)), mediumFor(n, crowded)
			if d < depth || d > deepest || d&(d-1) != 0 || d > depth && d*n > crowdSlots {
				t.Errorf("%d ranks, crowded %v: %d slots", n, crowded, d)
			}
			if m < ringAlways || 9*m > room || m > crowdMedium && m*n*n > crowdRings {
				t.Errorf("%d ranks, crowded %v: %d bytes in the ring", n, crowded, m)
			}
		}
	}
	if d, m := depthFor(4, true), mediumFor(4, true); d != 256 || m != 256<<10 {
		t.Errorf("4 ranks that share processors: %d slots, messages of %d bytes", d, m)
	}
}
