package collective

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync/atomic"

	"github.com/volley-go/volley/collective/algorithm"
)

// What follows is for those who carry operations beside the Comm, such as by the
// library of a device's maker, and want its checks and its Faults.

// cell is what a rank says of its call: a hash of the text, and its beginning.
const cell = 128

// Agree is a Barrier before a call that something else carries. what describes the call
// and must be the same on all ranks; where it is not, all get a Fault with the cause
// Mismatch and the texts.
func (c *Comm) Agree(ctx context.Context, what string) error {
	return c.turn(ctx, c.turns.take(), &agreement{what})
}

type agreement struct{ what string }

func (a *agreement) op() algorithm.Op { return algorithm.AllGather }

func (a *agreement) run(c *Comm) error {
	own, all := make([]byte, cell), make([]byte, cell*c.Size())
	h := fnv.New64a()
	h.Write([]byte(a.what))
	copy(own, h.Sum(nil))
	copy(own[h.Size():], a.what)
	r, err := c.allGather(Of(own), Of(all), nil)
	if err != nil {
		return err
	}
	if err := r.run(c); err != nil {
		return err
	}
	said := func(rank int) []byte { return all[rank*cell : (rank+1)*cell] }
	d := &disagreement{}
	for rank := range c.Size() {
		if !bytes.Equal(said(rank), said(0)) {
			d.ranks = append(d.ranks, rank)
		}
	}
	if d.ranks == nil {
		return nil
	}
	words := func(rank int) []byte { return bytes.TrimRight(said(rank)[h.Size():], "\x00") }
	d.text = fmt.Sprintf("%s of rank 0 meets %s of rank %d", words(0), words(d.ranks[0]), d.ranks[0])
	d.ranks = append(d.ranks, 0)
	return d
}

// disagreement is what ranks in different calls find.
type disagreement struct {
	ranks []int
	text  string
}

func (d *disagreement) Error() string { return d.text }

// Missing are the ranks whose connection has ended or that were silent for
// Options.Deadline, in order. An operation that needs one of them ends with a Fault by
// itself; who waits for them elsewhere makes one of it with Report.
func (c *Comm) Missing() []int {
	if m := c.watch.missing.Load(); m != nil {
		return *m
	}
	return nil
}

// Report tells all ranks of trouble that this one met beside the Comm, and gives the
// Fault that they settle on: f, unless another rank has met something before. Of f its
// Cause, Ranks and Text count, and Op between operations.
func (c *Comm) Report(f Fault) error {
	if err := c.ready("report"); err != nil {
		return err
	}
	f.Seq = c.now.seq()
	f.Ranks = slices.Clone(f.Ranks)
	c.watch.report(&f)
	return c.watch.settled()
}

// Deterministic is Options.Deterministic.
func (c *Comm) Deterministic() bool { return c.options.Deterministic }

// publish is what Missing and Shrink read.
func (w *watch) publish() {
	var now, lost []int
	for r, why := range w.gone {
		if why != "" {
			now = append(now, r)
		}
		if why == Lost {
			lost = append(lost, r)
		}
	}
	show(&w.lost, lost) // first: who is missing and not lost has left
	show(&w.missing, now)
}

func show(at *atomic.Pointer[[]int], now []int) {
	if before := at.Load(); before == nil && now != nil || before != nil && !slices.Equal(*before, now) {
		at.Store(&now)
	}
}

// lostRanks are the ranks that are missing and did not leave.
func (w *watch) lostRanks() []int {
	if l := w.lost.Load(); l != nil {
		return *l
	}
	return nil
}
