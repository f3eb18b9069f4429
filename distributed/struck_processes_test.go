package distributed

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/faultinject"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/mpi"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// asRank is the variable that makes a process of the test's program a rank that is struck, or works: "HOW FIRST COUNT FOLDER", and behind that, where no MPI launcher
// has started it, "CARRIER MEETING RANK SIZE". See struckOrder.
const asRank = "VOLLEY_DISTRIBUTED_TEST"

// struckOrder is what processes are told to do with some of struckSteps: "work" holds their results against the local ones; "kill" has a rank killed in the middle of
// each, of those that are left; "stop" has a rank stopped in the middle of each, and woken when the others went on; "count" says how many steps there are.
type struckOrder struct {
	how          string
	first, count int
	folder       string // that all ranks share
}

// struckHits are how the own process is struck, where that can be done, and wake is how another one is woken.
var (
	struckHits = map[string]func(){}
	wake       func(pid int) error
)

// stricken is a process of such a program.
type stricken struct {
	context.Context
	struckOrder
	world   transport.Endpoint
	backend *kernels.Backend
	memory  *memory.Counted
	pids    []int64
	groups  int // made so far
}

// struckProcess is such a process.
func struckProcess(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*limit)
	defer cancel()
	p := &stricken{Context: ctx}
	if _, err := fmt.Sscan(text, &p.how, &p.first, &p.count, &p.folder); err != nil {
		return err
	}
	if p.how == "count" {
		fmt.Println(len(struckSteps()))
		return nil
	}
	overMPI, err := p.join(text)
	if err != nil {
		return err
	}
	p.memory = memory.NewTraced(memory.Heap)
	if p.backend, err = cpu.New(host.New(host.WithAllocator(p.memory))); err != nil {
		return err
	}
	groupLimits.few, groupLimits.sample = 3, 20 // groups and rows move
	all := make([]int, p.world.Size())
	for r := range all {
		all[r] = r
	}
	if p.how == "kill" {
		go func() {
			for range p.world.Notes() { // the world has no Comm that would read them
			}
		}()
		if err := p.kills(all); err != nil {
			return err
		}
		fmt.Printf("rank %d of %d survives\n", p.world.Rank(), len(all))
		return nil // MPI_Finalize would wait for the dead
	}
	calm, err := collective.New(p.world, collective.Options{Heartbeat: limit / 10, Deadline: limit})
	if err != nil {
		return err
	}
	word := "works"
	if p.how == "stop" {
		word = "survives"
		err = p.stops(calm, all)
	} else {
		err = p.works(calm)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(calm.Barrier(p), calm.Close()); err != nil {
		return err
	}
	if overMPI {
		if err := mpi.Finalize(p); err != nil {
			return err
		}
	}
	fmt.Printf("rank %d of %d %s\n", p.world.Rank(), len(all), word)
	return nil
}

func (p *stricken) join(text string) (overMPI bool, err error) {
	var carrier, meeting, word string
	var number, size int
	if n, _ := fmt.Sscan(text, &word, &word, &word, &word, &carrier, &meeting, &number, &size); n == 8 {
		p.world, err = joinProcess(p, carrier, meeting, number, size)
		return false, err
	}
	w, err := rendezvous.Environment(os.Getenv)
	if err != nil {
		return true, err
	}
	if w.Size < 2 {
		return true, fmt.Errorf("the launcher's variables make a world of %d", w.Size)
	}
	p.world, err = mpi.Join(p, w, mpi.Options{})
	return true, err
}

// works runs every step on rows of some shapes.
func (p *stricken) works(c *collective.Comm) error {
	for i, shape := range shapes[p.first:min(p.first+p.count, len(shapes))] {
		for j, s := range struckSteps() {
			r := &rank{Context: p, comm: c, backend: p.backend, folder: p.path(i, j, "work")}
			if err := (program{shape, uint64(i), []step{s}}).run(r); err != nil {
				return fmt.Errorf("%s, %s: %w", shape, s.name, err)
			}
		}
	}
	return p.clean(0)
}

func (p *stricken) path(i, j int, name string) string {
	return filepath.Join(p.folder, fmt.Sprintf("%s-%d-%d", name, i, j))
}

// chosen are the steps that this process is to run.
func (p *stricken) chosen() []step {
	all := struckSteps()
	return all[min(p.first, len(all)):min(p.first+p.count, len(all))]
}

// kills has ranks die one after another, while two are left.
func (p *stricken) kills(alive []int) error {
	for i, s := range p.chosen() {
		if len(alive) < 2 {
			return fmt.Errorf("%d of %d steps, and one rank is left", i, p.count)
		}
		victim := (p.first + i) % len(alive)
		if err := p.strike(p.first+i, s, alive, victim); err != nil {
			return fmt.Errorf("killed in %s: %w", s.name, err)
		}
		alive = slices.Delete(slices.Clone(alive), victim, victim+1)
	}
	return nil
}

// stops has a rank stopped in the middle of each step.
func (p *stricken) stops(calm *collective.Comm, all []int) error {
	p.pids = make([]int64, len(all))
	if err := calm.AllGather(p, collective.Of([]int64{int64(os.Getpid())}), collective.Of(p.pids)); err != nil {
		return err
	}
	for i, s := range p.chosen() {
		if err := p.strike(p.first+i, s, all, (p.first+i)%len(all)); err != nil {
			return fmt.Errorf("stopped in %s: %w", s.name, err)
		}
		if err := calm.Barrier(p); err != nil {
			return err
		}
		if err := p.noFiles(); err != nil { // nor of the rank that was stopped
			return fmt.Errorf("stopped in %s: %w", s.name, err)
		}
	}
	return nil
}

// split is a group of ranks of the world that has events in it.
func (p *stricken) split(ranks []int, events ...faultinject.Event) (*collective.Comm, *faultinject.Injector, error) {
	p.groups++
	end, err := p.world.Split(p, fmt.Sprint("struck ", p.groups), ranks)
	if err != nil {
		return nil, nil, err
	}
	end, in := faultinject.WrapOne(end, events...)
	c, err := collective.New(end, collective.Options{Heartbeat: stopped / 20, Deadline: stopped})
	return c, in, err
}

// strike runs a step twice in groups of these ranks: first to see that it is right, and how many messages the victim has in it; then the victim is struck in their
// middle. The others must see that in time, and go on.
func (p *stricken) strike(i int, s step, ranks []int, victim int) error {
	before := runtime.NumGoroutine()
	c, in, err := p.split(ranks)
	if err != nil {
		return err
	}
	me := c.Rank()
	r := &rank{Context: p, comm: c, backend: p.backend, folder: p.path(i, 0, "dry")}
	var from, to int64
	r.begins = func() { from = in.Messages(me) }
	if err := p.run(i, s, r, func() { to = in.Messages(me) }); err != nil {
		return fmt.Errorf("with nothing amiss: %w", err)
	}
	if err := errors.Join(c.Barrier(p), c.Close()); err != nil {
		return err
	}
	if me == victim && to <= from {
		return errors.New("the rank that is to be struck sends nothing")
	}
	c, _, err = p.split(ranks, faultinject.Event{Rank: victim, N: (from + to) / 2, Kind: faultinject.Strike, Do: struckHits[p.how]})
	if err != nil {
		return err
	}
	var began time.Time
	r = &rank{Context: p, comm: c, backend: p.backend, folder: p.path(i, 1, "struck"), begins: func() { began = time.Now() }}
	err = p.run(i, s, r, func() {})
	if err == nil {
		err = c.Barrier(p)
	}
	if me == victim { // stopped, and awake again: to it the others are lost
		if f := (*collective.Fault)(nil); err == nil {
			return errors.New("the rank that was stopped went through all of it")
		} else if !errors.As(err, &f) {
			return fmt.Errorf("the rank that was stopped: %w", err)
		}
		if err := c.Close(); err != nil {
			return err
		}
		return p.clean(before)
	}
	took := time.Since(began)
	if err == nil {
		return fmt.Errorf("rank %d was struck, and all was over without it", victim)
	}
	var f *collective.Fault
	if !errors.As(err, &f) || f.Cause != collective.Lost || !slices.Equal(f.Ranks, []int{victim}) {
		return fmt.Errorf("rank %d was struck: %w", victim, err)
	}
	if took > 2*stopped {
		return fmt.Errorf("the Fault came after %v, the deadline is %v", took, stopped)
	}
	small, err := c.Shrink(p)
	if err != nil {
		return err
	}
	if err := p.after(i, s, small, f, r.folder); err != nil {
		return fmt.Errorf("behind %w: %w", f, err)
	}
	if p.how == "stop" && small.Rank() == 0 {
		if err := wake(int(p.pids[ranks[victim]])); err != nil {
			return err
		}
	}
	if err := errors.Join(small.Close(), c.Close()); err != nil {
		return err
	}
	return p.clean(before)
}

// run runs a step on some rows, and says when it begins and when it is over.
func (p *stricken) run(i int, s step, r *rank, ends func()) error {
	do, begins := s.ranks, r.begins
	s.ranks = func(r *rank, d, o *Table) (*Table, error) {
		if begins != nil {
			begins()
		}
		t, err := do(r, d, o)
		ends()
		return t, err
	}
	return program{shapes[i%len(shapes)], uint64(i), []step{s}}.run(r)
}

// after holds what the survivors saw against each other, looks for what is left, and has them go on.
func (p *stricken) after(i int, s step, small *collective.Comm, f *collective.Fault, folder string) error {
	h := fnv.New64a()
	fmt.Fprint(h, f.Cause, f.Op, f.Seq, f.Ranks, f.By)
	saw := make([]uint64, small.Size())
	if err := small.AllGather(p, collective.Of([]uint64{h.Sum64()}), collective.Of(saw)); err != nil {
		return err
	}
	if slices.Min(saw) != slices.Max(saw) {
		return fmt.Errorf("the ranks have Faults that differ: %x", saw)
	}
	if err := p.noFiles(); err != nil {
		return err
	}
	if err := p.whole(small, folder); err != nil {
		return err
	}
	r := &rank{Context: p, comm: small, backend: p.backend, folder: p.path(i, 2, "after")}
	if err := p.run(i, s, r, func() {}); err != nil {
		return err
	}
	return small.Barrier(p)
}

// noFiles looks for files of what did not come about.
func (p *stricken) noFiles() error {
	left, err := filepath.Glob(filepath.Join(p.folder, "*.tmp*"))
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%q are left", left)
	}
	return err
}

// clean looks for memory that is out, and for goroutines, of which so many may be there: 0 for any number.
func (p *stricken) clean(goroutines int) error {
	for tries := 0; goroutines > 0 && runtime.NumGoroutine() > goroutines; tries++ {
		if tries == 250 {
			all := make([]byte, 1<<16)
			return fmt.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), goroutines, all[:runtime.Stack(all, true)])
		}
		time.Sleep(20 * time.Millisecond)
	}
	return p.memory.Check()
}
