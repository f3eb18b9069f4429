package gang

import (
	"context"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
)

// The start listens where other machines reach this one, on an interface that the environment allows.
func TestAnyMachine(t *testing.T) {
	at, err := tcp.Address()
	require.NoError(t, err)
	for interfaces, want := range map[string]string{"": at.String(), "=lo": "127.0.0.1"} {
		if interfaces != "" && !hasLo() {
			continue // other systems call it otherwise
		}
		t.Setenv("VOLLEY_SOCKET_IFNAME", interfaces)
		g, err := Start(bounded(t), Invited(), Options{Workers: 1, Host: AnyMachine})
		require.NoError(t, err)
		text, err := g.Invitation(0)
		require.NoError(t, err)
		v, err := invited(text)
		require.NoError(t, err)
		host, _, err := net.SplitHostPort(v.host)
		require.NoError(t, err)
		require.Equal(t, want, host)
		require.NoError(t, g.Stop(context.Background()))
	}
	t.Setenv("VOLLEY_SOCKET_IFNAME", "=none-of-this-name")
	_, err = Start(bounded(t), Invited(), Options{Workers: 1, Host: AnyMachine})
	require.ErrorIs(t, err, device.ErrUnavailable)
	require.ErrorContains(t, err, "none-of-this-name")
}

func hasLo() bool {
	_, err := net.InterfaceByName("lo")
	return err == nil
}

// Processes of workers that somebody else starts share the processors of their machine, while they are workers, and those of several machines do not.
func TestSharedProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	self, err := os.Executable()
	require.NoError(t, err)
	for machine, want := range map[string]int{"": 4, "another": 8} {
		g, err := Start(bounded(t), Invited(), Options{Workers: 2})
		require.NoError(t, err)
		text, err := g.Invitation(1)
		require.NoError(t, err)
		other := exec.Command(self)
		other.Env = append(os.Environ(), Variable+"="+text, "VOLLEY_MACHINE="+machine, "GOMAXPROCS=6")
		require.NoError(t, other.Start())
		text, err = g.Invitation(0)
		require.NoError(t, err)
		w, err := EnterAs(bounded(t), text)
		require.NoError(t, err)
		require.Equal(t, want, processors.Count())
		served := make(chan error, 1)
		go func() { served <- w.Serve(context.Background()) }()
		require.Equal(t, []any{int64(want), int64(want * 6 / 8)}, results(t, g, "threads"))
		require.NoError(t, g.Stop(context.Background()))
		require.NoError(t, <-served)
		require.NoError(t, w.Close())
		require.NoError(t, other.Wait())
		require.Equal(t, 8, processors.Count())
	}
	g := start(t, program(t), Options{Workers: 2, Env: []string{"GOMAXPROCS=6", processors.Variable + "=5"}})
	require.Equal(t, []any{int64(5), int64(5)}, results(t, g, "threads")) // what was said holds
}
