package tcp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// bare is the other end of an endpoint's connections, to write anything on.
type bare struct {
	e           *endpoint // rank 0 of two
	notes, data net.Conn
}

func openBare(t *testing.T) *bare {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var near, far []net.Conn
	for range 2 {
		a, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.SetDeadline(time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		near, far = append(near, a), append(far, b)
	}
	e, err := newEndpoint(nil, [32]byte{}, 0, make([]card, 2), [][]net.Conn{nil, near})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		_, _ = far[0].Close(), far[1].Close()
	})
	return &bare{e, far[0], far[1]}
}

func (b *bare) lost(t *testing.T) error {
	t.Helper()
	select {
	case n := <-b.e.Notes():
		if n.From != 1 || n.Err == nil {
			t.Errorf("the endpoint notes %+v", n)
		}
		return n.Err
	case <-time.After(limit):
		t.Fatal("the endpoint does not note the loss")
		return nil
	}
}

// message is the frames of a message of three segments.
func message() (h transport.Header, frames [][]byte) {
	payload := make([]byte, 2*segment+100)
	for i := range payload {
		payload[i] = byte(i * 7)
	}
	h = transport.Header{Seq: 4, Len: int64(len(payload)), Call: transport.Call{Op: 2}}
	for i, off := range []int{0, segment, 2 * segment} {
		part := payload[off:min(off+segment, len(payload))]
		f := frame{kind: data, size: uint32(len(part)), sum: checksum(part), number: uint64(i), off: int64(off), head: h}
		frames = append(frames, append(encoded(f), part...))
	}
	return h, frames
}

func TestBrokenFrames(t *testing.T) {
	isCorrupt := func(err error) bool { c := (*transport.Corrupt)(nil); return errors.As(err, &c) && c.From == 1 }
	isMismatch := func(err error) bool { m := (*transport.Mismatch)(nil); return errors.As(err, &m) && m.From == 1 }
	isCut := func(err error) bool {
		l := (*Lost)(nil)
		return errors.As(err, &l) && l.Rank == 1 && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF))
	}
	flip := func(f []byte, at int) []byte { f = bytes.Clone(f); f[at] ^= 4; return f }
	set := func(f []byte, at int, to byte) []byte {
		f = bytes.Clone(f)
		f[at] = to
		return append(seal(f[:headSize]), f[headSize:]...)
	}
	for name, c := range map[string]struct {
		change func(f [][]byte) []byte
		is     func(error) bool
		cut    bool
	}{
		"payload":             {func(f [][]byte) []byte { return join3(f[0], flip(f[1], 5000), f[2]) }, isCorrupt, false},
		"first payload":       {func(f [][]byte) []byte { return join3(flip(f[0], headSize), f[1], f[2]) }, isCorrupt, false},
		"header":              {func(f [][]byte) []byte { return join3(f[0], flip(f[1], 33), f[2]) }, isCorrupt, false},
		"first header":        {func(f [][]byte) []byte { return join3(flip(f[0], 40), f[1], f[2]) }, isCorrupt, false},
		"version":             {func(f [][]byte) []byte { return join3(set(f[0], 4, 2), f[1], f[2]) }, isCorrupt, false},
		"magic":               {func(f [][]byte) []byte { return join3(set(f[0], 0, 2), f[1], f[2]) }, isCorrupt, false},
		"size":                {func(f [][]byte) []byte { return join3(set(f[0], 11, 2), f[1], f[2]) }, isCorrupt, false},
		"kind":                {func(f [][]byte) []byte { return encoded(frame{kind: note}) }, isCorrupt, false},
		"other message":       {func(f [][]byte) []byte { return join3(f[0], set(f[1], 32, 9), f[2]) }, isCorrupt, false},
		"begins in middle":    {func(f [][]byte) []byte { return join3(set(f[1], 16, 0), f[1], f[2]) }, isCorrupt, false},
		"duplicate":           {func(f [][]byte) []byte { return join3(f[0], f[0], f[1]) }, isMismatch, false},
		"missing":             {func(f [][]byte) []byte { return join3(f[0], f[2]) }, isMismatch, false},
		"first missing":       {func(f [][]byte) []byte { return join3(f[1], f[2]) }, isMismatch, false},
		"out of order":        {func(f [][]byte) []byte { return join3(f[0], f[2], f[1]) }, isMismatch, false},
		"cut in a payload":    {func(f [][]byte) []byte { return join3(f[0], f[1][:1000]) }, isCut, true},
		"cut in a header":     {func(f [][]byte) []byte { return join3(f[0], f[1][:17]) }, isCut, true},
		"cut between frames":  {func(f [][]byte) []byte { return f[0] }, isCut, true},
		"cut before anything": {func([][]byte) []byte { return nil }, isCut, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBare(t)
			h, frames := message()
			go func() {
				_, _ = b.data.Write(c.change(frames)) // the endpoint may have hung up already
				if c.cut {
					_ = b.data.Close()
				}
			}()
			err := b.e.Recv(1, &h, &transport.Sink{Into: make([]byte, h.Len)})
			if !c.is(err) {
				t.Errorf("Recv returns %v", err)
			}
			_ = b.lost(t)
			if err := b.e.Post(1, &transport.Header{Seq: 5}, nil); !errors.As(err, new(*Lost)) {
				t.Errorf("a later Post returns %v", err)
			}
			if err := b.e.Recv(1, &h, &transport.Sink{Into: make([]byte, h.Len)}); !errors.As(err, new(*Lost)) {
				t.Errorf("a later Recv returns %v", err)
			}
			if text, err := io.ReadAll(b.notes); !c.cut && !errors.Is(err, nil) || !c.cut && !bytes.Contains(text, []byte("broken frame")) {
				t.Errorf("the sender hears %q, %v", text, err)
			}
		})
	}
}

func join3(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// A message of another call is left aside whole, whatever length it says, and the next
// one is received.
func TestMismatchLeavesTheLane(t *testing.T) {
	b := openBare(t)
	h, frames := message()
	next := transport.Header{Seq: 5, Len: 3}
	frames = append(frames, append(encoded(frame{kind: data, size: 3, sum: checksum([]byte("end")), number: 3, head: next}), "end"...))
	go func() { _, _ = b.data.Write(bytes.Join(frames, nil)) }() // what is missing shows in Recv
	other := h
	other.Len = 8
	into := make([]byte, 8)
	var m *transport.Mismatch
	if err := b.e.Recv(1, &other, &transport.Sink{Into: into}); !errors.As(err, &m) || m.Got != h || !bytes.Equal(into, make([]byte, 8)) {
		t.Errorf("%v, memory % x", err, into)
	}
	if err := b.e.Recv(1, &next, &transport.Sink{Into: into[:3]}); err != nil || string(into[:3]) != "end" {
		t.Errorf("the next message: %v, %q", err, into[:3])
	}
}

// A header that announces more than there is memory costs none.
func TestAstonishingLength(t *testing.T) {
	b := openBare(t)
	h := transport.Header{Seq: 4, Len: 1 << 60}
	if _, err := b.data.Write(encoded(frame{kind: data, size: segment, head: h})); err != nil {
		t.Fatal(err)
	}
	want := transport.Header{Seq: 4, Len: 8}
	if err := b.e.Recv(1, &want, &transport.Sink{Into: make([]byte, 8)}); !errors.As(err, new(*transport.Mismatch)) {
		t.Errorf("Recv returns %v", err)
	}
}

func TestNotesConnection(t *testing.T) {
	for name, c := range map[string]struct {
		write []byte
		want  string
		left  bool
	}{
		"ends":      {nil, "ended without a word", false},
		"goodbye":   {encoded(frame{kind: goodbye}), transport.ErrLeft.Error(), true},
		"gives up":  {append(encoded(frame{kind: goodbye, size: 5, sum: checksum([]byte("tired"))}), "tired"...), "gave up: tired", false},
		"message":   {encoded(frame{kind: data}), "a message among the notes", false},
		"long note": {seal(append(encoded(frame{kind: note})[:8], append([]byte{1, 0, 1, 0}, encoded(frame{kind: note})[12:]...)...)), "note of 65537 bytes", false},
		"garbage":   {bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 10), "no frame", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBare(t)
			if _, err := b.notes.Write(c.write); err != nil {
				t.Fatal(err)
			}
			if name == "ends" {
				_ = b.notes.Close()
			}
			err := b.lost(t)
			if !strings.Contains(err.Error(), c.want) || errors.Is(err, transport.ErrLeft) != c.left {
				t.Errorf("%v, want %s", err, c.want)
			}
			if err := b.e.Signal(1, nil); !errors.As(err, new(*Lost)) {
				t.Errorf("a later Signal returns %v", err)
			}
		})
	}
}
