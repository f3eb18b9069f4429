package collective

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
)

// flushes is an endpoint that keeps count of what it was asked for, and calls begun
// when a message is awaited.
type flushes struct {
	transport.Endpoint
	begun func()
	open  []int // ranks with payloads that were posted and not flushed
}

func (f *flushes) Post(to int, h *transport.Header, payload []byte) error {
	f.open = append(f.open, to)
	return f.Endpoint.Post(to, h, payload)
}

func (f *flushes) Flush(to int) error {
	f.open = slices.DeleteFunc(f.open, func(r int) bool { return r == to })
	return f.Endpoint.Flush(to)
}

func (f *flushes) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	f.begun()
	return f.Endpoint.Recv(from, want, sink)
}

// An operation that fails where it receives takes back what it has sent to others.
func TestFailedOperationTakesBack(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ends := inproc.New(4)
	f := &flushes{Endpoint: ends[0], begun: cancel}
	ends[0] = f
	comms := over(t, ends, quick)
	v := make([]float32, 1000)
	errs := each(t, comms[:1], func(c *Comm) error {
		return c.Exchange(ctx, []Transfer{{Peer: 1, Data: Of(v)}, {Peer: 2, Data: Of(v)}, {Peer: 3, Data: Of(make([]float32, 8)), Recv: true}})
	})
	if !errors.Is(errs[0], device.ErrCanceled) {
		t.Errorf("Exchange: %v", errs[0])
	}
	if len(f.open) > 0 {
		t.Errorf("ranks %v may still read what was sent", f.open)
	}
}

// A rank that does not come to the end of a read, here since its reduction does not
// return, keeps nobody else in the operation: not in the middle of a message, nor at
// its beginning.
func TestReaderThatNeverEnds(t *testing.T) {
	opens := map[string]func(t testing.TB, n int) []transport.Endpoint{"inproc": transports["inproc"]}
	if runtime.GOOS == "linux" {
		opens["shm"] = openShm
	}
	for name, open := range opens {
		for _, at := range []int{0, 20_000} { // the element whose sum hangs
			t.Run(fmt.Sprintf("%s/%d", name, at), func(t *testing.T) { readerThatNeverEnds(t, open(t, 2), at) })
		}
	}
}

func readerThatNeverEnds(t *testing.T, ends []transport.Endpoint, at int) {
	comms := over(t, ends, quick)
	ctx, cancel := context.WithCancel(context.Background())
	resume := make(chan struct{})
	late := make(chan error, 1)
	reduce := func(c *Comm, ctx context.Context, f func(a, b int64) int64) error {
		v := fill[int64](c.Rank(), 64<<10)
		err := c.AllReduce(ctx, Of(v), Of(v), NewOp("slow", true, f))
		clear(v) // its own again, as the race detector sees
		return err
	}
	go func() {
		calls := 0
		late <- reduce(comms[1], context.Background(), func(a, b int64) int64 {
			if calls == at {
				cancel()
				<-resume
			}
			calls++
			return a + b
		})
	}()
	errs := each(t, comms[:1], func(c *Comm) error {
		return reduce(c, ctx, func(a, b int64) int64 { return a + b })
	})
	close(resume)
	errs = append(errs, <-late)
	sameFault(t, errs, []int{0, 1}, Canceled, []int{0})
}
