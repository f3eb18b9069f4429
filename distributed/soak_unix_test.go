//go:build unix

package distributed

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Processes that run random operators, of which one is killed or stopped: the others all have a Fault that names it, go on without it, and leave nothing.
func TestSoakOfProcesses(t *testing.T) {
	t.Logf("-seed %d", *soakSeed)
	n := max(1, *schedules/8)
	if testing.Short() {
		n = min(n, 2)
	}
	began := time.Now()
	for i := range n {
		if *schedules == usualSchedules && time.Since(began) > usualTime/2 {
			t.Logf("%d of %d programs in %v", i, n, usualTime/2)
			break
		}
		r := rand.New(rand.NewPCG(*soakSeed, uint64(i)|1<<32))
		size, carrier, kill := 2+r.IntN(3), []string{"shm", "tcp"}[r.IntN(2)], r.IntN(3) > 0
		if runtime.GOOS != "linux" {
			carrier = "tcp"
		}
		victim, wait := r.IntN(size), time.Duration(r.IntN(40))*time.Millisecond
		t.Run(fmt.Sprintf("schedule=%d", i), func(t *testing.T) {
			t.Logf("-seed %d: %d processes over %s, rank %d, killed %v after %v", *soakSeed, size, carrier, victim, kill, wait)
			soakOne(t, carrier, size, victim, kill, wait, r.Uint64())
		})
	}
}

func soakOne(t *testing.T, carrier string, size, victim int, kill bool, wait time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	folder := t.TempDir()
	meeting := fmt.Sprint("soak", time.Now().UnixNano())
	if carrier == "tcp" {
		meeting = "file://" + filepath.Join(folder, "meeting")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	processes, outs, errs := make([]*exec.Cmd, size), make([]*bufio.Reader, size), make([]*strings.Builder, size)
	for k := range processes {
		p := exec.CommandContext(ctx, self)
		p.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d %d", soakRank, carrier, meeting, k, size, seed))
		out, err := p.StdoutPipe()
		require.NoError(t, err)
		errs[k] = &strings.Builder{}
		p.Stderr, p.WaitDelay = errs[k], time.Second
		require.NoError(t, p.Start())
		processes[k], outs[k] = p, bufio.NewReader(out)
	}
	for k, out := range outs {
		line, err := out.ReadString('\n')
		require.NoError(t, err, "rank %d: %s", k, errs[k])
		require.Equal(t, "ready\n", line)
	}
	time.Sleep(wait) // where in a program it is, nobody knows
	if kill {
		require.NoError(t, processes[victim].Process.Kill())
	} else {
		require.NoError(t, processes[victim].Process.Signal(syscall.SIGSTOP))
		defer func() { _ = processes[victim].Process.Kill() }()
	}
	for k, out := range outs {
		if k == victim {
			continue
		}
		text, err := io.ReadAll(out)
		require.NoError(t, err)
		require.NoError(t, processes[k].Wait(), "rank %d: %s", k, errs[k])
		require.Equal(t, fmt.Sprintf("fault [%d] and on with %d\n", victim, size-1), string(text), "rank %d: %s", k, errs[k])
	}
	_ = processes[victim].Process.Kill()
	require.Error(t, processes[victim].Wait())
	if carrier == "shm" {
		h := fnv.New128a()
		h.Write([]byte(meeting))
		left, err := filepath.Glob(fmt.Sprintf("/dev/shm/volley-*%x*", h.Sum(nil)))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
