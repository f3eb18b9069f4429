package tcp

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/secret"
)

func guardOf(t *testing.T, key []byte) *secret.Guard {
	t.Helper()
	g, err := secret.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Ranks meet at a port of either family.
func TestJoinAtPort(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		address := "tcp://" + ln.Addr().String()
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		var all sync.WaitGroup
		for r := range 3 {
			all.Go(func() {
				e, err := Join(ctx, rendezvous.World{Rank: r, Size: 3, LocalRank: -1, LocalSize: -1, Address: address}, Options{})
				if err != nil {
					t.Errorf("%s: rank %d: %v", host, r, err)
					return
				}
				if at := e.(*endpoint).cards[r].Addresses; len(at) != 1 || !strings.HasPrefix(at[0], net.JoinHostPort(host, "")) {
					t.Errorf("%s: it listens at %v", host, at)
				}
				if err := ring(e, r, 3); err != nil {
					t.Errorf("%s: rank %d: %v", host, r, err)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

func TestJoinRefuses(t *testing.T) {
	two := rendezvous.World{Size: 2, LocalRank: -1, LocalSize: -1, Address: "tcp://127.0.0.1:1"}
	for _, c := range []struct {
		w    rendezvous.World
		o    Options
		want string
	}{
		{two, Options{Connections: 1}, "1 connections"},
		{two, Options{Connections: 18}, "18 connections"},
		{two, Options{Secret: []byte("short")}, "5 bytes"},
		{two, Options{Interfaces: "no-such"}, `no address on an interface that "no-such" allows`},
		{rendezvous.World{Rank: 2, Size: 2, Address: two.Address}, Options{}, "rank 2 of 2"},
	} {
		_, err := Join(within(t, limit), c.w, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
}

// A rank that waits in vain says for whom; under load even its own preparations may
// take longer than the context.
func TestJoinAlone(t *testing.T) {
	w := rendezvous.World{Rank: 1, Size: 2, LocalRank: -1, LocalSize: -1, Address: "tcp://127.0.0.1:1"}
	var err error
	for d := 100 * time.Millisecond; d < limit; d *= 4 {
		if _, err = Join(within(t, d), w, Options{}); err == nil || strings.Contains(err.Error(), "rank 0 did not come") {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "rank 0 did not come") {
		t.Errorf("%v", err)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Ranks that want different numbers of connections are told.
func TestJoinDisagrees(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	address := "file://" + t.TempDir() + "/meeting"
	var all sync.WaitGroup
	for r := range 2 {
		all.Go(func() {
			w := rendezvous.World{Rank: r, Size: 2, LocalRank: -1, LocalSize: -1, Address: address}
			if _, err := Join(ctx, w, Options{Connections: 2 + r, Interfaces: "=lo,=lo0"}); err == nil || !strings.Contains(err.Error(), "connections with each other") {
				t.Errorf("rank %d: %v", r, err)
			}
		})
	}
	all.Wait()
}

func TestAlone(t *testing.T) {
	e, err := Join(context.Background(), rendezvous.World{Size: 1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Post(0, &transport.Header{}, nil); err == nil {
		t.Error("a rank sends to itself")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	addrs := func(list ...string) (all []netip.Addr) {
		for _, a := range list {
			all = append(all, netip.MustParseAddr(a))
		}
		return all
	}
	all := []device{
		{"lo", true, addrs("127.0.0.1", "::1")},
		{"eth0", false, addrs("fd00::2", "10.0.0.2", "fe80::1")},
		{"eth01", false, addrs("10.1.0.2")},
		{"docker0", false, addrs("172.17.0.1")},
	}
	for _, c := range []struct {
		spec, route string
		want        []netip.Addr
	}{
		{"", "", addrs("10.0.0.2", "10.1.0.2", "fd00::2")},
		{"", "10.1.0.2", addrs("10.1.0.2", "10.0.0.2", "fd00::2")},
		{"", "127.0.0.1", addrs("127.0.0.1")},
		{"eth0", "", addrs("10.0.0.2", "10.1.0.2", "fd00::2")},
		{"=eth0", "127.0.0.1", addrs("10.0.0.2", "fd00::2")},
		{"=eth01,docker", "", addrs("10.1.0.2")},
		{"docker,eth01", "", addrs("10.1.0.2", "172.17.0.1")},
		{"^eth,docker", "", addrs("127.0.0.1", "::1")},
		{"^=eth0", "", addrs("10.1.0.2", "172.17.0.1")},
		{"lo", "", addrs("127.0.0.1", "::1")},
		{"^lo,docker", "fd00::2", addrs("fd00::2", "10.0.0.2", "10.1.0.2")},
	} {
		var route netip.Addr
		if c.route != "" {
			route = netip.MustParseAddr(c.route)
		}
		if got, err := choose(c.spec, route, all); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q by %s: %v, %v; want %v", c.spec, c.route, got, err, c.want)
		}
	}
	for spec, want := range map[string]string{"": "10.0.0.2", "=eth01": "10.1.0.2", "lo": "127.0.0.1", "^eth,docker": "127.0.0.1"} { // before anybody has come
		if got, err := first(spec, all); err != nil || got.String() != want {
			t.Errorf("the first of %q: %v, %v; want %s", spec, got, err, want)
		}
	}
	if got, err := first("", all[:1]); err != nil || !got.IsLoopback() {
		t.Errorf("a machine alone: %v, %v", got, err)
	}
	if got, err := first("wlan", all); err == nil {
		t.Errorf("no such interface: %v", got)
	}
	if got, err := choose("wlan", netip.Addr{}, all); err == nil || !strings.Contains(err.Error(), "eth01") {
		t.Errorf("no such interface: %v, %v", got, err)
	}
}

func TestInterfacesOfTheEnvironment(t *testing.T) {
	for _, name := range []string{"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "VOLLEY_SOCKET_IFNAME"} { // each goes before those before it
		t.Setenv(name, name)
		var o Options
		if err := o.complete(); err != nil || o.Interfaces != name {
			t.Errorf("%v, %v", o, err)
		}
	}
	o := Options{Interfaces: "eth"}
	if err := o.complete(); err != nil || o.Interfaces != "eth" {
		t.Errorf("%v, %v", o, err)
	}
}

func TestReachable(t *testing.T) {
	here, there := &card{Machine: "a"}, &card{Machine: "b", Addresses: []string{"127.0.0.1:1", "10.0.0.2:1", "[::1]:1"}}
	if got := reachable(here, there); !slices.Equal(got, []string{"10.0.0.2:1"}) {
		t.Errorf("another machine: %v", got)
	}
	if got := reachable(there, there); len(got) != 3 {
		t.Errorf("the same: %v", got)
	}
}

// A rank's machine is what it says, else what the environment says, else the system's.
func TestMachineNames(t *testing.T) {
	t.Setenv("VOLLEY_MACHINE", "")
	for _, c := range [][3]string{{"", "", Machine()}, {"", "rack 7", "rack 7"}, {"own", "rack 7", "own"}} {
		t.Setenv("VOLLEY_MACHINE", c[1])
		o := Options{Machine: c[0]}
		if err := o.complete(); err != nil || o.Machine != c[2] {
			t.Errorf("%q with %q in the environment is %q: %v", c[0], c[1], o.Machine, err)
		}
	}
}
