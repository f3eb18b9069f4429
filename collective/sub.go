package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// Sub makes a Comm of some of the ranks, numbered in the order given, which all of
// them give alike. Ranks that are not listed do not call it; those that are call it
// in one order with their operations and with other groups that they share: where they
// wait for each other in calls that differ, the Comm gets a Fault that names them. It
// ends with ctx, with an ErrLost where a rank cannot come, and after Options.Timeout.
// After a Fault it is an error: use Shrink.
func (c *Comm) Sub(ctx context.Context, ranks []int) (*Comm, error) {
	if err := c.ready("Sub"); err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, r := range ranks {
		if r < 0 || r >= c.Size() || seen[r] {
			return nil, device.Errorf(device.ErrMismatch, "", "Sub", "ranks %v: rank %d is not one of %d, or named twice", ranks, r, c.Size())
		}
		seen[r] = true
	}
	if !seen[c.Rank()] {
		return nil, device.Errorf(device.ErrMismatch, "", "Sub", "ranks %v: this rank, %d, is not among them", ranks, c.Rank())
	}
	return c.sub(ctx, fmt.Sprintf("sub %v", ranks), ranks)
}

// sub makes a group of the endpoint. A transport wants a name that no other group
// has, so groups of one kind and the same ranks are numbered; one that did not come
// about has no number, since its other ranks may never have called.
func (c *Comm) sub(ctx context.Context, kind string, ranks []int) (*Comm, error) {
	return c.group(ctx, kind, ranks, c.options)
}

// group is sub with other options.
func (c *Comm) group(ctx context.Context, kind string, ranks []int, o Options) (*Comm, error) {
	c.mu.Lock()
	n := c.named[kind]
	c.mu.Unlock()
	w, m := c.watch, &ownMeeting{groupNote: groupNote{Name: kind, Number: n}, ranks: ranks}
	if !w.call(func() { w.meetings.begin(w, m) }) {
		return nil, c.ready("split")
	}
	met, stop := c.whileThere(ctx, ranks)
	ends, err := c.ends.Split(met, fmt.Sprintf("%s, %d", kind, n), ranks)
	since := time.Now()
	if peer := (*transport.PeerError)(nil); errors.As(err, &peer) {
		w.hearWhy(met, m)
	}
	why := context.Cause(met)
	if f := w.fault.Load(); f != nil && ctx.Err() == nil {
		why = f
	}
	stop()
	w.call(func() { w.meetings.end(w, m, err == nil) }) // a watch that has ended tells nobody
	if err != nil {
		if f := (*Fault)(nil); errors.As(why, &f) {
			return nil, f
		}
		return nil, &device.Error{Call: "split", Kind: device.ErrUnavailable, Cause: err}
	}
	c.mu.Lock()
	c.named[kind] = n + 1
	c.mu.Unlock()
	return newComm(ends, o, fmt.Sprintf("%s/%s, %d", c.name, kind, n), since)
}

// Split makes one Comm of all ranks with the same color, ordered by key and, where
// keys are equal, by rank. A rank with a negative color gets none (nil). All ranks
// call it.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	mine := []int64{int64(color), int64(key)}
	all := make([]int64, 2*c.Size())
	if err := c.AllGather(ctx, Of(mine), Of(all)); err != nil {
		return nil, err
	}
	if color < 0 {
		return nil, nil
	}
	var ranks []int
	for r := range c.Size() {
		if all[2*r] != int64(color) {
			continue
		}
		at := len(ranks)
		for at > 0 && all[2*ranks[at-1]+1] > all[2*r+1] {
			at--
		}
		ranks = append(ranks[:at], append([]int{r}, ranks[at:]...)...)
	}
	return c.sub(ctx, fmt.Sprintf("split %d %v", color, ranks), ranks)
}

// whileThere gives a context that ends too when the Comm has a Fault, with that, or, with
// a *transport.Absent, when one of the ranks cannot come any more to where they meet. Over
// transports between processes one that closed is waited for another Options.Deadline,
// since one that has the new Comm already closes too.
func (c *Comm) whileThere(ctx context.Context, ranks []int) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		every := time.NewTicker(pause / 5)
		defer every.Stop()
		left := map[int]time.Time{}
		for {
			lost := c.watch.lostRanks()
			for _, r := range c.Missing() {
				if !contains(ranks, r) {
					continue
				}
				if left[r].IsZero() {
					left[r] = time.Now()
				}
				switch {
				case contains(lost, r):
					cancel(&transport.Absent{Rank: r, Err: errVanished})
				case time.Since(left[r]) > c.options.Deadline:
					cancel(&transport.Absent{Rank: r, Err: transport.ErrLeft})
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-c.watch.done:
				cancel(c.watch.settled())
				return
			case <-every.C:
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// errVanished is how a rank is lost that the watch misses.
var errVanished = errors.New("its connection ended, or it is silent")

// groupNote tells the ranks of a group that this one has come to where they meet.
type groupNote struct {
	Name   string
	Number int // groups of this name before
}

// hearWhy waits until this rank knows why another one has given a group up. Whoever gives up tells the others, and first of the
// Fault if there is one; so after that word, or the end of its connection, no Fault is under way that this rank has not heard of.
func (w *watch) hearWhy(ctx context.Context, m *ownMeeting) {
	every := time.NewTicker(pause / 50)
	defer every.Stop()
	longest := time.NewTimer(w.c.options.Deadline)
	defer longest.Stop()
	known := make(chan bool, 1)
	for {
		if !w.call(func() { known <- w.meetings.ended(w, m) }) {
			return
		}
		select {
		case yes := <-known:
			if yes {
				return
			}
		case <-w.over: // it may have ended before it came to that
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-longest.C:
			return
		case <-every.C:
		}
	}
}

// meetings are the groups that this rank and others have come to. They belong to the
// watch's goroutine.
type meetings struct {
	came []map[string]int // by rank: how many groups of a name
	went []map[string]int // by rank: the group of a name that it gave up, from 1
	own  []*ownMeeting    // of this rank, under way
	last uint64
}

type ownMeeting struct {
	groupNote
	ranks []int
	id    uint64
	began time.Time
}

func (g *meetings) begin(w *watch, m *ownMeeting) {
	g.last++
	m.id, m.began = g.last, w.ran
	g.own = append(g.own, m)
	for _, r := range m.ranks {
		w.sendTo(r, &message{Kind: "sub", Group: &m.groupNote})
	}
}

// end takes a meeting out. One that did not come about is withdrawn.
func (g *meetings) end(w *watch, m *ownMeeting, met bool) {
	for i := range g.own {
		if g.own[i] == m {
			g.own = append(g.own[:i], g.own[i+1:]...)
			break
		}
	}
	if met {
		return
	}
	f := w.fault.Load()
	for _, r := range m.ranks {
		if f != nil { // it may be known here before it is there
			w.sendTo(r, &message{Kind: "verdict", Fault: f, Dead: w.dead})
		}
		w.sendTo(r, &message{Kind: "sub", Group: &m.groupNote, Away: true})
	}
}

func (g *meetings) hear(from int, n *groupNote, away bool) {
	if g.came[from] == nil {
		g.came[from], g.went[from] = map[string]int{}, map[string]int{}
	}
	g.came[from][n.Name], g.went[from][n.Name] = n.Number+1, 0
	if away {
		g.came[from][n.Name], g.went[from][n.Name] = n.Number, n.Number+1
	}
}

// ended says that it is known why another rank has given a group up: there is a Fault, or none is being settled and a rank has
// said that it gave up, or is gone.
func (g *meetings) ended(w *watch, m *ownMeeting) bool {
	if w.fault.Load() != nil {
		return true
	}
	return w.judging.IsZero() && slices.ContainsFunc(m.ranks, func(r int) bool {
		return r != w.c.Rank() && (g.went[r][m.Name] == m.Number+1 || w.gone[r] != "")
	})
}

// missing are the ranks that have not come to a group.
func (g *meetings) missing(self int, m *ownMeeting) (ranks []int) {
	for _, r := range m.ranks {
		if r != self && g.came[r][m.Name] <= m.Number {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// current is the meeting that this rank is in the longest, nil where it waits for nobody.
func (g *meetings) current(w *watch) *stuck {
	for _, m := range g.own {
		if missing := g.missing(w.c.Rank(), m); len(missing) > 0 {
			return &stuck{Op: uint8(grouping), Seq: w.c.now.seq(), On: missing[0], Mark: m.id<<16 | uint64(missing[0]), Text: fmt.Sprintf("%s of rank %d", m.Name, w.c.Rank())}
		}
	}
	return nil
}

// overdue is the Fault of a meeting that ranks have not come to in time, or nil.
func (g *meetings) overdue(w *watch) *Fault {
	limit := w.c.options.Timeout
	for _, m := range g.own {
		if limit > 0 && w.ran.Sub(m.began) > limit {
			if missing := g.missing(w.c.Rank(), m); len(missing) > 0 {
				return &Fault{Cause: Timeout, Op: "Sub", Seq: w.c.now.seq(), Ranks: missing, Elapsed: w.ran.Sub(m.began), Text: fmt.Sprintf("it has not come: %s of rank %d waits for it", m.Name, w.c.Rank())}
			}
		}
	}
	return nil
}
