package dataloader

import (
	"context"
	"math/bits"
	"runtime/debug"
	"sync"
	"sync/atomic"

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

const (
	// leastSection is the least number of batches that a section is worth making
	// for: one batch's rows lie a page apart in most tables.
	leastSection = 4
	// A section has a thinnest-th of the table's rows at least. With fewer, rows that are sorted
	// batch by batch and asked for ahead are had sooner than the table is read so often.
	thinnest = 12
)

// sections lay out by rows what the batches of the next tickets need, for a
// table that is too large to be laid out as a whole. Its columns are then read
// from end to end, in the order of their rows, once for each section: lines come
// one after the other as the processor foresees, and give as many values as the
// section takes of them, where rows at random cost a line for each value. Of a
// section that takes a share f of the rows, the table's bytes are read 1/f times
// an epoch, its rows written once and read once at random, in ⌈k·e/64⌉ lines each.
//
// There are two: batches are made of one while the other is filled.
type sections struct {
	reader  *tableReader
	coming  coming
	batches int64 // of a section, and of the first one skip fewer: it is there sooner
	skip    int64

	mu      sync.Mutex
	of      [2]*section
	changed chan struct{} // closed when a section was filled, or when none will be
	over    bool          // none will be filled any more
	// free are those to fill, each in a place of its own: a section that is used up
	// before the one before it is, by many workers, keeps its turn.
	free    [2]chan *section
	filling sync.WaitGroup
	rooms   sync.Pool // of *[]int64, for the rows of a batch
}

// section is the rows of some tickets, each once, in their order. All but what the
// tiles hold is as it was filled until all its batches were made.
type section struct {
	number int64  // its tickets, with skip added, are from number times batches on
	filled bool   // guarded by mu
	made   []bool // which of its batches, guarded by mu
	left   int64  // and how many of them are not
	room   *memory.Buffer
	words  []uint64 // a bit for each row of the table
	before []uint32 // how many rows are in the words before
	marked uint32   // and in all
	tiles  []*tile  // of the parts, nil where none of its columns are laid out
}

// at is where a row is in the tiles.
func (s *section) at(row int64) int64 {
	w := uint64(row) >> 6
	return int64(s.before[w]) + int64(bits.OnesCount64(s.words[w]&(1<<(uint64(row)&63)-1)))
}

// newSections begins to fill sections, which together take spare bytes at most;
// nil where they would be too thin.
func newSections(r *tableReader, m memory.Allocator, spare int64, c coming) (*sections, error) {
	width, words := int64(0), ceil(r.rows, 64)
	columns := make([]int64, len(r.parts))
	for i := range r.parts {
		columns[i] = r.parts[i].plain()
		if columns[i] < leastTile {
			columns[i] = 0
		}
		width += columns[i] * r.parts[i].width()
	}
	if width == 0 || c.most == 0 {
		return nil, nil
	}
	room := memory.Padded(words*8) + memory.Padded(words*4)
	rows := (spare/2 - room - int64(len(r.parts))*memory.Alignment) / width
	batches := rows / c.most
	if rows = batches * c.most; batches < leastSection || rows < r.rows/thinnest {
		return nil, nil
	}
	first := max(leastSection, batches/8)
	a := &sections{reader: r, coming: c, batches: batches, skip: batches - first, changed: make(chan struct{})}
	for i := range a.of {
		s := &section{number: -1, made: make([]bool, batches), tiles: make([]*tile, len(r.parts))}
		a.of[i], a.free[i] = s, make(chan *section, 1)
		var err error
		if s.room, err = memory.New(m, room); err != nil {
			a.release()
			return nil, err
		}
		s.words, s.before = view[uint64](s.room.Bytes())[:words], view[uint32](s.room.Bytes()[memory.Padded(words*8):])[:words]
		for k := range r.parts {
			if columns[k] == 0 {
				continue
			}
			buffer, err := memory.New(m, rows*columns[k]*r.parts[k].width())
			if err != nil {
				a.release()
				return nil, err
			}
			s.tiles[k] = &tile{buffer, columns[k], columns[k] * r.parts[k].width()}
		}
		a.free[i] <- s
	}
	return a, nil
}

// plain is how many columns of a part, of the first ones, have no encoding.
func (p *Part) plain() (n int64) {
	for int(n) < len(p.Columns) && p.encoding(int(n)) == nil {
		n++
	}
	return n
}

func (a *sections) release() {
	for _, s := range a.of {
		if s == nil {
			continue
		}
		s.room.Release()
		for _, t := range s.tiles {
			if t != nil {
				t.buffer.Release()
			}
		}
	}
}

func (a *sections) bytes() (n int64) {
	for _, s := range a.of {
		n += s.room.Len()
		for _, t := range s.tiles {
			if t != nil {
				n += t.buffer.Len()
			}
		}
	}
	return n
}

// run fills one section after the other, as they come free, until there are no
// more batches or ctx ends.
func (a *sections) run(ctx context.Context) {
	defer func() {
		_ = recover() // of an order or of what is mapped: the batch itself fails of it
		a.mu.Lock()
		a.over = true
		close(a.changed)
		a.mu.Unlock()
	}()
	for number := int64(0); ; number++ {
		select {
		case s := <-a.free[number%2]:
			if !a.next(ctx, s, number) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// next fills a section and reports whether there may be another.
func (a *sections) next(ctx context.Context, s *section, number int64) bool {
	a.mu.Lock()
	s.number, s.filled = number, false
	a.mu.Unlock()
	clear(s.words)
	n, ok := a.mark(s, number)
	if n == 0 || !ok || ctx.Err() != nil {
		return false
	}
	total := uint32(0)
	for i, w := range s.words {
		s.before[i] = total
		total += uint32(bits.OnesCount64(w))
	}
	s.marked = total
	if !a.reader.fillSection(ctx, s) || ctx.Err() != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(s.made)
	s.filled, s.left = true, n
	close(a.changed)
	a.changed = make(chan struct{})
	return true
}

// mark sets the bits of the rows of a section's batches, and tells how many batches
// there are, and whether their rows are those of the table.
func (a *sections) mark(s *section, number int64) (n int64, ok bool) {
	var next, batches atomic.Int64
	var bad atomic.Bool
	if number == 0 {
		next.Store(a.skip)
	}
	a.reader.beside(func() {
		room, ok := a.rooms.Get().(*[]int64)
		if !ok {
			fresh := make([]int64, a.coming.most)
			room = &fresh
		}
		defer a.rooms.Put(room)
		for k := next.Add(1) - 1; k < a.batches; k = next.Add(1) - 1 {
			rows := a.coming.rows(*room, number*a.batches+k-a.skip)
			if rows == nil {
				return
			}
			for _, r := range rows {
				if uint64(r) >= uint64(a.reader.rows) {
					bad.Store(true)
					return
				}
				if bit := uint64(1) << (uint64(r) & 63); atomic.LoadUint64(&s.words[r>>6])&bit == 0 {
					atomic.OrUint64(&s.words[r>>6], bit)
				}
			}
			batches.Add(1)
		}
	}, &bad)
	return batches.Load(), !bad.Load()
}

// beside runs work on each processor; a panic of it sets bad.
func (r *tableReader) beside(work func(), bad *atomic.Bool) {
	var wg sync.WaitGroup
	for range processors() {
		wg.Go(func() {
			before := debug.SetPanicOnFault(true)
			defer func() {
				debug.SetPanicOnFault(before)
				if recover() != nil {
					bad.Store(true)
				}
			}()
			work()
		})
	}
	wg.Wait()
}

// place is the section of a ticket, and which of its batches that is.
func (a *sections) place(ticket int64) (number, k int64) {
	ticket += a.skip
	return ticket / a.batches, ticket % a.batches
}

// wait gives the section of a ticket when it is filled; nil where there is none:
// the batch is then gathered from the columns.
func (a *sections) wait(ctx context.Context, ticket int64) (*section, error) {
	number, k := a.place(ticket)
	s := a.of[number%2]
	for {
		a.mu.Lock()
		changed, over := a.changed, a.over
		if s.number == number && s.filled && !s.made[k] {
			a.mu.Unlock()
			return s, nil
		}
		passed := s.number > number || s.number == number && s.filled
		a.mu.Unlock()
		if over || passed {
			return nil, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, device.Canceled(ctx, "", "dataloader")
		}
	}
}

// done notes that a ticket's batch was made of a section.
func (a *sections) done(s *section, ticket int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, k := a.place(ticket); !s.made[k] {
		s.made[k] = true
		if s.left--; s.left == 0 {
			a.free[s.number%2] <- s
		}
	}
}

// readTicket is Read, of a section where there is one.
func (r *tableReader) readTicket(ctx context.Context, ticket int64, rows []int64, to []Tensor) error {
	if r.ahead == nil {
		return r.Read(ctx, rows, to)
	}
	s, err := r.ahead.wait(ctx, ticket)
	if err != nil {
		return err
	}
	if err := r.read(ctx, s, rows, to); err != nil || s == nil {
		return err
	}
	r.ahead.done(s, ticket)
	return nil
}
