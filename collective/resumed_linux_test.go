package collective

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
)

// resumesAs has the test program be a rank that works until a rank is lost, shrinks, and
// works on; its value is a resumed.
const resumesAs = "VOLLEY_COLLECTIVE_TEST_RESUMES"

type resumed struct {
	Carrier, Name string
	Rank, Size    int
	Deadline      time.Duration
	Keep          bool // the old Comm stays open
	Exit          bool // the process ends after its work
	Idle          bool // it waits between operations
}

func (k *resumed) join(ctx context.Context) (transport.Endpoint, error) {
	if k.Carrier == "shm" {
		return shm.Join(ctx, k.Name, k.Rank, k.Size)
	}
	w := rendezvous.World{Rank: k.Rank, Size: k.Size, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Node: rendezvous.Unknown, Address: "file://" + k.Name}
	if k.Carrier == mixed.Name {
		return mixed.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Machine: fmt.Sprint(k.Rank % 2)})
	}
	return tcp.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0"})
}

// resumedRank says what happens to it, a line each.
func resumedRank(told string) error {
	var k resumed
	if err := json.Unmarshal([]byte(told), &k); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, err := k.join(ctx)
	if err != nil {
		return err
	}
	c, err := New(ends, Options{Heartbeat: k.Deadline / 8, Deadline: k.Deadline})
	if err != nil {
		return errors.Join(err, ends.Close())
	}
	defer func() { _ = c.Close() }()
	work := func(times int) (err error) {
		for i := 0; err == nil && i < times; i++ {
			v := make([]int64, []int{1, 500, 100_000}[i%3])
			v[0] = 1
			if err = c.AllReduce(context.Background(), Of(v), Of(v), Sum); err == nil && v[0] != int64(c.Size()) {
				err = fmt.Errorf("the sum of %d ranks is %d", c.Size(), v[0])
			}
			if k.Idle {
				time.Sleep(k.Deadline / 16)
			}
		}
		return err
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	fmt.Println("begun")
	after := 100 // of these operations where a rank has been lost
	if k.Idle {
		after = 10 // most of their time is a wait
	}
	for times := 1 << 30; ; times = after {
		err := work(times)
		if err == nil {
			err = c.Barrier(ctx)
		}
		if err == nil {
			break
		}
		var f *Fault
		if !errors.As(err, &f) {
			return err
		}
		fmt.Println("fault", f.Ranks, f.Cause, f)
		s, err := c.Shrink(context.Background())
		if err != nil {
			fmt.Println("ousted", err)
			return nil
		}
		if old := c; k.Keep {
			defer func() { _ = old.Close() }()
		} else if err := old.Close(); err != nil {
			return err
		}
		c = s
	}
	fmt.Println("works", c.Rank(), c.Size())
	if !k.Exit {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return err
}

// runningRank is a rank of its own, and what it says.
type runningRank struct {
	*exec.Cmd
	lines chan string
	end   io.Closer
}

func startRank(k resumed) (*runningRank, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	told, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	p := &runningRank{Cmd: exec.Command(self), lines: make(chan string, 64)}
	p.Env = append(os.Environ(), resumesAs+"="+string(told))
	p.Stderr = os.Stderr
	if p.end, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p, nil
}

// says waits for a line that begins so.
func (p *runningRank) says(what string) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case line, open := <-p.lines:
		if !open || !strings.HasPrefix(line, what) {
			return fmt.Errorf("%q, not %q", line, what)
		}
		return nil
	case <-late.C:
		return fmt.Errorf("it hangs before %q", what)
	}
}

// runningGroup is all of a group.
type runningGroup []*runningRank

func startRanks(t *testing.T, k resumed) (all runningGroup, err error) {
	k.Name = fmt.Sprint(filepath.Join(t.TempDir(), "meeting"), time.Now().UnixNano(), groups.Add(1))
	for k.Rank = range k.Size {
		p, err := startRank(k)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	for r, p := range all {
		if err := p.says("begun"); err != nil {
			return all, fmt.Errorf("rank %d: %w", r, err)
		}
	}
	time.Sleep(20 * time.Millisecond)
	return all, nil
}

func (all runningGroup) end() {
	for _, p := range all {
		_ = p.Process.Kill()
		_ = p.end.Close()
		_ = p.Wait()
	}
}

// resuming tries under longer and longer deadlines, since on a busy machine a rank may be
// late.
func resuming(t *testing.T, k resumed, trial func(all runningGroup) error) {
	t.Helper()
	for k.Deadline = 500 * time.Millisecond; ; k.Deadline *= 4 {
		all, err := startRanks(t, k)
		if err == nil {
			err = trial(all)
		}
		all.end()
		if err == nil {
			return
		}
		if 4*k.Deadline > 10*time.Second {
			t.Fatal(err)
		}
		t.Log(err)
	}
}

// A process that was stopped until the others went on without it, and is resumed, learns
// that it is the one that was lost: whether the others are still there or have left, and
// whatever it was at.
func TestResumedProcess(t *testing.T) {
	for _, k := range []resumed{
		{Carrier: "shm", Keep: true}, {Carrier: "shm"}, {Carrier: "shm", Exit: true}, {Carrier: "shm", Idle: true},
		{Carrier: "tcp", Keep: true}, {Carrier: "tcp"}, {Carrier: "tcp", Exit: true}, {Carrier: "tcp", Idle: true},
		{Carrier: mixed.Name, Keep: true}, {Carrier: mixed.Name}, {Carrier: mixed.Name, Exit: true}, {Carrier: mixed.Name, Idle: true},
	} {
		t.Run(fmt.Sprintf("%s/keep=%v/exit=%v/idle=%v", k.Carrier, k.Keep, k.Exit, k.Idle), func(t *testing.T) {
			t.Parallel()
			for stopped := range 3 {
				k.Size = 3
				resuming(t, k, func(all runningGroup) error { return all.stopAndResume(stopped) })
			}
		})
	}
}

func (all runningGroup) stopAndResume(stopped int) error {
	if err := all[stopped].Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	lost := fmt.Sprintf("fault [%d] lost", stopped)
	for r, p := range all {
		if r == stopped {
			continue
		}
		if err := errors.Join(p.says(lost), p.says("works")); err != nil {
			return fmt.Errorf("rank %d was stopped, survivor %d: %w", stopped, r, err)
		}
	}
	if err := all[stopped].Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	if err := errors.Join(all[stopped].says(lost), all[stopped].says("ousted Shrink: device lost: this rank was declared lost")); err != nil {
		return fmt.Errorf("rank %d, which was stopped: %w", stopped, err)
	}
	return nil
}

// A rank is killed, and another one is struck while the survivors shrink: those that are
// left come to one Comm, and a rank that is resumed learns that it is not in it.
func TestStruckInShrink(t *testing.T) {
	for _, carrier := range []string{"shm", "tcp", mixed.Name} {
		for _, blow := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
			t.Run(fmt.Sprintf("%s/%v", carrier, blow), func(t *testing.T) {
				t.Parallel()
				for trial := range 4 {
					resuming(t, resumed{Carrier: carrier, Size: 4}, func(all runningGroup) error {
						return all.strikeTwo(2*(trial%2), blow, time.Duration(trial/2*3)*time.Millisecond)
					})
				}
			})
		}
	}
}

func (all runningGroup) strikeTwo(second int, blow syscall.Signal, after time.Duration) error {
	const first = 1
	if err := all[first].Process.Kill(); err != nil {
		return err
	}
	if err := all[second].says("fault [1] lost"); err != nil {
		return err
	}
	time.Sleep(after)
	if err := all[second].Process.Signal(blow); err != nil {
		return err
	}
	place := 0
	for r, p := range all {
		if r == first || r == second {
			continue
		}
		err := p.says("fault")
		for err == nil {
			if err = p.says("fault"); err != nil && strings.Contains(err.Error(), fmt.Sprintf("\"works %d 2\"", place)) {
				err = nil
				break
			}
		}
		if err != nil {
			return fmt.Errorf("rank %d was struck, survivor %d: %w", second, r, err)
		}
		place++
	}
	if blow == syscall.SIGKILL {
		return nil
	}
	if err := all[second].Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	for {
		switch err := all[second].says("fault"); {
		case err == nil:
		case strings.Contains(err.Error(), "this rank was declared lost"):
			return nil
		default:
			return fmt.Errorf("rank %d, which was stopped: %w", second, err)
		}
	}
}
