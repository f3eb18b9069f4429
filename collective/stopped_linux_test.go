package collective

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
	if err := overlapTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// overlapTests lets more tests run beside each other than there are processors, unless -parallel says how many: they wait for deadlines
// most of their time.
func overlapTests() error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", fmt.Sprint(2*runtime.GOMAXPROCS(0)))
}

// stopSelf stops this process before it returns: a SIGSTOP for the calling thread stops that on its way out of the call, and the
// others with it, where one for the process is taken by any thread, when that next runs, and the calling one goes on until then.
func stopSelf() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
}

// stoppedRank stops its process in the middle of a read.
func stoppedRank(name string) error {
	deadline, err := time.ParseDuration(os.Getenv(stopsAfter))
	if err != nil {
		return err
	}
	return sumOverMemory(name, 1, deadline, func(a, b int64) int64 {
		_ = stopSelf() // where it fails the operation succeeds, which the test sees
		return a + b
	})
}

// sumOverMemory is a rank of two, over shared memory, with the defaults where the deadline is 0.
func sumOverMemory(name string, rank int, deadline time.Duration, add func(a, b int64) int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, err := shm.Join(ctx, name, rank, 2)
	if err != nil {
		return err
	}
	o := quick
	o.Deadline = deadline
	if deadline == 0 {
		o = Options{}
	}
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

// Without options a stopped process is lost five seconds after it was heard for the last time: not before, and little later.
func TestDefaultDeadline(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprint(t.Name(), time.Now().UnixNano(), groups.Add(1))
	other := exec.Command(self)
	other.Env = append(os.Environ(), stopsIn+"="+name, stopsAfter+"=0s")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	type end struct {
		err  error
		took time.Duration
	}
	got := make(chan end, 1)
	go func() {
		start := time.Now() // the other process has yet to come, which is soon
		err := sumOverMemory(name, 0, 0, func(a, b int64) int64 { return a + b })
		got <- end{err, time.Since(start)}
	}()
	select {
	case e := <-got:
		if _, err := agreed([]error{e.err}, []int{0}, Lost, []int{1}); err != nil {
			t.Fatal(err)
		}
		const heartbeat, deadline, late = time.Second, 5 * time.Second, 4 * time.Second // late: on a busy machine
		if e.took < deadline-heartbeat || e.took > deadline+heartbeat+late {
			t.Errorf("a rank that was silent was lost after %v", e.took)
		}
	case <-time.After(limit):
		t.Fatal("the survivor hangs")
	}
}
