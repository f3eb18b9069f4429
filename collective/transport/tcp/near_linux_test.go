package tcp

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// Connections between ranks of one machine, encrypted ones too, are not paced, whatever
// the system's default is.
func TestNear(t *testing.T) {
	for _, e := range append(open(t, 2, Options{}), open(t, 2, Options{Secret: testSecret})...) {
		p := e.peers[1-e.Rank()]
		for i, l := range append([]*link{p.notes}, p.data...) {
			raw, err := socketOf(l.conn).(*net.TCPConn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			var name string
			var failed error
			if err := raw.Control(func(fd uintptr) {
				name, failed = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
			}); err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			if name != unpaced {
				t.Errorf("connection %d of rank %d goes by %q", i, e.Rank(), name)
			}
		}
	}
}

func TestSameHost(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	for _, c := range []struct {
		own, other string
		same       bool
	}{
		{"127.0.0.1", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.2", true}, {"::1", "::1", true},
		{"10.0.0.1", "10.0.0.1", true}, {"10.0.0.1", "10.0.0.2", false}, {"fe80::1", "fe80::2", false},
	} {
		if got := sameHost(at(c.own), at(c.other)); got != c.same {
			t.Errorf("%s and %s: %v", c.own, c.other, got)
		}
	}
}
