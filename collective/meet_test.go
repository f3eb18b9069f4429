package collective

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/volley-go/volley/device"
)

// TestMeetAt grows a Comm of one rank by two more at an address, over each transport.
func TestMeetAt(t *testing.T) {
	for _, carrier := range []string{"", "shm", "tcp"} {
		t.Run("over "+carrier, func(t *testing.T) {
			getenv := func(name string) string {
				return map[string]string{transportVariable: carrier}[name]
			}
			meet, err := MeetAt("file://"+filepath.Join(t.TempDir(), "meeting"), getenv)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := InitFrom(t.Context(), func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = alone.Close() }()
			var sums [3]int64
			var errs [3]error
			var all sync.WaitGroup
			for rank := range 3 {
				all.Go(func() {
					var c *Comm
					var err error
					if rank == 0 {
						c, err = alone.Grow(t.Context(), 3, meet)
					} else {
						c, err = Enter(t.Context(), rank, 3, meet, Options{})
					}
					if err == nil {
						sum := []int64{int64(rank) + 1}
						err = errors.Join(c.AllReduce(t.Context(), Of(sum), Of(sum), Sum), c.Barrier(t.Context()), c.Close())
						sums[rank] = sum[0]
					}
					errs[rank] = err
				})
			}
			all.Wait()
			if err := errors.Join(errs[:]...); err != nil || sums != [3]int64{6, 6, 6} {
				t.Fatalf("%v, sums %v", err, sums)
			}
		})
	}
}

func TestMeetAtRefusesAddresses(t *testing.T) {
	for _, address := range []string{"", "gopher://x", "tcp://host", "file://x?rank=1&size=2"} {
		if meet, err := MeetAt(address, func(string) string { return "" }); meet != nil || !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
