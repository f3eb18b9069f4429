package shm

import (
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
	if !strings.Contains(text, "above 16 KiB") {
		t.Error(text)
	}
}
