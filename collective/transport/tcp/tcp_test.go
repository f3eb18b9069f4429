package tcp

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

var testSecret = []byte("known to the ranks of these tests")

// open makes the endpoints of n ranks in one process.
func open(t testing.TB, n int, o Options) []*endpoint {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	address := "file://" + filepath.Join(t.TempDir(), "meeting")
	ends, errs := make([]*endpoint, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() {
			own := o
			own.Interfaces = "=lo,=lo0"
			e, err := Join(ctx, rendezvous.World{Rank: r, Size: n, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Address: address}, own)
			if errs[r] = err; err == nil {
				ends[r] = e.(*endpoint)
			}
		})
	}
	all.Wait()
	for r, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
	t.Cleanup(func() {
		for _, e := range ends {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return ends
}

// kill ends a rank's connections as the end of its process does.
func (e *endpoint) kill() {
	for _, p := range e.peers {
		if p == nil {
			continue
		}
		for _, l := range append([]*link{p.notes}, p.data...) {
			_ = socketOf(l.conn).Close()
		}
	}
}

func suite(o Options) func(t *testing.T) {
	return func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
			ends := make([]transporttest.End, n)
			for r, e := range open(t, n, o) {
				ends[r] = transporttest.End{Endpoint: e, Kill: e.kill}
			}
			return ends
		})
	}
}

func TestTransport(t *testing.T) {
	t.Run("Plain", suite(Options{}))
	t.Run("Striped", suite(Options{Connections: 4}))
	t.Run("Secret", suite(Options{Secret: testSecret}))
}
