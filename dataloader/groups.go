package dataloader

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// coming is what a loader knows of the batches to come.
type coming struct {
	most    int64 // rows of the largest
	inOrder bool  // rows come in the order of the data
	// rows are those of the batch of a ticket, in room for the largest, or nil
	// where there is none.
	rows func(room []int64, ticket int64) []int64
}

// foreseeing is a Source that reads faster when it knows which rows come.
type foreseeing interface {
	openAhead(ctx context.Context, m memory.Allocator, parts []Part, spare int64, c coming) (Reader, error)
}

// ticketReader is a Reader that is asked for the batches of a coming.
type ticketReader interface {
	// readTicket is Read of the rows of a ticket's batch, or of some of them.
	readTicket(ctx context.Context, ticket int64, rows []int64, to []Tensor) error
}

// skipped is how many batches are gathered from the columns before those of the first
// group: the first one does not wait until the table was read from end to end.
const skipped = 2

// groups lay out by rows what the batches of the next tickets need, for a table that is
// too large to be laid out as a whole. Its columns are read in the order of their rows,
// from end to end, round after round: lines come one after the other as the processor
// foresees, and give as many values as are marked in them, where rows at random cost a
// line for each value.
//
// A round is some legs. With each leg a group opens, the rows of the next batches, and a
// round later it has them all: its batches are made then, and its memory goes to groups
// that open after it. So as many groups are open as a round has legs, and have half of
// their rows on average: the memory has rows of nearly twice as many batches as it has
// room for, and the table of n bytes is read n/2s times an epoch with s bytes of memory.
type groups struct {
	groupSize
	reader *tableReader
	coming coming
	tiles  []*tile // the places, for each part, nil where none of its columns are laid out
	spread bool    // whether all columns are laid out from where they lie
	lists  *memory.Buffer
	room   []int64  // of who fills the next group: rows of a batch
	next   []uint32 // the same: of each unit the number of the next row

	mu      sync.Mutex
	turned  sync.Cond     // there may be something to do
	changed chan struct{} // closed when a group is complete, or when none will be; nil where nobody waits
	over    bool          // no group will be complete any more
	of      []*group      // the slots: group k is in slot k modulo their number
	free    []uint32      // blocks
	leg     int64         // that is read, -1 before the first
	unit    int64         // of it that is read next
	end     int64         // behind its last
	pending [2]int64      // units that are not read, of this leg and the one before, by their last bit
	open    [2][]*group   // the groups of these legs
	fill    filling
	number  int64 // of the group that is to be filled, or is, or was
	working sync.WaitGroup
}

// filling is how far the next group is.
type filling int

const (
	toFill filling = iota
	beingFilled
	filled
	noneLeft // and no group will be
)

// newGroups prepares groups that take spare bytes at most; nil where they would be too
// small.
func newGroups(r *tableReader, m memory.Allocator, spare int64, c coming) (*groups, error) {
	width, columns := int64(0), make([]int64, len(r.parts))
	for i := range r.parts {
		if k := r.parts[i].plain(); k >= leastTile {
			columns[i] = k
			width += k * r.parts[i].width()
		}
	}
	if width == 0 || c.most == 0 {
		return nil, nil
	}
	size, ok := groupSizeOf(r.rows, width, c.most, spare-int64(len(r.parts)+1)*memory.Alignment)
	if !ok {
		return nil, nil
	}
	a := &groups{groupSize: size, reader: r, coming: c, leg: -1, tiles: make([]*tile, len(r.parts)), room: make([]int64, c.most), next: make([]uint32, size.units)}
	a.turned.L = &a.mu
	var err error
	if a.lists, err = memory.New(m, size.listBytes()); err != nil {
		return nil, err
	}
	for i, k := range columns {
		if k == 0 {
			continue
		}
		w := k * r.parts[i].width()
		buffer, err := memory.New(m, size.places()*w)
		if err != nil {
			a.release()
			return nil, err
		}
		a.tiles[i] = &tile{buffer, k, w}
	}
	a.spread = a.allSpread()
	room := a.lists.Bytes()
	for range size.slots() {
		var g *group
		g, room = newGroup(&size, room)
		a.of = append(a.of, g)
	}
	for i := range a.open {
		a.open[i] = make([]*group, 0, size.legs)
	}
	a.free = make([]uint32, 0, size.blocks)
	for i := size.blocks; i > 0; i-- {
		a.free = append(a.free, uint32(i-1))
	}
	return a, nil
}

func (a *groups) release() {
	a.lists.Release()
	for _, t := range a.tiles {
		if t != nil {
			t.buffer.Release()
		}
	}
}

func (a *groups) allBytes() int64 {
	n := a.lists.Len()
	for _, t := range a.tiles {
		if t != nil {
			n += t.buffer.Len()
		}
	}
	return n
}

// border is the first unit of a leg of a round; of leg a.legs how many there are.
func (a *groups) border(leg int64) int64 { return leg * a.units / a.legs }

// begin reads the table until there are no more batches or ctx ends.
func (a *groups) begin(ctx context.Context) {
	context.AfterFunc(ctx, a.finish)
	for number := range a.readers {
		a.working.Go(func() {
			before := debug.SetPanicOnFault(true)
			defer func() {
				debug.SetPanicOnFault(before)
				if recover() != nil {
					a.finish() // of an order or of what is mapped: the batch itself fails of it
				}
			}()
			a.work(number)
		})
	}
}

// finish ends the reading.
func (a *groups) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished()
}

// finished is finish where mu is held.
func (a *groups) finished() {
	a.over = true
	a.turned.Broadcast()
	a.tell()
}

// tell wakes who waits for a group. mu is held.
func (a *groups) tell() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// work fills groups and reads units, whichever is to be done, until it is over.
func (a *groups) work(number int) {
	p := newPicker(a, number)
	p.room = a.reader.borrow()
	defer a.reader.giveBack(p.room)
	a.mu.Lock()
	for !a.over {
		switch {
		case a.fill == toFill:
			a.fill = beingFilled
			g, number := a.of[a.number%a.slots()], a.number
			g.number, g.start, g.complete = number, -1, false
			a.mu.Unlock()
			ok := g.fill(a, number)
			a.mu.Lock()
			switch {
			case !ok:
				a.finished()
			case g.left == 0:
				g.number, a.fill = -1, noneLeft
			default:
				a.fill = filled
			}
			a.turned.Broadcast()
		case a.unit < a.end:
			leg, unit := a.leg, a.unit
			a.unit++
			open := a.open[leg&1]
			a.mu.Unlock()
			a.read(p, unit, open)
			letIn()
			a.mu.Lock()
			a.pending[leg&1]--
			a.completed()
		case !a.turn():
			a.turned.Wait()
		}
	}
	a.mu.Unlock()
}

// completed notes which groups are complete. mu is held.
func (a *groups) completed() {
	done := a.leg // up to which all legs are
	switch {
	case a.pending[(a.leg+1)&1] > 0:
		done = a.leg - 2
	case a.pending[a.leg&1] > 0:
		done = a.leg - 1
	default:
		a.turned.Broadcast()
	}
	for _, g := range a.of {
		if g.started() && !g.complete && g.start+a.legs-1 <= done {
			g.complete = true
			a.tell()
			a.turned.Broadcast()
		}
	}
}

// started reports whether a group has opened, and not all its batches are made.
func (g *group) started() bool { return g.number >= 0 && g.start >= 0 }

// turn begins the next leg, if it can, and reports whether it has. All units of this one
// are taken; mu is held.
func (a *groups) turn() bool {
	leg := a.leg + 1
	if a.pending[leg&1] > 0 || a.fill == beingFilled {
		return false
	}
	open := a.open[leg&1][:0]
	for _, g := range a.of {
		switch {
		case !g.started():
		case g.start+a.legs > leg:
			open = append(open, g)
		case g.start+a.legs < leg:
			return false // its batches are to be made first
		}
	}
	if a.fill == filled {
		if g := a.of[a.number%a.slots()]; a.fits(g, leg) {
			g.start, g.base, g.taken = leg, int64(g.first[a.border(leg%a.legs)]), 0
			open = append(open, g)
			a.fill = toFill
			a.number++
		}
	}
	if len(open) == 0 {
		if a.fill == noneLeft && !a.anyStarted() {
			a.finished()
		}
		return false
	}
	for _, g := range open {
		for n := blocksOf(g.collected(a, g.start, leg-g.start+1)); g.taken < n; g.taken++ {
			g.blocks[g.taken] = a.free[len(a.free)-1]
			a.free = a.free[:len(a.free)-1]
		}
	}
	a.leg, a.open[leg&1] = leg, open
	a.unit, a.end = a.border(leg%a.legs), a.border(leg%a.legs+1)
	a.pending[leg&1] = a.end - a.unit
	a.completed()
	a.turned.Broadcast()
	return true
}

// anyStarted reports whether there are batches yet to be made.
func (a *groups) anyStarted() bool {
	for _, g := range a.of {
		if g.started() {
			return true
		}
	}
	return false
}

// fits reports whether there will be room for all open groups if one more opens with a
// leg, in every leg until it is complete.
func (a *groups) fits(one *group, leg int64) bool {
	for at := leg; at < leg+a.legs; at++ {
		n := blocksOf(one.collected(a, leg, at-leg+1))
		for _, g := range a.of {
			if g.started() && g.start+a.legs >= at {
				n += blocksOf(g.collected(a, g.start, at-g.start+1))
			}
		}
		if n > a.blocks {
			return false
		}
	}
	return true
}

// wait gives the group of a ticket when it is complete, and which of its batches the
// ticket's is; nil where there is none: the batch is then gathered from the columns.
func (a *groups) wait(ctx context.Context, ticket int64) (*group, int64, error) {
	if ticket -= skipped; ticket < 0 {
		return nil, 0, nil
	}
	number, k := ticket/a.batches, ticket%a.batches
	g := a.of[number%a.slots()]
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		switch {
		case g.number == number && g.complete && !g.made[k]:
			return g, k, nil
		case a.over || g.number == number && g.complete || number < a.number && g.number != number:
			return nil, 0, nil
		}
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		changed := a.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		a.mu.Lock()
		if err := device.Canceled(ctx, "", "dataloader"); err != nil {
			return nil, 0, err
		}
	}
}

// done notes that a batch of a group was made.
func (a *groups) done(g *group, k int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g.made[k] {
		return
	}
	g.made[k] = true
	if g.left--; g.left == 0 {
		a.free = append(a.free, g.blocks[:g.taken]...)
		g.number, g.start = -1, -1
		a.turned.Broadcast()
	}
}

// readTicket is Read, of a group where there is one.
func (r *tableReader) readTicket(ctx context.Context, ticket int64, rows []int64, to []Tensor) error {
	if r.ahead == nil {
		return r.Read(ctx, rows, to)
	}
	g, k, err := r.ahead.wait(ctx, ticket)
	if err != nil {
		return err
	}
	from := from{g, k}
	if g != nil && g.begins[k+1]-g.begins[k] != int64(len(rows)) {
		from.group = nil // some are left out
	}
	if err := r.read(ctx, from, rows, to); err != nil || g == nil {
		return err
	}
	r.ahead.done(g, k)
	return nil
}

// from is a batch of a group that is read from; of none where the group is nil.
type from struct {
	group *group
	batch int64
}
