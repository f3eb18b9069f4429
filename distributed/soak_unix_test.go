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
	soaks(t, 2, 8, usualTime/2, func(i int) {
		r := rand.New(rand.NewPCG(*soakSeed, uint64(i)|1<<32))
		size, carrier, kill := 2+r.IntN(3), []string{"shm", "tcp"}[r.IntN(2)], r.IntN(3) > 0
		if runtime.GOOS != "linux" {
			carrier = "tcp"
		}
		victim, wait := r.IntN(size), time.Duration(r.IntN(40))*time.Millisecond
		t.Run(soakName(i), func(t *testing.T) {
			t.Logf("-seed %d, schedule %d: %d processes over %s, rank %d, killed %v after %v", *soakSeed, i, size, carrier, victim, kill, wait)
			soakOne(t, carrier, size, victim, kill, wait, r.Uint64())
		})
	})
}

// soaking is a process of such a program.
type soaking struct {
	*exec.Cmd
	out      *bufio.Reader
	said     string // of out, as it has been read
	complain strings.Builder
}

func soakOne(t *testing.T, carrier string, size, victim int, kill bool, wait time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit) // by then they have said themselves what is late
	defer cancel()
	folder := t.TempDir()
	meeting := fmt.Sprint("soak", time.Now().UnixNano())
	if carrier == "tcp" {
		meeting = "file://" + filepath.Join(folder, "meeting")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	processes := make([]*soaking, size)
	for k := range processes {
		p := &soaking{Cmd: exec.CommandContext(ctx, self)}
		p.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d %d", soakRank, carrier, meeting, k, size, seed))
		out, err := p.StdoutPipe()
		require.NoError(t, err)
		p.out = bufio.NewReader(out)
		p.Stderr, p.WaitDelay = &p.complain, time.Second
		require.NoError(t, p.Start())
		processes[k] = p
	}
	ready := true
	for _, p := range processes {
		p.said, _ = p.out.ReadString('\n')
		ready = ready && p.said == "ready\n"
	}
	if ready {
		time.Sleep(wait) // where in a program it is, nobody knows
		strike := syscall.SIGSTOP
		if kill {
			strike = syscall.SIGKILL
		}
		require.NoError(t, processes[victim].Process.Signal(strike))
	}
	survived := ready
	for turn := range 2 { // the victim, which may be stopped, comes last
		for k, p := range processes {
			if (k == victim) != (turn == 1) {
				continue
			}
			if k == victim {
				_ = p.Process.Kill()
			}
			text, readErr := io.ReadAll(p.out)
			p.said += string(text)
			waitErr := p.Wait()
			if k != victim {
				survived = survived && readErr == nil && waitErr == nil && p.said == fmt.Sprintf("ready\nfault [%d] and on with %d\n", victim, size-1)
			}
		}
	}
	if !survived {
		t.Errorf("-seed of the ranks %d: rank %d was to be lost, with one Fault on all others, who go on", seed, victim)
		for k, p := range processes {
			t.Errorf("rank %d: %s; it says %q, and complains:\n%s", k, p.ProcessState, p.said, &p.complain)
		}
	}
	if carrier == "shm" {
		h := fnv.New128a()
		h.Write([]byte(meeting))
		left, err := filepath.Glob(fmt.Sprintf("/dev/shm/volley-*%x*", h.Sum(nil)))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
