package tcp

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

var someHeader = transport.Header{Seq: 5, Step: 6, Sum: 7, Len: 300_000, Call: transport.Call{Op: 8, Type: 9, Reduce: 10, Algorithm: 11, Root: -1, Count: 75_000}}

// seal puts the right checksum on a header that a test has changed.
func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[76:], checksum(b[:76]))
	return b
}

func encoded(f frame) []byte {
	var b [headSize]byte
	f.encode(&b)
	return b[:]
}

func TestFrame(t *testing.T) {
	for _, f := range []frame{
		{kind: data, size: segment, sum: 1, number: 2, head: someHeader},
		{kind: data, size: 300_000 - segment, number: 1 << 60, off: segment, head: someHeader},
		{kind: data, head: transport.Header{Seq: 1}},
		{kind: note, size: maxNote, number: 3},
		{kind: goodbye},
	} {
		var got frame
		if err := got.decode((*[headSize]byte)(encoded(f))); err != nil || got != f {
			t.Errorf("%+v comes back as %+v, %v", f, got, err)
		}
	}
}

// The layout is other versions' too: these are the bytes.
func TestFrameLayout(t *testing.T) {
	f := frame{kind: data, size: 300_000 - segment, sum: 0x01020304, number: 2, off: segment, head: someHeader}
	want := "564c4c59" + "01" + "01" + "0000" + "e0930000" + "04030201" + "0200000000000000" + "0000040000000000" +
		"0500000000000000" + "06000000" + "07000000" + "e093040000000000" + "f824010000000000" + "ffffffff" + "08090a0b" + "00000000"
	if got := hexOf(encoded(f)[:76]); got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

func TestFrameRefuses(t *testing.T) {
	good := encoded(frame{kind: data, size: segment, head: someHeader})
	for name, c := range map[string]struct {
		at   int
		to   byte
		want string
	}{
		"magic":              {0, 0, "no frame"},
		"version":            {4, 9, "version 9"},
		"kind":               {5, 77, "kind 77"},
		"reserved":           {6, 1, "unknown fields"},
		"reserved at end":    {75, 1, "unknown fields"},
		"size":               {8, 1, "at 0 of a message of"},
		"offset within":      {24, 1, "at 1 of"},
		"offset past":        {27, 1, "of a message"},
		"length negative":    {55, 0x80, "of a message of -"},
		"length astonishing": {54, 1, ""}, // as long as it is only announced, it is a message like another
	} {
		b := bytes.Clone(good)
		b[c.at] = c.to
		var f frame
		err := f.decode((*[headSize]byte)(seal(b)))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x10
		var f frame
		if err := f.decode((*[headSize]byte)(b)); err == nil {
			t.Errorf("a changed byte %d is not noticed", i)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(encoded(frame{kind: data, size: segment, head: someHeader}))
	f.Add(encoded(frame{kind: note, size: 7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headSize {
			return
		}
		seal(b)
		var d frame
		if d.decode((*[headSize]byte)(b)) != nil {
			return
		}
		if !bytes.Equal(encoded(d), b[:headSize]) {
			t.Errorf("% x is accepted and written as % x", b[:headSize], encoded(d))
		}
		if d.size > segment || d.off < 0 || d.off+int64(d.size) > max(d.head.Len, maxNote) {
			t.Errorf("%+v is accepted", d)
		}
	})
}

// memory is a connection that gives the bytes it has and takes what it is given.
type memory struct{ bytes.Reader }

func (*memory) Write(p []byte) (int, error)      { return len(p), nil }
func (*memory) Close() error                     { return nil }
func (*memory) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*memory) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*memory) SetDeadline(time.Time) error      { return nil }
func (*memory) SetReadDeadline(time.Time) error  { return nil }
func (*memory) SetWriteDeadline(time.Time) error { return nil }

// remember makes rank 0 of two, whose connections have these bytes to read.
func remember(t testing.TB, notes, lane []byte) *endpoint {
	t.Helper()
	conns := [][]net.Conn{nil, {&memory{*bytes.NewReader(notes)}, &memory{*bytes.NewReader(lane)}}}
	e, err := newEndpoint(nil, [32]byte{}, 0, make([]card, 2), conns)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// FuzzLane feeds bytes to the receiver of a message of 40 bytes: what it accepts is
// exactly the frame, and what it refuses is not in the caller's memory before the header was right.
func FuzzLane(f *testing.F) {
	want := transport.Header{Seq: 1, Len: 40, Call: transport.Call{Op: 3}}
	payload := bytes.Repeat([]byte{0xa5}, 40)
	good := append(encoded(frame{kind: data, size: 40, sum: checksum(payload), head: want}), payload...)
	f.Add(good, uint16(0), byte(0), false)
	f.Add(good, uint16(90), byte(1), false)
	f.Add(good, uint16(32), byte(1), true)
	f.Fuzz(func(t *testing.T, b []byte, at uint16, flip byte, sealed bool) {
		b = bytes.Clone(b)
		if int(at) < len(b) {
			b[at] ^= flip
		}
		if sealed && len(b) >= headSize {
			seal(b)
		}
		e := remember(t, encoded(frame{kind: goodbye}), b) // who has left can still be received from
		defer e.Close()
		into := make([]byte, 40)
		err := e.Recv(1, &want, &transport.Sink{Into: into})
		var d frame
		right := len(b) >= headSize && d.decode((*[headSize]byte)(b)) == nil && d.number == 0 && transport.Check(1, &want, &d.head) == nil && d.kind == data
		if err == nil && (!right || !bytes.Equal(into, b[headSize:headSize+40]) || checksum(into) != d.sum) {
			t.Errorf("% x is accepted", b)
		}
		if !right && !bytes.Equal(into, make([]byte, 40)) {
			t.Error("the payload of another message is in the caller's memory")
		}
		if right && err != nil && len(b) >= headSize+40 && checksum(b[headSize:headSize+40]) == d.sum {
			t.Errorf("the right message gives %v", err)
		}
	})
}

// FuzzNotes feeds bytes to who listens for notes: every note is one that was sent, and
// the end is told once.
func FuzzNotes(f *testing.F) {
	text := []byte("a note")
	one := append(encoded(frame{kind: note, size: 6, sum: checksum(text)}), text...)
	f.Add(append(one, encoded(frame{kind: goodbye, number: 1})...))
	f.Add(one)
	f.Fuzz(func(t *testing.T, b []byte) {
		e := remember(t, b, nil)
		defer e.Close()
		sent := 0
		for late := time.After(limit); ; {
			select {
			case n := <-e.Notes():
				if n.Err != nil {
					return
				}
				if sent += headSize + len(n.Text); sent > len(b) || !bytes.Equal(b[sent-len(n.Text):sent], n.Text) {
					t.Fatalf("note %q was not sent", n.Text)
				}
			case <-late:
				t.Fatal("the end is not told")
			}
		}
	})
}
