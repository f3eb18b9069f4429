package faultinject

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
)

const (
	ranks = 4
	limit = 60 * time.Second
)

var only = flag.String("subjects", "", "the subjects of TestFaultMatrix whose names match this expression")

// subject is what all ranks of a group do in rounds while a fault befalls one of them.
type subject struct {
	name     string // the operation, and by what algorithm or in what form
	by       map[algorithm.Op]string
	messages []int64  // those of the victim that faults befall: an early one and a later one
	over     []string // the transports that it is for; nil: all
	weight   int      // slots that a case takes; 0 is one
	chunk    int      // bytes of a pipeline's piece; 0 is 1 KiB, so that short vectors have several
	// enter makes a rank's calls ready. call makes those of a round and checks the results; leave, when all ranks have made
	// their last call, looks at what must not have changed since, and gives back what was taken.
	enter func(c *collective.Comm) (call func(round int) error, leave func() error, err error)
}

// The whole matrix: every operation by every algorithm, in every form and on everything that it is made for, over every
// transport meets every fault, early and late. Nobody hangs; either the fault changed nothing, and then all results are
// right, or all survivors have one and the same Fault.
func TestFaultMatrix(t *testing.T) {
	p, named := newPool(96), regexp.MustCompile(*only)
	over := transports(t.TempDir())
	for _, s := range subjects() {
		if !named.MatchString(s.name) {
			continue
		}
		for name, open := range over {
			if s.over == nil || slices.Contains(s.over, name) {
				p.faults(t, name, open, s)
			}
		}
	}
	p.all.Wait()
	t.Logf("%d cases", p.cases)
}

// subjects are all of them, those first whose cases take long.
func subjects() []subject {
	return slices.Concat(longMessages(), byTurns(onColumns()), byTurns(onDevices()), startedTogether(), transfers(), vForms(), operations())
}

// byTurns are subjects each over two of the transports: what is built on a Comm sees the transport through it alone.
func byTurns(all []subject) []subject {
	for i := range all {
		all[i].over = [][]string{{"inproc", "tcp"}, {"shm", "mixed"}}[i%2]
	}
	return all
}

// Without a fault all is right, and the victim posts the messages that faults befall.
func TestSubjects(t *testing.T) {
	for _, s := range subjects() {
		posted, err := trial(inproc.New(ranks), s, []Event{{Rank: victim, N: 1, Kind: Delay}}, limit)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if last := slices.Max(s.messages); posted <= last {
			t.Errorf("%s: %d messages, of which none is number %d", s.name, posted, last)
		}
	}
}

// pool runs cases at once: most of a case's time is waiting for a deadline.
type pool struct {
	slots chan struct{}
	all   sync.WaitGroup
	cases int
}

func newPool(slots int) *pool { return &pool{slots: make(chan struct{}, slots)} }

// add runs a case when there are slots for it. One goroutine adds, so no two wait for each other's slots.
func (p *pool) add(weight int, f func()) {
	weight = max(1, weight)
	for range weight {
		p.slots <- struct{}{}
	}
	p.cases++
	p.all.Go(func() {
		f()
		for range weight {
			<-p.slots
		}
	})
}

// faults are all faults that a subject meets over a transport.
func (p *pool) faults(t *testing.T, name string, open func() ([]transport.Endpoint, error), s subject) {
	for _, e := range faults(s.messages) {
		p.add(s.weight, func() {
			if err := patiently(open, s, []Event{e}); err != nil {
				t.Errorf("%s: %s, %s at message %d: %v", name, s.name, e.Kind, e.N, err)
			}
		})
	}
}

// faults are those of the victim at these messages.
func faults(messages []int64) (all []Event) {
	for _, kind := range []Kind{Kill, Freeze, Drop, Delay, Duplicate, Corrupt, Partition} {
		for _, n := range messages {
			all = append(all, Event{Rank: victim, N: n, Kind: kind, Delay: 30 * time.Millisecond, Others: []int{0, 2, 3}})
		}
	}
	return all
}

// transports open the endpoints of a group in this process; those that meet at a file
// have it in dir. MPI's ranks are processes: see TestMain.
func transports(dir string) map[string]func() ([]transport.Endpoint, error) {
	all := map[string]func() ([]transport.Endpoint, error){"inproc": openInproc, "tcp": openTCP(dir, nil)}
	if runtime.GOOS == "linux" {
		all["shm"], all["mixed"] = openShm, openMixed(dir)
	}
	return all
}

func openInproc() ([]transport.Endpoint, error) { return inproc.New(ranks), nil }

var groups atomic.Int64

func openShm() ([]transport.Endpoint, error) {
	name := fmt.Sprint("matrix", time.Now().UnixNano(), groups.Add(1))
	return meet(ranks, func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		return shm.Join(ctx, name, rank, size)
	})
}

// openTCP opens a group that meets at a file of its own, with a secret where there is one.
func openTCP(dir string, secret []byte) func() ([]transport.Endpoint, error) {
	return func() ([]transport.Endpoint, error) {
		return meet(ranks, overTCP(filepath.Join(dir, fmt.Sprint("meeting", groups.Add(1))), secret))
	}
}

// openMixed opens a group on two machines, on which the ranks take turns.
func openMixed(dir string) func() ([]transport.Endpoint, error) {
	return func() ([]transport.Endpoint, error) {
		return meet(ranks, overBoth(filepath.Join(dir, fmt.Sprint("mixed", groups.Add(1)))))
	}
}

func overBoth(path string) collective.Meeting {
	return func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		w := rendezvous.World{Rank: rank, Size: size, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Address: "file://" + path}
		return mixed.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Machine: fmt.Sprint(rank % 2)})
	}
}

// meet opens all ends of a group.
func meet(n int, join collective.Meeting) ([]transport.Endpoint, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, errs := make([]transport.Endpoint, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() { ends[r], errs[r] = join(ctx, r, n) })
	}
	all.Wait()
	return ends, errors.Join(errs...)
}

// errLate is a living rank that was taken for a lost one, or a judge that was: then
// there are two.
var errLate = errors.New("a rank was late")

// patiently tries under longer and longer deadlines: on a busy machine a rank may get
// no processor for a second, and is then lost like one that stopped.
func patiently(open func() ([]transport.Endpoint, error), s subject, events []Event) error {
	for deadline := time.Second; ; deadline *= 4 {
		ends, err := open()
		if err == nil {
			_, err = trial(ends, s, events, deadline)
		}
		if !errors.Is(err, errLate) || 8*deadline > limit {
			return err
		}
	}
}

// options are those of a case. Messages are summed where one is corrupted, and else by turns: sums hide what the transport
// does with long ones.
func (s subject) options(events []Event, deadline time.Duration) collective.Options {
	sums := events[0].N%4 == 0 || slices.ContainsFunc(events, func(e Event) bool { return e.Kind == Corrupt })
	o := collective.Options{Heartbeat: deadline / 6, Deadline: deadline, Timeout: 3 * deadline / 2, Checksum: sums, Chunk: s.chunk, Algorithms: s.by}
	if o.Chunk == 0 {
		o.Chunk = 1024
	}
	return o
}

// rounds is how often a rank makes a subject's calls.
const rounds = 3

// trial runs a subject's rounds under events and judges the outcome. posted is how many messages the victim has posted.
func trial(plain []transport.Endpoint, s subject, events []Event, deadline time.Duration) (posted int64, err error) {
	ends, in := Wrap(plain, events...)
	comms := make([]*collective.Comm, ranks)
	for r := range comms {
		if comms[r], err = collective.New(ends[r], s.options(events, deadline)); err != nil {
			return 0, err
		}
	}
	defer func() {
		in.Thaw()
		for _, c := range comms {
			_ = c.Close()
		}
	}()
	calls, leaves := make([]func(int) error, ranks), make([]func() error, ranks)
	for r, c := range comms {
		if calls[r], leaves[r], err = s.enter(c); err != nil {
			return 0, err
		}
	}
	errs := make([]error, ranks)
	ended := make(chan int, ranks)
	for r, call := range calls {
		go func() {
			for round := 0; round < rounds && errs[r] == nil; round++ {
				errs[r] = call(round)
			}
			ended <- r
		}()
	}
	dead := lost(events)
	for missing := ranks; missing > 0; missing-- {
		select {
		case <-ended:
		case <-time.After(limit):
			return 0, errors.New("the survivors hang")
		}
		if missing == len(dead)+1 {
			in.Thaw() // so that frozen ranks end too
		}
	}
	err = judge(errs, dead, events, in.Messages)
	for r, leave := range leaves {
		if lerr := leave(); lerr != nil {
			err = errors.Join(err, fmt.Errorf("rank %d: %w", r, lerr))
		}
	}
	return in.Messages(victim), err
}

// lost are the ranks whose outcome does not count.
func lost(events []Event) (dead []int) {
	for _, e := range events {
		if e.Kind == Kill || e.Kind == Freeze || e.Kind == Partition {
			if !slices.Contains(dead, e.Rank) {
				dead = append(dead, e.Rank)
			}
		}
	}
	return dead
}

// judge: the survivors' Faults are one; they name a rank that an event was planted
// on; and what changes or loses a message for certain is never missed. A survivor
// whose part was done before may be without one: its results were checked.
func judge(errs []error, dead []int, events []Event, messages func(rank int) int64) error {
	var first *collective.Fault
	harmless := !slices.ContainsFunc(events, func(e Event) bool { return e.Kind != Delay })
	for r, err := range errs {
		var f *collective.Fault
		if slices.Contains(dead, r) || !errors.As(err, &f) || f.Cause != collective.Lost {
			continue
		}
		for _, lost := range f.Ranks {
			if !slices.Contains(dead, lost) {
				return fmt.Errorf("the Fault names rank %d, which is there: %w: %w", lost, errLate, f)
			}
		}
	}
	for r, err := range errs {
		if slices.Contains(dead, r) || err == nil {
			continue
		}
		var f *collective.Fault
		if !errors.As(err, &f) {
			return fmt.Errorf("rank %d: %w", r, err)
		}
		if harmless {
			if f.Cause == collective.Timeout { // a busy machine's, since delays are much shorter
				err = errors.Join(errLate, err)
			}
			return fmt.Errorf("rank %d: a delay is no fault: %w", r, err)
		}
		if first == nil {
			first = f
		}
		if f.Error() != first.Error() {
			return fmt.Errorf("%w, or two Faults: %w; and %w", errLate, first, f)
		}
	}
	if first == nil {
		for _, e := range events { // with a rank gone, the message may have been for it
			if len(dead) == 0 && (e.Kind == Drop || e.Kind == Corrupt) && messages(e.Rank) > e.N {
				return fmt.Errorf("%s of message %d went unseen", e.Kind, e.N)
			}
		}
		return nil
	}
	for _, r := range dead {
		if first.Cause == collective.Lost && !slices.Contains(first.Ranks, r) && len(dead) == 1 {
			return fmt.Errorf("the Fault does not name rank %d: %v", r, first)
		}
	}
	return nil
}
