package cpu

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/internal/numa"
	"golang.org/x/sys/unix"
)

// asNodes takes processors that this process may use for nodes: all of them in
// turn, and where there is one only it twice.
func asNodes(t *testing.T) []numa.Node {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	made := []numa.Node{{ID: 0}, {ID: 1}}
	k := 0
	for cpu := range 1024 {
		if may.IsSet(cpu) {
			made[k%2].CPUs = append(made[k%2].CPUs, cpu)
			k++
		}
	}
	if k == 1 {
		made[1].CPUs = made[0].CPUs
	}
	was, threads := nodes, runtime.GOMAXPROCS(2)
	nodes = func() []numa.Node { return made }
	t.Cleanup(func() { nodes = was; runtime.GOMAXPROCS(threads) })
	return made
}

func onCPU() int {
	var cpu uint32
	_, _, _ = unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	return int(cpu)
}

// Each node's worker begins with the node's part of the rows, on its processors.
func TestNodesHaveParts(t *testing.T) {
	made := asNodes(t)
	var met sync.WaitGroup
	met.Add(2)
	var mu sync.Mutex
	begun := map[int]int{} // of workers, their first morsel
	times := make([]atomic.Int32, 40)
	err := parallel(context.Background(), 40*morsel-3, func(worker int, s span) error {
		mu.Lock()
		_, again := begun[worker]
		if !again {
			begun[worker] = s.index
		}
		mu.Unlock()
		if !again { // nobody goes on before both have begun
			met.Done()
			met.Wait()
		}
		if cpu := onCPU(); !slices.Contains(made[worker].CPUs, cpu) {
			t.Errorf("worker %d is on processor %d, not one of %v", worker, cpu, made[worker].CPUs)
		}
		times[s.index].Add(1)
		return nil
	})
	half := 40 * len(made[0].CPUs) / (len(made[0].CPUs) + len(made[1].CPUs))
	if err != nil || begun[0] != 0 || begun[1] != half {
		t.Errorf("begun %v with half at %d, %v", begun, half, err)
	}
	for i := range times {
		if n := times[i].Load(); n != 1 {
			t.Errorf("morsel %d: %d times", i, n)
		}
	}
}

// A node whose worker stays behind has its rows done by the other.
func TestNodesHelp(t *testing.T) {
	asNodes(t)
	var done atomic.Int64
	begun, rest := make(chan struct{}), make(chan struct{})
	err := parallel(context.Background(), 40*morsel, func(worker int, s span) error {
		if worker == 1 {
			close(begun)
			<-rest
			return nil
		}
		<-begun
		if done.Add(1) == 39 {
			close(rest)
		}
		return nil
	})
	if err != nil || done.Load() != 39 {
		t.Errorf("%d of 39 morsels, %v", done.Load(), err)
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct{ tasks, workers, a, b, c int }{{8, 2, 1, 1, 1}, {100, 7, 2, 5, 1}, {40, 16, 8, 8, 8}, {9, 3, 64, 1, 1}} {
		d := newShares(c.tasks, c.workers, []numa.Node{{CPUs: make([]int, c.a)}, {CPUs: make([]int, c.b)}, {CPUs: make([]int, c.c)}})
		if !slices.IsSorted(d.of) {
			t.Errorf("%+v: nodes of workers %v", c, d.of)
		}
		var got []int
		for {
			i := d.take(c.workers-1, c.tasks)
			if i >= c.tasks {
				break
			}
			got = append(got, i)
		}
		slices.Sort(got)
		for i := range got {
			if got[i] != i {
				t.Fatalf("%+v: task %d is %d", c, i, got[i])
			}
		}
		if len(got) != c.tasks {
			t.Errorf("%+v: %d tasks", c, len(got))
		}
	}
}
