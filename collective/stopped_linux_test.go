package collective

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/shm"
)

// The test program is rank 1 of a group of 2 when the first of these variables names
// one; the second is its deadline.
const (
	stopsIn    = "VOLLEY_COLLECTIVE_TEST_STOPS"
	stopsAfter = "VOLLEY_COLLECTIVE_TEST_DEADLINE"
)

func TestMain(m *testing.M) {
	if told := os.Getenv(resumesAs); told != "" {
		if err := resumedRank(told); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if name := os.Getenv(strikesIn); name != "" {
		deadline, err := time.ParseDuration(os.Getenv(stopsAfter))
		if err == nil {
			err = overAndOver(name, 1, deadline, func() { fmt.Println("begun") })
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if name := os.Getenv(stopsIn); name != "" {
		if err := stoppedRank(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stoppedRank stops its process in the middle of a read.
func stoppedRank(name string) error {
	deadline, err := time.ParseDuration(os.Getenv(stopsAfter))
	if err != nil {
		return err
	}
	return sumOverMemory(name, 1, deadline, func(a, b int64) int64 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // where it fails the operation succeeds, which the test sees
		return a + b
	})
}

// sumOverMemory is a rank of two, over shared memory.
func sumOverMemory(name string, rank int, deadline time.Duration, add func(a, b int64) int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, err := shm.Join(ctx, name, rank, 2)
	if err != nil {
		return err
	}
	o := quick
	o.Deadline = deadline
	c, err := New(ends, o)
	if err != nil {
		return errors.Join(err, ends.Close())
	}
	defer c.Close()
	v := fill[int64](rank, 64<<10)
	return c.AllReduce(context.Background(), Of(v), Of(v), NewOp("add", true, add))
}

// A process that is stopped in the middle of reading another one's memory is lost for
// that one when the deadline has passed.
func TestStoppedProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	patiently(t, func(patience time.Duration) (*Fault, error) {
		name := fmt.Sprint(t.Name(), time.Now().UnixNano(), groups.Add(1))
		other := exec.Command(self)
		other.Env = append(os.Environ(), stopsIn+"="+name, stopsAfter+"="+patience.String())
		if err := other.Start(); err != nil {
			return nil, err
		}
		defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
		got := make(chan error, 1)
		go func() { got <- sumOverMemory(name, 0, patience, func(a, b int64) int64 { return a + b }) }()
		select {
		case err = <-got:
		case <-time.After(limit):
			return nil, errors.New("the survivor hangs")
		}
		return agreed([]error{err}, []int{0}, Lost, []int{1})
	}, 0)
}
