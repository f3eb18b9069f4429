//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/volley-go/volley/internal/processors"
)

// A launch that is killed takes its ranks along, and what they have started.
func TestKilledLaunchEndsItsRanks(t *testing.T) {
	cmd := exec.Command(os.Args[0], "launch", "-n", "3", "--", "/bin/sh", "-c", `sleep 600 & echo pids $$ $!; wait`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(out)
	for len(pids) < 6 && lines.Scan() {
		var rank, own, child int
		if _, err := fmt.Sscanf(lines.Text(), "[%d] pids %d %d", &rank, &own, &child); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		pids = append(pids, own, child)
	}
	if len(pids) < 6 {
		t.Fatalf("the ranks do not start: %v", lines.Err())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var left []int
		for _, pid := range pids {
			if alive(pid) {
				left = append(left, pid)
			}
		}
		if left == nil {
			return
		}
		if time.Now().After(end) {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Fatalf("of %v %v are left", pids, left)
		}
	}
}

// alive says whether a process runs; one that has ended and that nobody has asked for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// The guard kills what it was told of and not of since, and nothing where all is over.
func TestGuard(t *testing.T) {
	start := func() *exec.Cmd {
		c := exec.Command("sleep", "600")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	kept, dropped, killed := start(), start(), start()
	watchOver(strings.NewReader(fmt.Sprintf("+%d\nnonsense\n\n+%d\n-%d\n+1\n+0\n+-5\n", killed.Process.Pid, dropped.Process.Pid, dropped.Process.Pid)))
	watchOver(strings.NewReader(fmt.Sprintf("+%d\nover\n", kept.Process.Pid)))
	if err := killed.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the one that it was told of: %v", err)
	}
	for what, c := range map[string]*exec.Cmd{"dropped": dropped, "of a launch that is over": kept} {
		if !alive(c.Process.Pid) {
			t.Errorf("one %s was killed", what)
		}
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed just now
	}
}

// Each rank has its share of the processors, at least one, unless the user says how many threads there are to be.
func TestLaunchSharesProcessors(t *testing.T) {
	for _, c := range []struct {
		ranks int
		said  string
		want  string
	}{{1, "", fmt.Sprint(runtime.GOMAXPROCS(0))}, {4096, "", "1"}, {2, "7", "7"}} {
		var environment []string
		if c.said != "" {
			environment = append(environment, processors.Variable+"="+c.said)
		}
		got := withThreads(environment, c.ranks)
		if len(got) != 1 || got[0] != processors.Variable+"="+c.want {
			t.Errorf("%d ranks, %q: %v", c.ranks, c.said, got)
		}
	}
	status, stdout, stderr := launchShell(t, `echo threads $VOLLEY_THREADS`)
	if want := fmt.Sprintf("[0] threads %d", max(1, runtime.GOMAXPROCS(0)/2)); status != statusOK || !strings.Contains(stdout.String(), want) {
		t.Errorf("status %d: %s%s, want %s", status, stdout, stderr, want)
	}
}
