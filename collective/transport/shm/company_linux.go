package shm

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// Process is a rank's, as others know it: its number, and when it started, which tells it from a later one of the same number.
type Process struct {
	PID  int
	Born uint64
}

// self is this process.
func self() Process {
	born, _ := bornAt(os.Getpid()) // 0 where the system does not say: then all that can be seen is whether there is such a process
	return Process{os.Getpid(), born}
}

// gone says that the process has ended.
func (p Process) gone() bool {
	if p.PID <= 0 || p.PID == os.Getpid() {
		return false
	}
	born, runs := bornAt(p.PID)
	return !runs || p.Born != 0 && born != p.Born
}

// company is what a rank that joins knows of the others beforehand.
type company struct {
	processes []Process // by rank; nil where they are not known
	parent    *endpoint // of a split: the group
	members   []int     // that these ranks are of
	mark      uint64    // and its mark
}

// splitMark is what a split is known by in rankBlock.failed.
func splitMark(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() | 1
}

// lost is the error of a rank that cannot come any more; nil where there is none.
func (c *company) lost() error {
	for r, p := range c.processes {
		if p.gone() {
			return fmt.Errorf("the process of rank %d, %d, has ended", r, p.PID)
		}
	}
	if c.parent == nil {
		return nil
	}
	c.parent.mu.Lock()
	defer c.parent.mu.Unlock()
	if c.parent.closed {
		return errSplitClosed
	}
	for place, m := range c.members {
		block := c.parent.seg.rank(m)
		switch {
		case block.left.Load() != 0:
			return fmt.Errorf("rank %d has left", place)
		case block.failed.Load() == c.mark:
			return fmt.Errorf("rank %d could not join", place)
		case (Process{int(block.pid.Load()), block.born.Load()}).gone():
			return fmt.Errorf("the process of rank %d, %d, has ended", place, block.pid.Load())
		}
	}
	return nil
}

// lookAgain is how often a rank that waits looks after the others.
const lookAgain = 50 * time.Millisecond

// watch looks after the others from time to time.
type watch struct {
	with *company
	next time.Time
	also func() error
}

// look is the error of a rank that cannot come any more.
func (w *watch) look() error {
	now := time.Now()
	if now.Before(w.next) {
		return nil
	}
	w.next = now.Add(lookAgain)
	err := w.with.lost()
	if err == nil && w.also != nil {
		err = w.also()
	}
	if err == nil || errors.Is(err, errSplitClosed) {
		return err
	}
	return &transport.PeerError{Err: err}
}

// errSplitClosed is the error of a rank that has closed the group it splits.
var errSplitClosed = errors.New("the group that is split was closed")

// gather waits until so many have joined, or settled.
func (e *endpoint) gather(ctx context.Context, with *company, count int64, pause time.Duration) error {
	h := e.seg.head()
	w := watch{with: with, next: time.Now().Add(lookAgain), also: e.dispersed}
	for h.joined.Load() < count {
		err := w.look()
		if err != nil && h.joined.Load() >= count {
			break // it came, and was there for as long as it was needed
		}
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		default:
		}
		if err != nil {
			return fmt.Errorf("shm: %w%s", err, e.absent())
		}
		time.Sleep(pause)
	}
	return nil
}

// dispersed is the error of a group that does not come about: a rank that came has ended, or one that could not come has
// taken the meeting's file away.
func (e *endpoint) dispersed() error {
	for r := range e.seg.n {
		block := e.seg.rank(r)
		if p := (Process{int(block.pid.Load()), block.born.Load()}); p.gone() {
			return fmt.Errorf("the process of rank %d, %d, has ended", r, p.PID)
		}
		if block.left.Load() != 0 {
			return fmt.Errorf("rank %d has given up", r)
		}
	}
	if e.seg.head().joined.Load() < int64(e.seg.n) {
		if _, err := os.Lstat(path(e.name)); errors.Is(err, os.ErrNotExist) {
			return errors.New("a rank that could not join has ended the meeting")
		}
	}
	return nil
}

// absent names the ranks that have not come.
func (e *endpoint) absent() string {
	var missing []string
	for r := range e.seg.n {
		if e.seg.rank(r).pid.Load() == 0 {
			missing = append(missing, fmt.Sprint(r))
		}
	}
	if missing == nil {
		return ""
	}
	return fmt.Sprintf(": missing ranks %s of %d", strings.Join(slices.Compact(missing), ", "), e.seg.n)
}
