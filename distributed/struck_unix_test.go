//go:build unix

package distributed

import (
	"fmt"
	"hash/fnv"
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

func init() {
	struckHits["kill"] = func() { strikeSelf(syscall.SIGKILL) }
	struckHits["stop"] = stopSelf
	wake = func(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
}

// strikeSelf sends this process a signal. SIGKILL ends it before that returns: it reaches all threads at once.
func strikeSelf(s syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		panic(err)
	}
}

// A process that is killed or stopped in the middle of any operator is one Fault on all others, within the deadline; nothing is left, and the others go on. Over MPI
// scripts/mpi.sh has the same. Some operators, and with -schedules all. Where nothing is amiss 2, 3 and 4 processes have the right results, of rows of all shapes then.
func TestRankIsStruck(t *testing.T) {
	n := len(struckSteps())
	t.Logf("-seed %d", *soakSeed)
	r := rand.New(rand.NewPCG(*soakSeed, 11))
	carriers := []string{"tcp"}
	if runtime.GOOS == "linux" {
		carriers = append(carriers, "shm")
	}
	for _, carrier := range carriers {
		for how, each := range map[string]int{"kill": 2, "stop": 4} {
			first, last := 0, n
			if *schedules == 0 {
				first = r.IntN(n - each)
				last = first + each
			}
			for ; first < last; first += each {
				t.Run(fmt.Sprintf("%s, %s from step %d", carrier, how, first), func(t *testing.T) { struckProcesses(t, carrier, how, 4, first, min(each, n-first)) })
			}
		}
		processes, first, count := []int{2, 3, 4}, 0, len(shapes)
		if *schedules == 0 {
			processes, first, count = []int{2 + r.IntN(3)}, r.IntN(len(shapes)), 1
		}
		for _, size := range processes {
			t.Run(fmt.Sprintf("%s, none, %d processes from shape %d", carrier, size, first), func(t *testing.T) { struckProcesses(t, carrier, "work", size, first, count) })
		}
	}
}

func struckProcesses(t *testing.T, carrier, how string, size, first, count int) {
	folder, meeting := t.TempDir(), fmt.Sprint("struck", time.Now().UnixNano())
	if carrier == "tcp" {
		meeting = "file://" + filepath.Join(folder, "meeting")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	processes, outs := make([]*exec.Cmd, size), make([]strings.Builder, size)
	for k := range processes {
		p := exec.CommandContext(t.Context(), self)
		p.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d %s %s %s %d %d", asRank, how, first, count, folder, carrier, meeting, k, size))
		p.Stdout, p.Stderr, p.WaitDelay = &outs[k], &outs[k], time.Second
		require.NoError(t, p.Start())
		processes[k] = p
	}
	struck := 0
	for k, p := range processes {
		err := p.Wait()
		if s := p.ProcessState.Sys().(syscall.WaitStatus); how == "kill" && s.Signaled() && s.Signal() == syscall.SIGKILL {
			struck++
			continue
		}
		require.NoError(t, err, "rank %d: %s", k, &outs[k])
		require.Regexp(t, fmt.Sprintf(`^rank %d of %d (works|survives)\n$`, k, size), outs[k].String())
	}
	if how == "kill" {
		require.Equal(t, count, struck)
	}
	if carrier == "shm" {
		h := fnv.New128a()
		h.Write([]byte(meeting))
		left, err := filepath.Glob(fmt.Sprintf("/dev/shm/volley-*%x*", h.Sum(nil)))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
