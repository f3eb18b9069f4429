package shm

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const smaps = `7f1000000000-7f1000400000 rw-s 00000000 00:1a 5    /dev/shm/volley (deleted)
Size:               4096 kB
AnonHugePages:      2048 kB
ShmemPmdMapped:     4096 kB
FilePmdMapped:         0 kB
7f2000000000-7f2000400000 rw-p 00000000 00:00 0
Size:               4096 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:         0 kB
`

func TestHugeBytes(t *testing.T) {
	for _, c := range []struct {
		at   uintptr
		want int64
		ok   bool
	}{{0x7f1000000000, 4 << 20, true}, {0x7f10003fffff, 4 << 20, true}, {0x7f2000001000, 0, true}, {0x7f1000400000, 0, false}} {
		if got, ok := hugeBytes(strings.NewReader(smaps), c.at); got != c.want || ok != c.ok {
			t.Errorf("the mapping at %x has %d bytes in huge pages, %v", c.at, got, ok)
		}
	}
}

func TestDescribe(t *testing.T) {
	ends := group(t, 2)
	text := ends[0].Endpoint.(*endpoint).Describe()
	if _, err := os.Stat("/proc/self/smaps"); err == nil && !strings.Contains(text, "of it in huge pages") {
		t.Errorf("smaps is there: %s", text)
	}
	if !strings.Contains(text, "above 8 KiB") {
		t.Error(text)
	}
}

// What a rank that has left forgets is gone for it alone, and is still there to be looked at.
func TestForget(t *testing.T) {
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	at := a.seg.bytes
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a.seg.forget()
	if bytes.ContainsFunc(at, func(r rune) bool { return r != 0 }) {
		t.Error("the segment is still there")
	}
	if b.seg.head().magic.Load() != magic || b.seg.rank(0).left.Load() == 0 {
		t.Error("the other rank has lost it too, or was not told that this one left")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
