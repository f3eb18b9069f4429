package collective

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// limited makes the test program a rank of a world whose rank 0 may not write the files that shared memory is.
const limited = "VOLLEY_COLLECTIVE_TEST_LIMITED"

// TestLimitedRank is such a rank; by itself it is one rank, which needs no memory.
func TestLimitedRank(t *testing.T) {
	if os.Getenv(limited) == "1" {
		most := syscall.Rlimit{Cur: 51200, Max: 51200}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &most); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c, err := Init(ctx)
	if err != nil {
		fmt.Printf("error: %v (%v)\n", err, ctx.Err())
		return
	}
	defer c.Close()
	sum := []int64{int64(c.Rank())}
	if err := c.AllReduce(ctx, Of(sum), Of(sum), Sum); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("sum %d over %s\n", sum[0], c.Transport())
}

// limitedWorld runs the ranks and gives what they print.
func limitedWorld(t *testing.T, transport string) []string {
	t.Helper()
	place := "file://" + filepath.Join(t.TempDir(), "meeting")
	said := make([]string, 3)
	var all sync.WaitGroup
	for r := range said {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLimitedRank$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", limited, 1-min(r, 1)), "RANK="+fmt.Sprint(r), "WORLD_SIZE=3", "LOCAL_RANK="+fmt.Sprint(r), "LOCAL_WORLD_SIZE=3",
			"VOLLEY_ADDRESS="+place, transportVariable+"="+transport)
		all.Go(func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
			said[r] = string(out)
		})
	}
	all.Wait()
	return said
}

// A rank that cannot make the segment leaves nobody waiting: all go over TCP where they may choose, else all have its error.
func TestOneRankHasNoRoom(t *testing.T) {
	for r, said := range limitedWorld(t, "") {
		if !strings.Contains(said, "sum 3 over tcp") && !strings.Contains(said, "sum 3 over shm+tcp") {
			t.Errorf("rank %d says %s", r, said)
		}
	}
	for r, said := range limitedWorld(t, "shm") {
		if !strings.Contains(said, "error: ") || !strings.Contains(said, "(<nil>)") || !strings.Contains(said, "rank 0 cannot join: shm: too little shared memory") || !strings.Contains(said, "ulimit -f") {
			t.Errorf("rank %d says %s", r, said)
		}
	}
}

// Closed Comms over shared memory keep no addresses.
func TestCloseGivesAddressesBack(t *testing.T) {
	mappings := func() int {
		text, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), fmt.Sprintf("/volley-%d-", os.Getuid()))
	}
	for _, options := range []Options{{}, {Checksum: true}} {
		before := mappings()
		comms := over(t, transports["shm"](t, 3), options)
		if mappings() < before+3 {
			t.Fatalf("%d mappings with the ranks, %d before", mappings(), before)
		}
		ctx := t.Context()
		var all, late sync.WaitGroup
		for _, c := range comms {
			all.Go(func() {
				v := make([]float64, 1000)
				if err := c.AllReduce(ctx, Of(v), Of(v), Sum); err != nil {
					t.Error(err)
				}
				if c.Rank() == 0 { // an operation that nobody joins is interrupted
					late.Go(func() { _ = c.Barrier(ctx) })
				}
			})
		}
		all.Wait()
		for _, c := range comms {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		late.Wait()
		for end := time.Now().Add(limit); mappings() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d mappings, %d before", mappings(), before)
			}
		}
	}
}
