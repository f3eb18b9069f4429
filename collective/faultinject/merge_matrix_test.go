package faultinject

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// The rank that faults befall, and what ranks write over their vectors when a call has failed.
const (
	victim   = 1
	poisoned = -77
)

// mergeCase is a fault of a merged reduction: events, or what the victim does in round at in place of the call.
type mergeCase struct {
	name   string
	events []Event
	at     int
	does   func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []int32) error
	want   collective.Cause // that all survivors get; "" where nobody has an error and all results are right
	gone   bool             // the victim's own outcome does not count
	silent bool             // it is noticed by what does not come: after a deadline
}

// mergeFaults are the faults of a merge that turns to other ranks so many times.
func mergeFaults(turns int) (all []mergeCase) {
	add := func(c mergeCase) { all = append(all, c) }
	for _, look := range []int{0, 1, turns / 3, 2*turns/3 + 1, turns, Combining} { // before lending, after it, before the end
		for n := range int64(2) {
			for _, kind := range []Kind{Kill, Freeze, Partition, Delay} {
				e := Event{Rank: victim, N: n, Look: look, Kind: kind, Delay: 300 * time.Millisecond, Others: []int{0, 2, 3}}
				c := mergeCase{name: fmt.Sprintf("%s at look %d of merge %d", kind, look, n), events: []Event{e}}
				if kind != Delay {
					c.want, c.gone, c.silent = collective.Lost, true, kind != Kill
				}
				add(c)
			}
		}
	}
	for _, kind := range []Kind{Duplicate, Corrupt} { // which a merge has no messages for
		add(mergeCase{name: kind.String(), events: []Event{{Rank: victim, N: 1, Kind: kind}}})
	}
	add(mergeCase{name: "drop", events: []Event{{Rank: victim, Kind: Drop}}, want: collective.Timeout, gone: true, silent: true})
	for at := range 2 {
		does := func(name string, want collective.Cause, f func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []int32) error) {
			add(mergeCase{name: fmt.Sprintf("%s in round %d", name, at), at: at, does: f, want: want, gone: want == collective.Left || want == collective.Timeout, silent: want == collective.Timeout})
		}
		does("leave", collective.Left, func(_ context.Context, c *collective.Comm, _ algorithm.Op, _, _ []int32) error { return c.Close() })
		does("late", collective.Timeout, func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []int32) error {
			for c.Fault() == nil && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return reduce(ctx, c, op, v, out, collective.Sum)
		})
		does("cancel before", collective.Canceled, func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []int32) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return reduce(ctx, c, op, v, out, collective.Sum)
		})
		does("another reduction", collective.Mismatch, func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []int32) error {
			return reduce(ctx, c, op, v, out, collective.Max)
		})
		does("another operation", collective.Mismatch, func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []int32) error {
			other := map[algorithm.Op]algorithm.Op{algorithm.AllReduce: algorithm.Reduce, algorithm.Reduce: algorithm.AllReduce, algorithm.ReduceScatter: algorithm.AllReduce}[op]
			return reduce(ctx, c, other, v, slices.Clone(v), collective.Sum)
		})
		does("a barrier", collective.Mismatch, func(ctx context.Context, c *collective.Comm, _ algorithm.Op, _, _ []int32) error {
			return c.Barrier(ctx)
		})
		does("another type", collective.Mismatch, func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, _ []int32) error {
			return reduce(ctx, c, op, make([]float32, len(v)), make([]float32, partLen(c, op, len(v))), collective.Sum)
		})
		does("fewer elements", collective.Mismatch, func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, _ []int32) error {
			n := len(v) - ranks
			return reduce(ctx, c, op, slices.Clone(v[:n]), make([]int32, partLen(c, op, n)), collective.Sum)
		})
		does("too few to be merged", collective.Mismatch, func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, _ []int32) error {
			return reduce(ctx, c, op, slices.Clone(v[:ranks]), make([]int32, partLen(c, op, ranks)), collective.Sum)
		})
		does("a message", collective.Mismatch, func(ctx context.Context, c *collective.Comm, _ algorithm.Op, v, _ []int32) error {
			return c.Send(ctx, collective.Of(slices.Clone(v)), 2)
		})
	}
	// Rank 3 is held up, before the merge and in it, while the victim's context ends.
	for _, look := range []int{0, 2*turns/3 + 1, turns} {
		add(mergeCase{name: fmt.Sprintf("cancel while rank 3 is at look %d", look), at: 1, want: collective.Canceled,
			events: []Event{{Rank: 3, N: 1, Look: look, Kind: Delay, Delay: limit}},
			does: func(ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []int32) error {
				ctx, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
				defer cancel()
				err := reduce(ctx, c, op, v, out, collective.Sum)
				if err == nil { // its part was done before
					<-ctx.Done()
					err = reduce(ctx, c, op, v, out, collective.Sum)
				}
				return err
			}})
	}
	return all
}

// The matrix of reductions that the endpoints do themselves, which Wrap leaves to the algorithms: every fault that a merge
// can meet, before it and in its middle. All survivors have one and the same Fault, which names the
// victim, or, where the fault is harmless, all have the right results; no vector is written to after its call has returned; and the
// survivors shrink and merge again.
func TestMergeFaults(t *testing.T) {
	t.Parallel() // most of it is waiting
	type way struct {
		name  string
		open  func() ([]transport.Endpoint, error)
		block int // elements
		turns int
		slots int // cases at once: most of a case's time is waiting for a deadline, but for the race detector vectors are long
		ops   []algorithm.Op
	}
	ways := []way{{"inproc", openInproc, 4100, 9, 48, []algorithm.Op{algorithm.AllReduce, algorithm.Reduce, algorithm.ReduceScatter}}}
	if runtime.GOOS == "linux" { // where only all-reduces are merged
		ways = append(ways, way{"shm", openShm, 33_000, 12, 12, []algorithm.Op{algorithm.AllReduce}})
	}
	var all sync.WaitGroup
	for _, w := range ways {
		slots := make(chan struct{}, w.slots)
		for _, op := range w.ops {
			for _, fault := range mergeFaults(w.turns) {
				for _, inPlace := range []bool{false, true} {
					slots <- struct{}{}
					all.Go(func() {
						defer func() { <-slots }()
						m := merged{mergeCase: fault, op: op, block: w.block, inPlace: inPlace}
						if err := m.patiently(w.open); err != nil {
							t.Errorf("%s: %s, in place: %v, %s: %v", w.name, op, inPlace, fault.name, err)
						}
					})
				}
			}
		}
	}
	all.Wait()
}

// The same with vectors of 16 MiB, which pass by the caches: the faults in the middle of the second merge, and one of each that
// is noticed in another way, since a case moves several hundred megabytes.
func TestLongMergeFaults(t *testing.T) {
	t.Parallel() // most of it is waiting
	ways := []struct {
		name  string
		open  func() ([]transport.Endpoint, error)
		turns int
	}{{"inproc", openInproc, 9}, {"shm", openShm, 12}}
	if runtime.GOOS != "linux" {
		ways = ways[:1]
	}
	p := newPool(8)
	for _, w := range ways {
		for i, fault := range mergeFaults(w.turns) {
			middle := len(fault.events) == 1 && fault.events[0].N == 1 && slices.Contains([]int{1, 2*w.turns/3 + 1, Combining}, fault.events[0].Look)
			if !middle && fault.name != "leave in round 1" && fault.name != "fewer elements in round 1" {
				continue
			}
			for _, inPlace := range []bool{false, true} {
				if !middle && inPlace == (i%2 == 0) {
					continue
				}
				p.add(1, func() {
					m := merged{mergeCase: fault, op: algorithm.AllReduce, block: 1<<20 + 3, inPlace: inPlace}
					if err := m.patiently(w.open); err != nil {
						t.Errorf("%s: in place: %v, %s: %v", w.name, inPlace, fault.name, err)
					}
				})
			}
		}
	}
	p.all.Wait()
	t.Logf("%d cases", p.cases)
}

// merged is one case.
type merged struct {
	mergeCase
	op       algorithm.Op
	block    int
	inPlace  bool
	deadline time.Duration
}

// patiently tries under longer and longer deadlines, as that of the messages does.
func (m merged) patiently(open func() ([]transport.Endpoint, error)) error {
	for m.deadline = time.Second; ; m.deadline *= 4 {
		plain, err := open()
		if err != nil {
			return err
		}
		if err = m.trial(plain); !errors.Is(err, errLate) || 8*m.deadline > limit {
			return err
		}
	}
}

// trial runs rounds until a Fault, or three.
func (m *merged) trial(plain []transport.Endpoint) error {
	events := slices.Clone(m.events)
	for i := range events {
		events[i].N *= m.messages()
	}
	ends, in := WrapMerging(plain, events...)
	errs, after := make([]error, ranks), make([]error, ranks)
	comms := make([]*collective.Comm, ranks)
	var held [ranks][2][]int32
	for r := range comms {
		var err error
		if comms[r], err = collective.New(ends[r], collective.Options{Heartbeat: m.deadline / 10, Deadline: m.deadline, Timeout: 2 * m.deadline}); err != nil {
			return err
		}
		defer comms[r].Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var survivors, all sync.WaitGroup
	for r, c := range comms {
		each := &survivors
		if r == victim && m.gone {
			each = &all
		}
		each.Go(func() {
			for round := range 3 {
				began := time.Now()
				held[r][0], held[r][1], errs[r] = m.call(ctx, c, round, r == victim)
				if errs[r] == nil {
					continue
				}
				if each == &survivors {
					after[r] = m.goOn(ctx, c, errs[r], time.Since(began))
				}
				return
			}
		})
	}
	for _, each := range []*sync.WaitGroup{&survivors, &all} {
		ended := make(chan struct{})
		go func() {
			each.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(3 * limit / 2):
			return errors.New("ranks hang")
		}
		in.Thaw()
	}
	if err := m.judge(errs); err != nil {
		return err
	}
	for r := range comms {
		if r == victim && m.gone {
			continue
		}
		for _, v := range held[r] {
			if errs[r] != nil && !spoiled(v) {
				return fmt.Errorf("rank %d: its vector was written to after the call", r)
			}
		}
	}
	return errors.Join(after...)
}

// messages is how many messages of a rank a round is: the merge counts as one. Behind a Reduce, in which its ranks hear of nobody, each shows the
// others what it called until the call is expected, which is so after the third round.
func (m *merged) messages() int64 {
	if m.op == algorithm.Reduce {
		return 1 + int64(bits.Len(ranks-1))
	}
	return 1
}

// call is one rank's call of a round. Where that fails the vectors are written over, and returned.
func (m *merged) call(ctx context.Context, c *collective.Comm, round int, isVictim bool) (v, out []int32, err error) {
	v, out, given := m.vectors(c, round, c.Rank())
	if isVictim && m.does != nil && round == m.at {
		if err = m.does(ctx, c, m.op, v, out); err == nil && !m.gone { // as its part of another call may end, and the next has the Fault
			return v, out, nil
		}
		if err == nil {
			err = errGoneOnPurpose
		}
	} else {
		err = reduce(ctx, c, m.op, v, out, collective.Sum)
	}
	if err != nil {
		spoil(v)
		spoil(out)
		return v, out, err
	}
	return v, out, m.check(c, round, given, v, out)
}

var errGoneOnPurpose = errors.New("it has left")

// series has a first number and those behind it, each greater by step. One is made for all cases: some vectors are long.
type series struct {
	first, step int32
	mu          sync.Mutex
	made        []int32
}

// from are n of them from one on, to be read only.
func (s *series) from(at, n int) []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at+n > len(s.made) {
		s.made = make([]int32, at+n+4000)
		for i := range s.made {
			s.made[i] = s.first + int32(i)*s.step
		}
	}
	return s.made[at : at+n]
}

// mergedNumbers are what ranks give, mergedSums what those of 3 and of 4 ranks come to.
var (
	mergedNumbers = &series{step: 1}
	mergedSums    = map[int]*series{3: {first: 3000, step: 3}, 4: {first: 6000, step: 4}}
)

// vectors are a rank's vector of a round, where its result goes, and what is in the vector.
func (m *merged) vectors(c *collective.Comm, round, rank int) (v, out, numbers []int32) {
	v = make([]int32, m.block*c.Size())
	numbers = mergedNumbers.from(rank*1000+round, len(v))
	copy(v, numbers)
	out = v
	n := partLen(c, m.op, len(v))
	switch {
	case !m.inPlace:
		out = make([]int32, n)
	case n < len(v):
		out = v[rank*n:][:n]
	}
	return v, out, numbers
}

// partLen is the length of the result of n elements.
func partLen(c *collective.Comm, op algorithm.Op, n int) int {
	if op == algorithm.ReduceScatter {
		return n / c.Size()
	}
	return n
}

// reduce is a call of an operation; what is reduced to one rank goes to the last.
func reduce[T int32 | float32](ctx context.Context, c *collective.Comm, op algorithm.Op, v, out []T, by collective.Op) error {
	switch op {
	case algorithm.Reduce:
		return c.Reduce(ctx, collective.Of(v), collective.Of(out), by, c.Size()-1)
	case algorithm.ReduceScatter:
		return c.ReduceScatter(ctx, collective.Of(v), collective.Of(out), by)
	}
	return c.AllReduce(ctx, collective.Of(v), collective.Of(out), by)
}

// check looks at what a call has left: the sum, and elsewhere what was there.
func (m *merged) check(c *collective.Comm, round int, given, v, out []int32) error {
	from := 0
	if m.op == algorithm.ReduceScatter {
		from = c.Rank() * m.block
	}
	if m.op != algorithm.Reduce || c.Rank() == c.Size()-1 {
		if want := mergedSums[c.Size()].from(from+round, len(out)); !equal(out, want) {
			i := 0
			for out[i] == want[i] {
				i++
			}
			return fmt.Errorf("%w: round %d, element %d is %d and not %d", errWrong, round, i, out[i], want[i])
		}
	}
	if !m.inPlace && !equal(v, given) {
		return fmt.Errorf("round %d: the vector has changed", round)
	}
	if m.does != nil && c.Rank() == victim {
		return nil // it has made another call
	}
	for _, o := range c.Stats().Operations {
		if o.Algorithm != "merge" && o.Algorithm != "" {
			return fmt.Errorf("%d calls of %s were done by %s", o.Calls, o.Op, o.Algorithm)
		}
	}
	return nil
}

// goOn shrinks a survivor's Comm after its Fault, and merges on what is left. took is how long the call took that failed.
func (m *merged) goOn(ctx context.Context, c *collective.Comm, err error, took time.Duration) error {
	var f *collective.Fault
	if !errors.As(err, &f) || f.Cause != m.want {
		return nil // judge says so
	}
	most := m.deadline
	if m.silent {
		most *= 4 // Timeout is two
	}
	size := ranks
	if m.gone {
		size--
	}
	small, err := c.Shrink(ctx)
	if err != nil {
		return fmt.Errorf("Shrink of rank %d: %w", c.Rank(), orLate(err))
	}
	defer small.Close()
	if small.Size() != size {
		return fmt.Errorf("%w: %d ranks are left of %d", errLate, small.Size(), size)
	}
	for round := range 2 {
		if _, _, err := m.call(ctx, small, round, false); err != nil {
			return fmt.Errorf("after Shrink: %w", orLate(err))
		}
	}
	if err := small.Barrier(ctx); err != nil {
		return fmt.Errorf("after Shrink: %w", orLate(err))
	}
	if took > most {
		return fmt.Errorf("%w: its Fault came after %v: %w", errLate, took, f)
	}
	return nil
}

// orLate marks what a machine may do that is too busy for the deadline: where it is not, it comes again under a longer one.
func orLate(err error) error {
	if errors.Is(err, device.ErrLost) {
		return fmt.Errorf("%w: %w", errLate, err)
	}
	return err
}

// judge: survivors have nothing, or one Fault by the cause that is wanted, which names the victim and no bystander.
func (m *merged) judge(errs []error) error {
	var first *collective.Fault
	for r, err := range errs {
		if r == victim && m.gone {
			continue
		}
		var f *collective.Fault
		switch {
		case m.want == "" && err == nil:
			continue
		case m.want == "":
			return fmt.Errorf("rank %d fails: %w", r, orLate(err))
		case !errors.As(err, &f):
			return fmt.Errorf("rank %d: want a Fault by %s: %v", r, m.want, err)
		case first == nil:
			first = f
		case f.Error() != first.Error():
			return fmt.Errorf("%w, or two Faults: %w; and %w", errLate, first, f)
		}
		switch {
		case f.Cause != m.want && (f.Cause == collective.Lost || f.Cause == collective.Timeout):
			return fmt.Errorf("%w, or the cause is not %s: %w", errLate, m.want, f)
		case f.Cause != m.want:
			return fmt.Errorf("the cause is not %s: %w", m.want, f)
		case m.want != collective.Mismatch && !slices.Equal(f.Ranks, []int{victim}):
			return fmt.Errorf("%w, or rank %d is not the one to blame: %w", errLate, victim, f)
		case !slices.Contains(f.Ranks, victim):
			return fmt.Errorf("rank %d is not named: %w", victim, f)
		case m.want == collective.Canceled && !errors.Is(err, device.ErrCanceled), m.want == collective.Mismatch && !errors.Is(err, device.ErrMismatch),
			m.want != collective.Canceled && m.want != collective.Mismatch && !errors.Is(err, device.ErrLost):
			return fmt.Errorf("the error is of another kind: %w", err)
		}
	}
	return nil
}
