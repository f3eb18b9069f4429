package dataloader

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sort"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Window makes each row of a batch a window over the rows of a time series, as
// forecasting needs it. The features of a window are History rows that follow
// each other, a tensor of rows, steps and columns; its labels are the Horizon
// rows after those. A column may be feature and label; without Options.Features
// all columns but Entity are features.
//
// Windows are numbered in the order of the data: they are what Batch.Rows tells,
// what an Order is over, and what is sharded. A window never has rows of two
// entities.
type Window struct {
	History int64 // rows of the past, at least 1
	Horizon int64 // rows to foretell; 0 means that the labels are those of the last row of the past, without steps
	Stride  int64 // rows from a window to the next; 0 means 1
	// Entity is a column of numbers, or of texts or bytes, that tells series apart that
	// lie one after the other in the data: a new one begins where its value, or null,
	// changes. Empty, all rows are one series.
	Entity string
}

// windowed is a source of windows over another.
type windowed struct {
	Source
	window  Window
	entity  int     // the column, or -1
	firsts  []int64 // the first row of each series that has windows
	windows []int64 // and its first window; behind the last the number of windows
}

// scanRows is how many rows are looked at together for series.
const scanRows = 1 << 16

// newWindowed finds the series.
func newWindowed(ctx context.Context, s Source, w Window) (*windowed, error) {
	if w.Stride == 0 {
		w.Stride = 1
	}
	if w.History < 1 || w.Horizon < 0 || w.Stride < 1 {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "windows of %d rows and %d more, every %d rows", w.History, w.Horizon, w.Stride)
	}
	if err := checkResizing(s, "windows"); err != nil {
		return nil, err
	}
	v := &windowed{Source: s, window: w, entity: -1, windows: []int64{0}}
	if w.Entity == "" {
		v.add(0, s.NumRows())
		return v, nil
	}
	if _, taken := s.(*Taken); taken {
		return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q, which tells series apart, is read beforehand: give the table by FromTable and not TakeTable", w.Entity)
	}
	at := s.Schema().FieldIndices(w.Entity)
	if len(at) != 1 {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "there is no column %q to tell series apart by", w.Entity)
	}
	p := Part{Columns: at, Mask: true}
	switch typ := s.Schema().Field(at[0]).Type; {
	case numberOf(typ) != nil:
		p.Type = numberOf(typ)
	case isBytes(typ):
		p.Type, p.Encodings = arrow.PrimitiveTypes.Uint64, []*Encoding{digests}
	default:
		return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q, which tells series apart, is of type %v: numbers, texts and bytes do that", w.Entity, typ)
	}
	v.entity = at[0]
	return v, v.scan(ctx, p)
}

// digests stand for texts that are only to be told apart: 128 bits of their SHA-256.
var digests = Decode(arrow.PrimitiveTypes.Uint64, 2, func(value, to []byte) error {
	sum := sha256.Sum256(value)
	copy(to, sum[:len(to)])
	return nil
})

// add notes a series.
func (v *windowed) add(from, to int64) {
	n := to - from - v.window.History - v.window.Horizon
	if n < 0 {
		return
	}
	v.firsts = append(v.firsts, from)
	v.windows = append(v.windows, v.NumRows()+n/v.window.Stride+1)
}

// scan reads the column of series from one end to the other.
func (v *windowed) scan(ctx context.Context, p Part) error {
	r, err := v.Source.Open(ctx, memory.Heap, []Part{p}, 0)
	if err != nil {
		return err
	}
	rows, each, e := make([]int64, scanRows), p.elements(), p.elements()*p.width()
	bytes, mask := alignedBytes(scanRows*e), make([]byte, scanRows*each)
	last, begun := make([]byte, e+1), int64(0)
	for at := int64(0); at < v.Source.NumRows(); at += scanRows {
		n := min(scanRows, v.Source.NumRows()-at)
		for i := range rows[:n] {
			rows[i] = at + int64(i)
		}
		if err := r.Read(ctx, rows[:n], []Tensor{p.over(n, bytes, mask, nil)}); err != nil {
			return errors.Join(err, r.Close())
		}
		for i := range n {
			same := slices.Equal(last[:e], bytes[i*e:(i+1)*e]) && last[e] == mask[i*each]
			if !same {
				copy(last, bytes[i*e:(i+1)*e])
				last[e] = mask[i*each]
				if at+i > 0 {
					v.add(begun, at+i)
				}
				begun = at + i
			}
		}
	}
	v.add(begun, v.Source.NumRows())
	return r.Close()
}

// NumRows is how many windows there are.
func (v *windowed) NumRows() int64 { return v.windows[len(v.windows)-1] }

// Fingerprint is that of the columns, and of that which tells series apart.
func (v *windowed) Fingerprint(ctx context.Context, columns []int) (uint32, error) {
	if v.entity >= 0 {
		columns = append(columns[:len(columns):len(columns)], v.entity)
	}
	return v.Source.Fingerprint(ctx, columns)
}

// Open opens the source once for each stretch of rows.
func (v *windowed) Open(ctx context.Context, m memory.Allocator, parts []Part, spare int64) (Reader, error) {
	r := &windowReader{of: v}
	for i, p := range parts {
		k := slices.IndexFunc(r.stretches, func(s stretch) bool { return s.from == p.From && s.steps == p.Steps })
		if k < 0 {
			k = len(r.stretches)
			r.stretches = append(r.stretches, stretch{from: p.From, steps: p.Steps})
		}
		r.stretches[k].parts = append(r.stretches[k].parts, i)
	}
	for k := range r.stretches {
		s := &r.stretches[k]
		var inner []Part
		for _, i := range s.parts {
			p := parts[i]
			p.From, p.Steps = 0, 0
			inner = append(inner, p)
		}
		var err error
		if s.reader, err = v.Source.Open(ctx, m, inner, spare); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		spare = max(0, spare-s.reader.Bytes())
	}
	return r, nil
}

// stretch is the parts of some steps of each window.
type stretch struct {
	from, steps int64
	parts       []int
	reader      Reader
}

// windowReader reads windows as rows of their source.
type windowReader struct {
	of        *windowed
	stretches []stretch
	room      sync.Pool // of *windowRoom
}

// windowRoom is what one Read works in.
type windowRoom struct {
	first, rows []int64
	tensors     []Tensor
	later       gathered // of a stretch, nil where it is read
}

// Read reads every row of every window.
func (r *windowReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	room := r.borrow()
	defer r.room.Put(room)
	if err := r.begins(room, rows); err != nil {
		return err
	}
	for k := range r.stretches {
		s := &r.stretches[k]
		if err := s.spread(room, room.first, to); err != nil {
			return err
		}
		if err := s.reader.Read(ctx, room.rows, room.tensors); err != nil {
			return s.ofWindows(err)
		}
	}
	return nil
}

// borrow gives a room that nobody works in.
func (r *windowReader) borrow() *windowRoom {
	room, ok := r.room.Get().(*windowRoom)
	if !ok {
		room = new(windowRoom)
	}
	return room
}

// begins finds the first row of each window.
func (r *windowReader) begins(room *windowRoom, rows []int64) error {
	room.first = room.first[:0]
	v := r.of
	for _, w := range rows {
		if w < 0 || w >= v.NumRows() {
			return device.Errorf(device.ErrValue, "", "dataloader", "window %d of %d", w, v.NumRows())
		}
		k := sort.Search(len(v.firsts), func(i int) bool { return v.windows[i+1] > w })
		room.first = append(room.first, v.firsts[k]+(w-v.windows[k])*v.window.Stride)
	}
	return nil
}

// spread makes the rows and tensors of a stretch.
func (s *stretch) spread(room *windowRoom, firsts []int64, to []Tensor) error {
	room.rows, room.tensors = room.rows[:0], room.tensors[:0]
	steps := max(1, s.steps)
	for _, first := range firsts {
		for j := range steps {
			room.rows = append(room.rows, first+s.from+j)
		}
	}
	for _, i := range s.parts {
		if i >= len(to) {
			return device.Errorf(device.ErrMismatch, "", "dataloader", "%d tensors, and there is a part %d", len(to), i)
		}
		t := to[i]
		t.Rows, t.RowStride, t.Steps, t.StepStride = t.Rows*steps, t.Columns, 0, 0
		room.tensors = append(room.tensors, t)
	}
	return nil
}

// gather is the first step of every stretch, each in a room of its own.
func (r *windowReader) gather(ctx context.Context, _ int64, rows []int64, to []Tensor) (_ gathered, err error) {
	g := &gatheredWindows{of: r}
	defer func() {
		if err != nil {
			g.drop()
		}
	}()
	for k := range r.stretches {
		s, room := &r.stretches[k], r.borrow()
		g.rooms = append(g.rooms, room)
		if k == 0 {
			if err := r.begins(room, rows); err != nil {
				return nil, err
			}
		}
		if err := s.spread(room, g.rooms[0].first, to); err != nil {
			return nil, err
		}
		if room.later, err = firstStep(ctx, s.reader, -1, room.rows, room.tensors); err != nil {
			return nil, s.ofWindows(err)
		}
	}
	return g, nil
}

// gatheredWindows are the stretches of a batch.
type gatheredWindows struct {
	of    *windowReader
	rooms []*windowRoom
}

// evaluate evaluates one stretch after the other.
func (g *gatheredWindows) evaluate(ctx context.Context, _ func(int64) []Tensor) (int64, error) {
	defer g.drop()
	for k, room := range g.rooms {
		later := room.later
		if room.later = nil; later == nil {
			continue
		}
		if _, err := later.evaluate(ctx, func(int64) []Tensor { return room.tensors }); err != nil {
			return 0, g.of.stretches[k].ofWindows(err)
		}
	}
	return int64(len(g.rooms[0].first)), nil
}

// drop gives the rooms back.
func (g *gatheredWindows) drop() {
	for _, room := range g.rooms {
		if room.later != nil {
			room.later.drop()
			room.later = nil
		}
		g.of.room.Put(room)
	}
	g.rooms = nil
}

// ofWindows says of bad rows which windows they spoil.
func (s *stretch) ofWindows(err error) error {
	steps := int(max(1, s.steps))
	bad := badOf(err)
	if bad == nil {
		return err
	}
	out := &BadRows{Err: err}
	for _, p := range bad {
		out.Positions = append(out.Positions, p/steps)
	}
	out.Positions = slices.Compact(out.Positions)
	return out
}

// Check looks whether the data is what it was.
func (r *windowReader) Check(ctx context.Context) error {
	if c, ok := r.stretches[0].reader.(checker); ok {
		return c.Check(ctx)
	}
	return nil
}

// stages are those of the source's readers.
func (r *windowReader) stages() (sum stages) {
	for _, s := range r.stretches {
		of := stagesOf(s.reader)
		sum.read, sum.load, sum.wait, sum.transform = sum.read+of.read, sum.load+of.load, sum.wait+of.wait, sum.transform+of.transform
		sum.readWait, sum.roomWait = sum.readWait+of.readWait, sum.roomWait+of.roomWait
	}
	return sum
}

// Bytes is what the source's readers hold.
func (r *windowReader) Bytes() (n int64) {
	for _, s := range r.stretches {
		n += s.reader.Bytes()
	}
	return n
}

// Close closes the source's readers.
func (r *windowReader) Close() error {
	var errs []error
	for _, s := range r.stretches {
		if s.reader != nil {
			errs = append(errs, s.reader.Close())
		}
	}
	return errors.Join(errs...)
}
