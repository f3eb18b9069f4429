//go:build unix

package tcp

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
)

// echoVariable makes the test binary the other process of a ping-pong: "kind address".
const echoVariable = "VOLLEY_TEST_ECHO"

func TestMain(m *testing.M) {
	if what := os.Getenv(echoVariable); what != "" {
		if err := echoProcess(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pong is one side of a ping-pong.
type pong interface {
	send(p []byte) error
	receive(p []byte) error
}

// socket is what there is to reach: blocking calls on a socket.
type socket struct {
	fd   int
	file *os.File // closes it when it is collected
}

func (s socket) send(p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Write(s.fd, p)
		if err != nil && err != syscall.EINTR {
			return err
		}
		p = p[max(n, 0):]
	}
	return nil
}

func (s socket) receive(p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Read(s.fd, p)
		if err != nil && err != syscall.EINTR {
			return err
		}
		if n == 0 {
			return io.EOF
		}
		p = p[max(n, 0):]
	}
	return nil
}

func blockingSocket(c net.Conn) (socket, error) {
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return socket{}, err
	}
	fd := int(f.Fd())
	return socket{fd, f}, syscall.SetNonblock(fd, false)
}

// lane is an endpoint of two.
type lane struct {
	e         transport.Endpoint
	out, into uint64
}

func (l *lane) send(p []byte) error {
	l.out++
	return l.e.Post(1-l.e.Rank(), &transport.Header{Seq: l.out, Len: int64(len(p))}, p)
}

func (l *lane) receive(p []byte) error {
	l.into++
	if err := l.e.Recv(1-l.e.Rank(), &transport.Header{Seq: l.into, Len: int64(len(p))}, &transport.Sink{Into: p}); err != nil {
		return err
	}
	return l.e.Flush(1 - l.e.Rank()) // of what was sent before it
}

// echo gives back what comes: a length and a count, then as many messages.
func echo(p pong) error {
	for {
		var order [16]byte
		if err := p.receive(order[:]); err != nil {
			return err
		}
		buf := make([]byte, binary.LittleEndian.Uint64(order[:]))
		for range binary.LittleEndian.Uint64(order[8:]) {
			if err := p.receive(buf); err != nil {
				return err
			}
			if err := p.send(buf); err != nil {
				return err
			}
		}
	}
}

func pingPong(b *testing.B, p pong, size int) {
	var order [16]byte
	binary.LittleEndian.PutUint64(order[:], uint64(size))
	binary.LittleEndian.PutUint64(order[8:], uint64(b.N))
	buf := make([]byte, size)
	if err := p.send(order[:]); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if err := p.send(buf); err != nil {
			b.Fatal(err)
		}
		if err := p.receive(buf); err != nil {
			b.Fatal(err)
		}
	}
	oneWay := b.Elapsed().Seconds() / float64(2*b.N)
	b.ReportMetric(oneWay*1e6, "µs/way")
	b.ReportMetric(float64(size)/oneWay/1e9, "GB/s")
}

func joinTwo(rank int, address string) (*lane, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e, err := Join(ctx, rendezvous.World{Rank: rank, Size: 2, LocalRank: rank, LocalSize: 2, Address: address}, Options{Interfaces: "=lo,=lo0"})
	return &lane{e: e}, err
}

func echoProcess(what string) error {
	var kind, address string
	if _, err := fmt.Sscan(what, &kind, &address); err != nil {
		return err
	}
	if kind == "raw" {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		s, err := blockingSocket(c)
		if err != nil {
			return err
		}
		_ = echo(s) // until the other side goes
		return nil
	}
	l, err := joinTwo(1, address)
	if err != nil {
		return err
	}
	_ = echo(l) // until the other side goes
	return l.e.Close()
}

// BenchmarkPingPong measures one way of messages that go to and fro: over blocking
// sockets (raw) and over the transport, between processes and between goroutines.
func BenchmarkPingPong(b *testing.B) {
	for _, where := range []string{"processes", "goroutines"} {
		other := func(b *testing.B, what string) (wait func()) {
			if where == "goroutines" {
				done := make(chan error, 1)
				go func() { done <- echoProcess(what) }()
				return func() {
					if err := <-done; err != nil {
						b.Error(err)
					}
				}
			}
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), echoVariable+"="+what)
			c.Stderr = os.Stderr
			if err := c.Start(); err != nil {
				b.Fatal(err)
			}
			return func() {
				if err := c.Wait(); err != nil {
					b.Error(err)
				}
			}
		}
		for _, size := range []int{8, 4 << 10, 64 << 10, 1 << 20, 64 << 20} {
			b.Run(fmt.Sprintf("where=%s/size=%d/way=raw", where, size), func(b *testing.B) { rawPingPong(b, size, other) })
			b.Run(fmt.Sprintf("where=%s/size=%d/way=tcp", where, size), func(b *testing.B) {
				address := "file://" + filepath.Join(b.TempDir(), "meeting")
				wait := other(b, "tcp "+address)
				l, err := joinTwo(0, address)
				if err != nil {
					b.Fatal(err)
				}
				pingPong(b, l, size)
				b.StopTimer()
				if err := l.e.Close(); err != nil {
					b.Error(err)
				}
				wait()
			})
		}
	}
}

func rawPingPong(b *testing.B, size int, other func(*testing.B, string) func()) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	wait := other(b, "raw "+ln.Addr().String())
	c, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	s, err := blockingSocket(c)
	if err != nil {
		b.Fatal(err)
	}
	pingPong(b, s, size)
	b.StopTimer()
	if err := syscall.Shutdown(s.fd, syscall.SHUT_RDWR); err != nil {
		b.Error(err)
	}
	_ = c.Close()
	wait()
}

// Two processes exchange messages, and the one that goes is missed.
func TestTwoProcesses(t *testing.T) {
	address := "file://" + filepath.Join(t.TempDir(), "meeting")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), echoVariable+"=tcp "+address)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	l, err := joinTwo(0, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.e.Close()
	var order [16]byte
	binary.LittleEndian.PutUint64(order[:], 1<<20)
	binary.LittleEndian.PutUint64(order[8:], 1<<40)
	buf := make([]byte, 1<<20)
	if err := l.send(order[:]); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		for j := range buf {
			buf[j] = byte(i*j + j>>8)
		}
		if err := l.send(buf); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(buf))
		if err := l.receive(got); err != nil || string(got) != string(buf) {
			t.Fatalf("message %d comes back wrong: %v", i, err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	select {
	case n := <-l.e.Notes():
		if n.From != 1 || n.Err == nil {
			t.Errorf("note %+v", n)
		}
	case <-time.After(limit):
		t.Error("the end of the process is not noted")
	}
	if err := l.receive(buf); err == nil {
		t.Error("a killed process sends")
	}
}
