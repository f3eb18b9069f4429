//go:build unix

package gang

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
)

func lost(t *testing.T, err error, rank int) {
	t.Helper()
	var f *collective.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, []int{rank}, f.Ranks, err)
	require.ErrorIs(t, err, device.ErrLost)
}

// A worker that dies is named by what needed it; the others go on, and the whole gang starts again under a new generation.
func TestDeath(t *testing.T) {
	g := start(t, program(t), Options{Workers: 3})
	kept, err := g.Run(bounded(t), "make", int64(0), int64(10_000))
	require.NoError(t, err)
	old, err := g.Invitation(1)
	require.NoError(t, err)
	began := time.Now()
	_, err = g.Run(bounded(t), "die", 1)
	lost(t, err, 1)
	require.Less(t, time.Since(began), 5*time.Second)
	for rank, ref := range kept { // its references are lost, and nobody else's
		part, err := g.Table(bounded(t), ref)
		if rank == 1 {
			lost(t, err, 1)
			continue
		}
		require.NoError(t, err)
		part.Release()
	}
	_, err = g.Run(bounded(t), "sum")
	lost(t, err, 1)
	lost(t, g.Send(bounded(t), 1, 0, nil), 1)
	_, err = g.Recv(bounded(t), 1, 0)
	lost(t, err, 1)

	require.NoError(t, g.Restart(bounded(t)))
	require.Equal(t, []any{int64(3), int64(3), int64(3)}, results(t, g, "sum"))
	_, err = g.Get(bounded(t), kept[0])
	require.ErrorIs(t, err, ErrStale)
	began = time.Now()
	_, err = EnterAs(bounded(t), old)
	require.ErrorIs(t, err, ErrStale)
	require.Less(t, time.Since(began), quick)
	there, err := g.Invitation(1)
	require.NoError(t, err)
	_, err = EnterAs(bounded(t), there)
	require.ErrorContains(t, err, "rank 1 is there already")
}

// A worker that is killed, or stopped, between calls: the second is noticed when its lease ends.
func TestStruck(t *testing.T) {
	for _, blow := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(blow.String(), func(t *testing.T) {
			g := start(t, program(t), Options{Workers: 2, Lease: time.Second})
			pids := results(t, g, "pid")
			require.NoError(t, syscall.Kill(int(pids[1].(int64)), blow))
			_, err := g.Run(bounded(t), "sum")
			lost(t, err, 1)
			_, err = g.Recv(bounded(t), 1, 3)
			lost(t, err, 1)
			require.NoError(t, g.Send(bounded(t), 0, 3, []byte("x")))
		})
	}
}

// Workers that end, do not come, or cannot be started leave no gang.
func TestNotPlaced(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	_, err = Start(bounded(t), Processes(self), Options{Workers: 3, Env: []string{dies + "=1"}})
	require.ErrorIs(t, err, device.ErrUnavailable)
	require.ErrorContains(t, err, "not placed")
	require.ErrorContains(t, err, "exit status 3")
	_, err = Start(bounded(t), Processes("/no/such/program"), Options{Workers: 2})
	require.ErrorContains(t, err, "rank 0")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = Start(ctx, Processes("sleep", "60"), Options{Workers: 2})
	require.ErrorContains(t, err, "ranks 0 1 did not come")
	require.Less(t, time.Since(began), 100*time.Millisecond+quick)

	g, err := Start(bounded(t), Invited(), Options{Workers: 2})
	require.NoError(t, err)
	one, err := g.Invitation(0)
	require.NoError(t, err)
	entered := make(chan error, 1)
	go func() { _, err := EnterAs(bounded(t), one); entered <- err }()
	ctx, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	err = g.Ready(ctx)
	require.ErrorContains(t, err, "rank 1 did not come")
	require.ErrorContains(t, <-entered, "rank 1 did not come") // who has come is told
	_, err = g.Run(bounded(t), "sum")
	require.ErrorIs(t, err, device.ErrClosed)
}

// Who does not know the key, or is of another gang, is refused.
func TestStrangers(t *testing.T) {
	g, err := Start(bounded(t), Invited(), Options{Workers: 2})
	require.NoError(t, err)
	defer g.Stop(context.Background())
	text, err := g.Invitation(0)
	require.NoError(t, err)
	v, err := invited(text)
	require.NoError(t, err)
	for _, spoil := range []func(v *invitation){
		func(v *invitation) { v.key = []byte("another key of 16") },
		func(v *invitation) { v.run[3]++ },
		func(v *invitation) { v.generation++ },
		func(v *invitation) { v.size++ },
	} {
		w := *v
		spoil(&w)
		_, err := EnterAs(bounded(t), w.String())
		require.ErrorIs(t, err, device.ErrUnavailable)
	}
	conn, err := net.Dial("tcp", v.host)
	require.NoError(t, err)
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// Between machines all is encrypted.
func TestEncrypted(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	host := ""
	for _, a := range addrs {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && !ip.IsLoopback() {
			host = ip.String()
		}
	}
	if host == "" {
		host = "127.0.0.1" // the machine has no other
	}
	g := start(t, program(t), Options{Workers: 2, Host: host})
	require.Equal(t, []any{int64(1), int64(1)}, results(t, g, "sum"))
	require.Equal(t, []any{int64(1), int64(0)}, results(t, g, "ring", 1<<20))
	require.Equal(t, []any{int64(0), int64(1)}, results(t, g, "group", "g", 100_000))
}

// A start that sweeps meets gangs that end.
func TestSweepMeetsEnds(t *testing.T) {
	where := t.TempDir()
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			for n := range 100 {
				f, err := openFolder(where, fmt.Sprintf("%d-%d.1", who, n))
				if err == nil {
					err = f.close()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// Files of generations that have gone are swept by the next start; those of gangs that live stay.
func TestSweep(t *testing.T) {
	folder := t.TempDir()
	mine := start(t, serving(), Options{Workers: 1, Folder: folder})
	dead := filepath.Join(base(folder), strings.Repeat("0", 32)+".7")
	require.NoError(t, os.Mkdir(dead, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dead, "0-1-1.arrow"), []byte("left"), 0o600))
	g := start(t, program(t), Options{Workers: 2, Folder: folder})
	require.NoDirExists(t, dead)
	require.Len(t, folders(t, folder), 2)
	refs, err := g.Run(bounded(t), "make", int64(0), int64(50_000))
	require.NoError(t, err)
	for range 3 {
		all, err := Union(refs...)
		require.NoError(t, err)
		whole, err := g.Table(bounded(t), all)
		require.NoError(t, err)
		consecutive(t, whole, 0, 100_000)
		whole.Release()
	}
	for _, at := range folders(t, folder) {
		files, err := os.ReadDir(at)
		require.NoError(t, err)
		require.Len(t, files, 1, fmt.Sprint(files)) // the lock: who has mapped a table leaves no file
	}
	require.NoError(t, g.Stop(context.Background()))
	require.NoError(t, mine.Stop(context.Background()))
	require.Empty(t, folders(t, folder))
}

func folders(t *testing.T, where string) (found []string) {
	entries, err := os.ReadDir(base(where))
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			found = append(found, filepath.Join(base(where), e.Name()))
		}
	}
	return found
}
