//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
)

// guard is a process that lives beside launch and hears of its ranks through a pipe. Where the pipe ends without a word launch was
// killed, which nothing else tells: then it kills the ranks, and what they have started.
type guard struct {
	process *exec.Cmd
	mu      sync.Mutex
	tell    io.WriteCloser
}

// What it is told, a line each: a group of processes that there is, one that has ended, and that all is over.
const (
	guardAdd  = "+%d\n"
	guardDrop = "-%d\n"
	guardOver = "over\n"
)

func startGuard() (*guard, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(own, guardName)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's signals are for launch
	tell, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &guard{process: c, tell: tell}, nil
}

// add names a rank's group.
func (g *guard) add(p *os.Process) error { return g.say(guardAdd, p.Pid) }

// drop says that it has ended; its number may be another's.
func (g *guard) drop(p *os.Process) {
	_ = g.say(guardDrop, p.Pid) // one that was killed has nothing to guard
}

func (g *guard) say(format string, args ...any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := fmt.Fprintf(g.tell, format, args...)
	return err
}

// end ends it.
func (g *guard) end() {
	_ = g.say(guardOver)
	_ = g.tell.Close()
	_ = g.process.Wait() // how it ended is of no use to anybody
}

// watchOver is the guard's own work.
func watchOver(told io.Reader) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	groups := map[int]bool{}
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		line := lines.Text()
		if line+"\n" == guardOver {
			return
		}
		n, err := strconv.Atoi(line[min(1, len(line)):])
		if err != nil || n <= 1 {
			continue
		}
		if line[0] == guardAdd[0] {
			groups[n] = true
		} else {
			delete(groups, n)
		}
	}
	for n := range groups {
		_ = syscall.Kill(-n, syscall.SIGKILL) // it may have ended this moment
	}
}
