package tcp

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/processors"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

var testSecret = []byte("known to the ranks of these tests")

// meetings are the kinds of addresses that need no launcher.
var meetings = []string{"file", "tcp"}

// meetingAt is an address where nobody met yet.
func meetingAt(t testing.TB, kind string) string {
	t.Helper()
	if kind == "file" {
		return "file://" + filepath.Join(t.TempDir(), "meeting")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "tcp://" + ln.Addr().String()
}

// open makes the endpoints of n ranks in one process.
func open(t testing.TB, n int, o Options) []*endpoint {
	t.Helper()
	return openAt(t, meetingAt(t, "file"), n, o)
}

func openAt(t testing.TB, address string, n int, o Options) []*endpoint {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
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

// Ranks look again only where each of those on their machine has a processor.
func TestLooks(t *testing.T) {
	all := make([]card, processors.Count+2)
	for r := range all {
		all[r].Machine = "a"
	}
	all[0].Machine = "b"
	if often := looksAmong(all, "a"); often != crowded {
		t.Errorf("%d ranks on %d processors look %+v", len(all)-1, processors.Count, often)
	}
	for own, some := range map[string][]card{"a": all[:processors.Count+1], "b": all} {
		if often := looksAmong(some, own); often != patient {
			t.Errorf("of %d ranks those on machine %s look %+v", len(some), own, often)
		}
	}
}
