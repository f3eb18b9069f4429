package faultinject

import (
	"errors"
	"runtime"
	"testing"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// Without events endpoints keep the contract of those under them.
func TestTransport(t *testing.T) {
	for name, open := range map[string]func(n int) ([]transport.Endpoint, error){
		"inproc": func(n int) ([]transport.Endpoint, error) { return inproc.New(n), nil },
		"shm":    func(n int) ([]transport.Endpoint, error) { return meet(n, overMemory()) },
	} {
		if name == "shm" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
				plain, err := open(n)
				if err != nil {
					t.Fatal(err)
				}
				wrapped, _ := Wrap(plain)
				ends := make([]transporttest.End, n)
				for r, e := range wrapped {
					ends[r] = transporttest.End{Endpoint: e}
				}
				return ends
			})
		})
	}
}

// What was posted and not received when an operation is interrupted is taken back: its sender may change it.
func TestFlushTakesBack(t *testing.T) {
	ends, _ := Wrap(inproc.New(2))
	h, enough := transport.Header{Seq: 1, Len: 4}, errors.New("enough")
	if err := ends[0].Post(1, &h, []byte{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	ends[0].Interrupt(enough)
	if err := ends[0].Flush(1); !errors.Is(err, enough) {
		t.Errorf("Flush after the interruption: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		want := h
		got <- ends[1].Recv(0, &want, &transport.Sink{Into: make([]byte, 4)})
	}()
	if err := ends[0].Close(); err != nil { // behind what has come
		t.Error(err)
	}
	if err := <-got; !errors.Is(err, transport.ErrLeft) {
		t.Errorf("the message that was taken back: %v", err)
	}
	if err := ends[1].Close(); err != nil {
		t.Error(err)
	}
}

// What endpoints can do beside messages is neither lost nor made up.
func TestWays(t *testing.T) {
	for name, open := range transports(t.TempDir()) {
		plain, err := open()
		if err != nil {
			t.Fatal(err)
		}
		wrapped, _ := Wrap(plain)
		for r, e := range wrapped {
			of := func(e transport.Endpoint) (ways [4]bool, eager int) {
				_, ways[0] = e.(transport.Sharer)
				_, ways[1] = e.(transport.Expecter)
				_, ways[2] = e.(transport.Exchanger)
				_, ways[3] = e.(transport.Merger)
				if x, ok := e.(transport.Eager); ok {
					eager = x.Eager()
				}
				return ways, eager
			}
			got, eager := of(e)
			want, least := of(plain[r])
			if want[3] = true; got != want || eager != least { // Merges says that there are none
				t.Errorf("%s: %v and %d, not %v and %d", name, got, eager, want, least)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A message without payload that is corrupted is another one over every transport.
func TestCorruptEmpty(t *testing.T) {
	for name, open := range transports(t.TempDir()) {
		plain, err := open()
		if err != nil {
			t.Fatal(err)
		}
		ends, _ := Wrap(plain, Event{Rank: 0, Kind: Corrupt})
		h, want := transport.Header{Seq: 1}, transport.Header{Seq: 1}
		got := make(chan error, 1)
		go func() { got <- ends[1].Recv(0, &want, &transport.Sink{}) }()
		if err := ends[0].Post(1, &h, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = ends[0].Flush(1) // which may say that the receiver wants no more
		var other *transport.Mismatch
		if err := <-got; !errors.As(err, &other) {
			t.Errorf("%s: the message comes with %v", name, err)
		}
		if h != (transport.Header{Seq: 1}) {
			t.Errorf("%s: the sender's header is changed: %+v", name, h)
		}
		for _, e := range ends {
			_ = e.Close()
		}
	}
}
