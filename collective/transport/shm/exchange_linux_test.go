package shm

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/volley-go/volley/collective/transport"
)

func header(seq uint64, n int) transport.Header { return transport.Header{Seq: seq, Len: int64(n)} }

func sinkOf(into []byte) *transport.Sink { return &transport.Sink{Into: into} }

// exchanging has both of two ranks send each other n bytes so many times, which change as soon as the exchange
// is over, and gives the ways that each took.
func exchanging(t *testing.T, a, b *endpoint, seq *uint64, n, times int) (ways [2][]uint8) {
	t.Helper()
	var both sync.WaitGroup
	for r, e := range []*endpoint{a, b} {
		first := *seq
		both.Go(func() {
			sent, got := make([]byte, n), make([]byte, n)
			for i := range times {
				copy(sent, long(n, int(first)+i+r))
				h := header(first+uint64(i), n)
				want := h
				flush := e.Exchange(n)
				ways[r] = append(ways[r], e.exchange.way)
				e.Expect(1-r, &want, got)
				err := e.Post(1-r, &h, sent)
				err = errors.Join(err, e.Recv(1-r, &want, sinkOf(got)))
				if flush || n > e.Eager() {
					err = errors.Join(err, e.Flush(1-r))
				}
				e.Exchanged()
				clear(sent)
				if err != nil || !bytes.Equal(got, long(n, int(first)+i+1-r)) {
					t.Errorf("exchange %d of %d bytes: rank %d got something else, or: %v", i, n, r, err)
					return
				}
			}
		})
	}
	both.Wait()
	*seq += uint64(times)
	return ways
}

// Both ranks try both ways at the same exchanges, and then go the one that rank 0 finds to take less, but
// for a block now and then.
func TestExchangesGoOneWay(t *testing.T) {
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	t.Cleanup(func() { a.Close(); b.Close() })
	if !a.exchange.open {
		t.Log("ranks do not read each other's memory here")
		return
	}
	const n = 64 << 10
	seq := uint64(1)
	trial := exchanging(t, a, b, &seq, n, exchangeBlock*(ringTries+directTries))
	want := append(slices.Repeat([]uint8{roundabout}, exchangeBlock*ringTries), slices.Repeat([]uint8{directly}, exchangeBlock*directTries)...)
	if !slices.Equal(trial[0], want) || !slices.Equal(trial[1], want) {
		t.Errorf("the first exchanges went by %v and %v", trial[0], trial[1])
	}
	for _, ring := range []bool{true, false, true} {
		past := &a.exchange.past[classOf(n)]
		past.ring, past.place = 1, 1e15
		way := roundabout
		if !ring {
			past.ring, past.place, way = 1e15, 1, directly
		}
		exchanging(t, a, b, &seq, n, 2*exchangeBlock)
		for r, ways := range exchanging(t, a, b, &seq, n, exchangeBlock*exchangeAgain) {
			other := 0
			for _, w := range ways {
				if w != way {
					other++
				}
			}
			if other > 2*exchangeBlock {
				t.Errorf("rank %d went another way than %d in %d of %d exchanges", r, way, other, len(ways))
			}
		}
	}
	for _, short := range []int{1, ringAlways, longest + 1} {
		for _, w := range exchanging(t, a, b, &seq, short, 3)[0] {
			if w != byLength {
				t.Errorf("an exchange of %d bytes goes way %d", short, w)
			}
		}
	}
}

// Nothing is read in place where one rank may not.
func TestExchangeWithoutReads(t *testing.T) {
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	t.Cleanup(func() { a.Close(); b.Close() })
	a.exchange.open, b.exchange.open = false, false
	a.seg.rank(1).noread.Store(1)
	seq := uint64(1)
	ways := exchanging(t, a, b, &seq, 128<<10, 20)
	for _, w := range slices.Concat(ways[:]...) {
		if w != byLength {
			t.Errorf("an exchange goes way %d", w)
		}
	}
}
