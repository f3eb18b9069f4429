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

// strikesIn has the test program be rank 1 of a group of 2 that is struck from outside.
const strikesIn = "VOLLEY_COLLECTIVE_TEST_STRUCK"

// overAndOver is a rank of two that gathers, broadcasts and all-gathers long vectors until
// that fails; nothing writes into its vector from then on. It calls met when it has begun.
func overAndOver(name string, rank int, deadline time.Duration, met func()) error {
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
	in, out := make([]byte, 1<<20), make([]byte, 2<<20)
	if err = c.Barrier(ctx); err != nil {
		return err
	}
	met()
	for err == nil && ctx.Err() == nil {
		err = c.Gather(context.Background(), Of(in), Of(out), 0)
		if err == nil {
			err = c.Broadcast(context.Background(), Of(out), Of(out), 1)
		}
		if err == nil {
			err = c.AllGather(context.Background(), Of(in), Of(out))
		}
	}
	for i := range out {
		out[i] = 0xee
	}
	time.Sleep(5 * time.Millisecond)
	for i, b := range out {
		if b != 0xee {
			return fmt.Errorf("byte %d was written after the call: %w", i, err)
		}
	}
	return err
}

// A process that is killed, or stopped for good, while others' messages and its own are
// moved by both ranks is lost for the other one.
func TestStruckProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, blow := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		for trial := range 4 {
			patiently(t, func(patience time.Duration) (*Fault, error) {
				name := fmt.Sprint(t.Name(), time.Now().UnixNano(), groups.Add(1))
				other := exec.Command(self)
				other.Env = append(os.Environ(), strikesIn+"="+name, stopsAfter+"="+patience.String())
				begun, err := other.StdoutPipe()
				if err == nil {
					err = other.Start()
				}
				if err != nil {
					return nil, err
				}
				defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
				got := make(chan error, 1)
				go func() { got <- overAndOver(name, 0, patience, func() {}) }()
				if _, err := begun.Read(make([]byte, 1)); err != nil {
					return nil, fmt.Errorf("%w: %v", err, <-got)
				}
				time.Sleep(time.Duration(2+7*trial) * time.Millisecond)
				if err := other.Process.Signal(blow); err != nil {
					return nil, err
				}
				select {
				case err = <-got:
				case <-time.After(limit):
					return nil, errors.New("the survivor hangs")
				}
				return agreed([]error{err}, []int{0}, Lost, []int{1})
			}, 0)
		}
	}
}
