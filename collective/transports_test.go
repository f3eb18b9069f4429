package collective

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
)

// transports open the endpoints of n ranks of this process.
var transports = available()

func available() map[string]func(t testing.TB, n int) []transport.Endpoint {
	all := map[string]func(t testing.TB, n int) []transport.Endpoint{
		"inproc": func(_ testing.TB, n int) []transport.Endpoint { return inproc.New(n) },
		"tcp":    openTCP,
	}
	if runtime.GOOS == "linux" {
		all["shm"], all["mixed"] = openShm, openMixed
	}
	return all
}

var groups atomic.Int64

func openShm(t testing.TB, n int) []transport.Endpoint {
	name := fmt.Sprint(t.Name(), time.Now().UnixNano(), groups.Add(1))
	return meet(t, n, func(ctx context.Context, r int) (transport.Endpoint, error) { return shm.Join(ctx, name, r, n) })
}

// openMixed has two machines, on which the ranks take turns.
func openMixed(t testing.TB, n int) []transport.Endpoint {
	return mixedOn(t, strings.Repeat("ab", n)[:n])
}

// mixedOn opens the endpoints of ranks on the machines named by the letters.
func mixedOn(t testing.TB, machines string) []transport.Endpoint {
	place := "file://" + filepath.Join(t.TempDir(), "meeting")
	return meet(t, len(machines), func(ctx context.Context, r int) (transport.Endpoint, error) {
		w := rendezvous.World{Rank: r, Size: len(machines), LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Node: rendezvous.Unknown, Address: place}
		return mixed.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Machine: machines[r : r+1]})
	})
}

func openTCP(t testing.TB, n int) []transport.Endpoint {
	place := "file://" + filepath.Join(t.TempDir(), "meeting")
	return meet(t, n, func(ctx context.Context, r int) (transport.Endpoint, error) {
		w := rendezvous.World{Rank: r, Size: n, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Node: rendezvous.Unknown, Address: place}
		return tcp.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0"})
	})
}

// split makes endpoints of all ranks out of endpoints.
func split(t testing.TB, ends []transport.Endpoint, name string) []transport.Endpoint {
	members := make([]int, len(ends))
	for r := range members {
		members[r] = r
	}
	return meet(t, len(ends), func(ctx context.Context, r int) (transport.Endpoint, error) { return ends[r].Split(ctx, name, members) })
}

func meet(t testing.TB, n int, join func(ctx context.Context, rank int) (transport.Endpoint, error)) []transport.Endpoint {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, errs := make([]transport.Endpoint, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() { ends[r], errs[r] = join(ctx, r) })
	}
	all.Wait()
	for r, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
	return ends
}
