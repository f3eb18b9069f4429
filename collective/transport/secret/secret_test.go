package secret

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

var (
	right = []byte("sixteen bytes and some more")
	wrong = []byte("sixteen bytes and some others")
)

// recorder keeps what was written to a connection.
type recorder struct {
	net.Conn
	mu   sync.Mutex
	sent bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.sent.Write(p)
	r.mu.Unlock()
	return r.Conn.Write(p)
}

func guard(t *testing.T, key []byte) *Guard {
	t.Helper()
	g, err := New(key)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// meet lets a server of the right secret meet what client does, and says what the
// server made of it.
func meet(t *testing.T, client func(conn net.Conn) error) (clientErr, serverErr error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err == nil {
			err = errors.Join(conn.SetDeadline(time.Now().Add(limit)), client(conn))
			_ = conn.Close()
		}
		done <- err
	}()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c, serverErr := guard(t, right).Server(ctx, conn)
	if serverErr == nil {
		var hello [5]byte
		if _, serverErr = io.ReadFull(c, hello[:]); serverErr == nil && string(hello[:]) != "hello" {
			t.Errorf("the server reads %q", hello)
		}
		if _, err := c.Write([]byte("world")); err != nil {
			t.Error(err)
		}
	} else {
		_ = conn.Close()
	}
	return <-done, serverErr
}

// talk says hello by a guard and hears the answer.
func talk(g *Guard) func(net.Conn) error {
	return func(conn net.Conn) error {
		c, err := g.Client(context.Background(), conn)
		if err != nil {
			return err
		}
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
		_, err = io.ReadFull(c, make([]byte, 5))
		return err
	}
}

func TestBothKnowTheSecret(t *testing.T) {
	if c, s := meet(t, talk(guard(t, right))); c != nil || s != nil {
		t.Errorf("client %v, server %v", c, s)
	}
}

func TestNobodyJoinsWithoutIt(t *testing.T) {
	selfMade := guard(t, wrong)
	selfMade.client.VerifyConnection = nil // one that does not care who the server is
	noCertificate := &Guard{client: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"volley/1"}}}
	old := guard(t, right)
	old.client.MinVersion, old.client.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	for name, client := range map[string]func(net.Conn) error{
		"another secret":         talk(guard(t, wrong)),
		"another, without check": talk(selfMade),
		"no certificate":         talk(noCertificate),
		"TLS 1.2":                talk(old),
		"plain":                  talk(nil),
	} {
		c, s := meet(t, client)
		if c == nil || !errors.Is(s, ErrRefused) {
			t.Errorf("%s: client %v, server %v", name, c, s)
		}
	}
}

// A connection that ends in the handshake says nothing of the secret, on either side and wherever it ends.
func TestConnectionEndsInTheHandshake(t *testing.T) {
	g := guard(t, right)
	_, whole := meet(t, func(conn net.Conn) error {
		return talk(g)(&ending{Conn: conn, left: 1 << 20})
	})
	if whole != nil {
		t.Fatal(whole)
	}
	for _, left := range []int{0, 1, 5, 100, 200} {
		c, s := meet(t, func(conn net.Conn) error { return talk(g)(&ending{Conn: conn, left: left}) })
		if c == nil || !errors.Is(s, ErrEnded) || errors.Is(s, ErrRefused) {
			t.Errorf("the client goes after %d bytes: client %v, server %v", left, c, s)
		}
	}
	for _, left := range []int{0, 1, 5, 100, 200} {
		a, b := net.Pipe()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		go func() {
			_, _ = g.Server(ctx, &ending{Conn: b, left: left}) // its error is the mirror of the one asserted
			_ = b.Close()
		}()
		if _, err := g.Client(ctx, a); !errors.Is(err, ErrEnded) || errors.Is(err, ErrRefused) {
			t.Errorf("the server goes after %d bytes: %v", left, err)
		}
		_ = a.Close()
		cancel()
	}
}

// ending is a connection that is closed once so many bytes were written.
type ending struct {
	net.Conn
	left int
}

func (e *ending) Write(p []byte) (int, error) {
	n := min(len(p), e.left)
	e.left -= n
	if _, err := e.Conn.Write(p[:n]); err != nil {
		return 0, err
	}
	if n < len(p) {
		_ = e.Conn.Close()
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// A client refuses a server that does not know the secret, so that nothing is sent to
// it.
func TestServerMustKnowItToo(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	go func() {
		_, _ = guard(t, wrong).Server(ctx, b) // its error is the mirror of the one asserted
		_ = b.Close()
	}()
	if _, err := guard(t, right).Client(ctx, a); !errors.Is(err, ErrRefused) {
		t.Errorf("client: %v", err)
	}
}

func TestReplay(t *testing.T) {
	var r *recorder
	g := guard(t, right)
	if c, s := meet(t, func(conn net.Conn) error {
		r = &recorder{Conn: conn}
		return talk(g)(r)
	}); c != nil || s != nil {
		t.Fatalf("client %v, server %v", c, s)
	}
	_, s := meet(t, func(conn net.Conn) error {
		if _, err := conn.Write(r.sent.Bytes()); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, conn)
		return err
	})
	if !errors.Is(s, ErrRefused) {
		t.Errorf("a replayed connection gives %v", s)
	}
}

func TestShortSecret(t *testing.T) {
	if g, err := New(nil); g != nil || err != nil {
		t.Errorf("no secret: %v, %v", g, err)
	}
	if _, err := New(right[:15]); err == nil || !strings.Contains(err.Error(), "15 bytes") {
		t.Errorf("15 bytes: %v", err)
	}
}

func TestContextEndsTheHandshake(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := guard(t, right).Server(ctx, a); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
