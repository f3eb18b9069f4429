package dataloader

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// tableReader gathers rows of a table.
type tableReader struct {
	table   *table.Table
	rows    int64
	starts  []int64 // the first row of each chunk, and behind the last the number of rows
	first   []int32 // of the rows r with r>>shift = i: the chunk of the least of them
	shift   uint
	parts   []openPart
	scratch chan *scratch

	laying sync.WaitGroup // tiles that are being filled, beside the first batches
	stop   context.CancelFunc
	ahead  *groups // nil where there are none
}

// openPart is a part with what reads its columns.
type openPart struct {
	Part
	columns []openColumn
	tile    *tile        // nil where there is none
	laid    *atomic.Bool // whether the tile is filled
}

// openColumn is what reads a column: a gatherer, or by an encoding.
type openColumn struct {
	gatherer
	encoded
	words []unsafe.Pointer // where those of each chunk begin, of a column of words as they are
	first int64            // of its columns in the tensor
	name  string
}

// scratch is what one Read works in.
type scratch struct {
	local   [blockRows]int64
	chunk   [blockRows]int32
	laid    [blockRows]int64 // where the rows of a group are
	from                     // which batch that is
	sorter                   // of the rows of a batch
	sorted  bool             // whether columns of words are gathered already
	block   turnBlock
	touched byte
}

// newTableReader opens a table. Where spare bytes do not hold it and c, which may
// be nil, says what comes, they hold that.
func newTableReader(ctx context.Context, t *table.Table, m memory.Allocator, parts []Part, spare int64, c *coming) (_ *tableReader, err error) {
	r := &tableReader{table: t.Retain(), rows: t.NumRows(), starts: []int64{0}, scratch: make(chan *scratch, 64)}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	for _, b := range t.Chunks() {
		r.starts = append(r.starts, r.starts[len(r.starts)-1]+b.Len())
	}
	r.index()
	for _, p := range parts {
		o, err := openPartOf(ctx, t, p)
		if err != nil {
			return nil, err
		}
		r.parts = append(r.parts, o)
	}
	if c != nil && !r.holds(spare) {
		if r.ahead, err = newGroups(r, m, spare, *c); err != nil {
			return nil, err
		}
	}
	for i := range r.parts {
		if r.ahead != nil {
			break
		}
		p := &r.parts[i]
		if k := tileColumns(&p.Part, r.rows, spare); k > 0 {
			if p.tile, err = r.newTile(m, p, k); err != nil {
				return nil, err
			}
			p.laid = new(atomic.Bool)
			spare -= p.tile.buffer.Len()
		}
	}
	r.lay()
	return r, nil
}

// holds reports whether tiles of all columns that can be in one take no more than
// spare bytes.
func (r *tableReader) holds(spare int64) bool {
	for i := range r.parts {
		if k := r.parts[i].plain(); k >= leastTile {
			spare -= memory.Padded(r.rows * k * r.parts[i].width())
		}
	}
	return spare >= 0
}

// lay begins to fill the tiles. Until one is filled, its columns are gathered as
// the others are: the first batch does not wait for it.
func (r *tableReader) lay() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	if r.ahead != nil {
		r.ahead.begin(ctx)
	}
	for i := range r.parts {
		p := &r.parts[i]
		if p.tile == nil {
			continue
		}
		r.laying.Go(func() {
			if r.fill(ctx, p.tile, p, 0) == nil {
				p.laid.Store(true)
			}
		})
	}
}

// openPartOf makes what reads the columns of a part.
func openPartOf(ctx context.Context, t *table.Table, p Part) (openPart, error) {
	o := openPart{Part: p}
	first := int64(0)
	for i, c := range p.Columns {
		one := openColumn{first: first, name: t.Schema().Field(c).Name}
		err := checkColumn(ctx, t, c, &p)
		if e := p.encoding(i); err == nil && e != nil {
			one.encoded, err = newEncoded(t, c, e, p.Type)
		} else if err == nil {
			one.gatherer, err = newGatherer(t, c, p.Type)
			if err == nil && arrow.IsInteger(p.Type.ID()) && numberOf(t.Schema().Field(c).Type).ID() != p.Type.ID() {
				err = one.fits(ctx, one.name)
			}
			if w, ok := one.gatherer.(wordColumn); ok && err == nil && len(t.Chunks()) > 0 && w.words(0) != nil {
				for k := range t.Chunks() {
					one.words = append(one.words, unsafe.Pointer(unsafe.SliceData(w.words(int32(k)))))
				}
			}
		}
		if err != nil {
			return o, err
		}
		o.columns = append(o.columns, one)
		first += p.encoding(i).elements()
	}
	return o, nil
}

// checkColumn is an error for nulls that there is no mask for.
func checkColumn(ctx context.Context, t *table.Table, column int, p *Part) error {
	if err := device.Canceled(ctx, "", "dataloader"); err != nil || p.Mask {
		return err
	}
	nulls := int64(0)
	for _, b := range t.Chunks() {
		nulls += b.Column(column).NullCount()
	}
	if nulls > 0 {
		return nullsError(t.Schema().Field(column).Name, nulls)
	}
	return nil
}

func nullsError(column string, nulls int64) error {
	return device.Errorf(device.ErrMismatch, "", "dataloader", "column %q has %d nulls: fill them, filter them out, or ask for masks", column, nulls)
}

// index makes the table of chunks by row. It has some entries a chunk, so that
// chunks of like length are found in a step or two.
func (r *tableReader) index() {
	if len(r.starts) <= 2 {
		return
	}
	r.shift = uint(max(0, bits.Len64(uint64(r.rows))-bits.Len(uint(len(r.starts)))-2))
	for row := int64(0); row < r.rows; row += 1 << r.shift {
		c := sort.Search(len(r.starts)-1, func(i int) bool { return r.starts[i+1] > row })
		r.first = append(r.first, int32(c))
	}
}

// locate gives the chunks of rows and the places therein; a table of one chunk
// has none to tell.
func (r *tableReader) locate(rows []int64, s *scratch) ([]int64, []int32) {
	if r.first == nil {
		return rows, nil
	}
	local, chunk := s.local[:len(rows)], s.chunk[:len(rows)]
	for i, row := range rows {
		c := r.first[row>>r.shift]
		if r.starts[c+1] <= row {
			last := len(r.starts) - 1
			if next := row>>r.shift + 1; next < int64(len(r.first)) {
				last = int(r.first[next]) + 1
			}
			c += int32(sort.Search(last-int(c), func(i int) bool { return r.starts[int(c)+i+1] > row }))
		}
		local[i], chunk[i] = row-r.starts[c], c
	}
	return local, chunk
}

func (r *tableReader) borrow() *scratch {
	select {
	case s := <-r.scratch:
		return s
	default:
		return new(scratch)
	}
}

func (r *tableReader) giveBack(s *scratch) {
	s.from, s.sorted = from{}, false
	select {
	case r.scratch <- s:
	default:
	}
}

// Read gathers block by block, so that what is written stays near.
func (r *tableReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	return r.read(ctx, from{}, rows, to)
}

// read is Read, of a batch of a group where there is one.
func (r *tableReader) read(ctx context.Context, of from, rows []int64, to []Tensor) error {
	if len(to) != len(r.parts) {
		return device.Errorf(device.ErrMismatch, "", "dataloader", "%d tensors for %d parts", len(to), len(r.parts))
	}
	for i := range to {
		if !r.parts[i].is(&to[i], int64(len(rows))) {
			return device.Errorf(device.ErrMismatch, "", "dataloader", "tensor %d is not that of %d rows of its part", i, len(rows))
		}
	}
	s := r.borrow()
	defer r.giveBack(s)
	s.from = of
	return r.readAt(ctx, s, rows, to, 0)
}

// readAt is Read into the rows of the tensors from first on, which are not looked
// at otherwise.
func (r *tableReader) readAt(ctx context.Context, s *scratch, rows []int64, to []Tensor, first int64) error {
	if s.sorted = r.sorts(s, rows); s.sorted {
		if err := r.gatherSorted(ctx, s, rows, to, first); err != nil {
			return err
		}
	}
	for at := int64(0); at < int64(len(rows)); at += blockRows {
		if at&0xffff == 0 {
			if err := device.Canceled(ctx, "", "dataloader"); err != nil {
				return err
			}
		}
		block := rows[at:min(at+blockRows, int64(len(rows)))]
		for _, row := range block {
			if uint64(row) >= uint64(r.rows) {
				return device.Errorf(device.ErrValue, "", "dataloader", "row %d of %d", row, r.rows)
			}
		}
		if s.group != nil {
			s.group.places(s.laid[:len(block)], s.batch, at)
		}
		for i := range r.parts {
			if err := r.readPart(ctx, s, i, &to[i], first+at, block); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPart writes a block of rows, which are there, into a tensor from its row at
// on.
func (r *tableReader) readPart(ctx context.Context, s *scratch, i int, to *Tensor, at int64, block []int64) error {
	p := &r.parts[i]
	local, chunk := r.locate(block, s)
	tiled := int64(0)
	if p.tile != nil && p.laid.Load() {
		tiled = p.tile.columns
		s.touched ^= p.tile.copyTo(to, at, block)
	}
	if s.group != nil && r.ahead.tiles[i] != nil {
		tiled = r.ahead.tiles[i].columns
		s.touched ^= r.ahead.tiles[i].copyTo(to, at, s.laid[:len(block)])
	}
	if p.Mask {
		p.setValid(to, at, int64(len(block)))
	}
	run := isRun(local, chunk)
	if run {
		gatherRun(p.columns[tiled:], &s.block, to.Data, at*to.RowStride, to.RowStride, to.ColumnStride, local, chunk)
	}
	for c := range p.columns {
		g := &p.columns[c]
		if g.encoded != nil {
			if err := g.put(ctx, to, at, g.first, local, chunk); err != nil {
				return badRow(err, g.name, at, block)
			}
			continue
		}
		k := at*to.RowStride + g.first*to.ColumnStride
		if int64(c) >= tiled && !run {
			if g.words == nil || !s.sorted {
				g.gather(to.Data, k, to.RowStride, local, chunk)
			}
		}
		if p.Mask {
			g.mark(to.Data, to.Valid, k, to.RowStride, local, chunk)
		}
	}
	return nil
}

// badRow names the row that is wrong in a block, which begins at a position.
func badRow(err error, column string, at int64, block []int64) error {
	var row *rowError
	if !errors.As(err, &row) {
		return err
	}
	return &BadRows{[]int{int(at) + row.at}, fmt.Errorf("row %d of column %q: %w", block[row.at], column, row.err)}
}

// setValid says of all elements of some rows that they are no nulls.
func (p *Part) setValid(to *Tensor, at, n int64) {
	runs, length := int64(1), n*to.RowStride
	if p.ColumnMajor {
		runs, length = to.Columns, n
	}
	for c := range runs {
		valid := to.Valid[at*to.RowStride+c*to.ColumnStride:][:length]
		for i := range valid {
			valid[i] = 1
		}
	}
}

// Bytes is the size of the tiles.
func (r *tableReader) Bytes() int64 {
	n := int64(0)
	if r.ahead != nil {
		n = r.ahead.allBytes()
	}
	for _, p := range r.parts {
		if p.tile != nil {
			n += p.tile.buffer.Len()
		}
	}
	return n
}

// Close gives the tiles and the table back.
func (r *tableReader) Close() error {
	if r.stop != nil {
		r.stop()
	}
	r.laying.Wait()
	if r.ahead != nil {
		r.ahead.working.Wait()
		r.ahead.release()
		r.ahead = nil
	}
	for i := range r.parts {
		if t := r.parts[i].tile; t != nil {
			t.buffer.Release()
			r.parts[i].tile = nil
		}
	}
	r.table.Release()
	r.table = nil
	return nil
}
