package dataloader

import (
	"context"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// decoded reads files that are decoded piece by piece. Numbers that become words are
// decoded by rows at once: batch by batch in the order of the data, else a piece at a
// time. Other pieces are laid out by rows where spare is not 0, since rows come at
// random then.
func (f *Files) decoded(names []string, parts []Part, m memory.Allocator, spare int64, c *coming) *pieceReader {
	load := pieceLoad{
		pieceSteps: f.steps(names),
		byRows:     spare > 0 && !slices.ContainsFunc(parts, func(p Part) bool { return p.Encodings != nil }),
	}
	rooms := memory.NewCaching(m, keptRooms)
	if w := f.words(names, parts); w != nil {
		load.words = func(ctx context.Context, raw rawPiece) (heldPiece, int64, error) {
			return w.open(ctx, rooms, raw, c != nil && c.inOrder)
		}
	}
	return f.reader(load, parts, parts, rooms, c)
}

// steps read some columns of pieces, as many at a time as there are processors.
func (f *Files) steps(names []string) pieceSteps {
	return pieceSteps{begin: func(i int) (rawPiece, error) { return f.begin(i, names) }, readers: processors.Count()}
}

// filePiece is some columns of a piece of a file.
type filePiece struct {
	*storage.PieceRead
	backend *kernels.Backend
}

// wordsPiece is a rawPiece that can be decoded straight into tensors.
type wordsPiece interface {
	OpenWords(ctx context.Context, as []arrow.DataType) (*storage.WordGroup, error)
}

// beginPiece prepares reading of a piece.
func (f *Files) beginPiece(i int, names []string) (rawPiece, error) {
	r, err := f.pieces.Begin(i, names)
	if err != nil {
		return nil, err
	}
	return &filePiece{r, f.backend}, nil
}

// Table decodes the columns.
func (p *filePiece) Table(ctx context.Context) (*table.Table, error) {
	batches, err := p.Read(ctx)
	if err != nil {
		return nil, err
	}
	return table.NewTable(p.backend, batches[0].Schema(), batches)
}

// tables reads files for their pieces' tables alone. sizes are parts of about their size.
func (f *Files) tables(names []string, sizes []Part, m memory.Allocator, c *coming) *pieceReader {
	return f.reader(pieceLoad{pieceSteps: f.steps(names)}, nil, sizes, memory.NewCaching(m, keptRooms), c)
}

// reader reads pieces by load, which tensors of parts are made of.
func (f *Files) reader(load pieceLoad, parts, sizes []Part, rooms *memory.Caching, c *coming) *pieceReader {
	r := newPieceReader(f.starts, parts, rooms, f.cache, load, f.at, f.pieces.Check)
	r.parts = sizes
	r.end = func() { rooms.Trim() }
	before := f.pieces.ReadTime()
	r.reading = func() time.Duration { return f.pieces.ReadTime() - before }
	r.coming = c
	switch {
	case f.cache < 0:
		r.cache.limit = 0
	case f.cache == 0:
		r.cache.limit = defaultCache
		if c != nil && c.inOrder {
			r.cache.whole = 1 + processors.Count()
			r.cache.limit = min(defaultCache, r.largest()*int64(r.cache.whole))
		}
	}
	return r
}

// keptRooms is how many bytes of pieces that were given back are kept for the next.
const keptRooms = 64 << 20

// largest is the size of the largest piece.
func (r *pieceReader) largest() (most int64) {
	for i := range len(r.starts) - 1 {
		most = max(most, r.size(i))
	}
	return most
}

// readTicket is Read, with the pieces of later tickets decoded ahead.
func (r *pieceReader) readTicket(ctx context.Context, ticket int64, rows []int64, to []Tensor) error {
	if r.coming != nil {
		r.foresee(ticket)
	}
	return r.Read(ctx, rows, to)
}

// warnOfCache tells who shuffles by rows what does not fit the cache: each batch then has
// rows of nearly all pieces.
func (l *Loader) warnOfCache() {
	r := pieceReaderOf(l.reader)
	if r == nil {
		return
	}
	need := int64(0)
	for i := range len(r.starts) - 1 {
		need += r.size(i)
	}
	if has := r.Bytes(); need > has {
		l.options.Warn("dataloader: shuffled by rows each part is decoded again for nearly every batch: shuffle blocks through a buffer (Order), or let the cache be larger",
			device.Errorf(device.ErrOutOfMemory, "", "dataloader", "%s takes some %d bytes decoded, and the cache has %d", l.source.Name(), need, has))
	}
}

// pieceReaderOf is what decodes pieces for a reader, nil where nothing does.
func pieceReaderOf(r any) *pieceReader {
	switch r := r.(type) {
	case *pieceReader:
		return r
	case *pieceRows:
		return r.pieceReader
	case *derivedReader:
		return pieceReaderOf(r.Reader)
	case *mapReader:
		return pieceReaderOf(r.rowTables)
	case *windowReader:
		return pieceReaderOf(r.stretches[0].reader)
	}
	return nil
}

// endReading wakes who waits for pieces, of which no more are read.
func endReading(r any) {
	if w, ok := r.(*windowReader); ok {
		for i := range w.stretches {
			endReading(w.stretches[i].reader)
		}
		return
	}
	if p := pieceReaderOf(r); p != nil {
		p.cache.stop()
	}
}

// foreseen is how many rows of a batch are looked at for the pieces it needs.
const foreseen = 16

// foresee begins to decode what the batches need that come when as many rows have
// been given out as one piece has, two, and so on for each processor, as far as
// the cache has room for that, and to read what the first rows of those behind need.
func (r *pieceReader) foresee(ticket int64) {
	pieces := int64(len(r.starts) - 1)
	each := max(1, r.starts[pieces]/pieces/r.coming.most)
	ahead := min(int64(processors.Count()), r.Bytes()/max(1, r.size(0))-1)
	if ticket%max(1, each/4) != 0 || ahead < 1 {
		return
	}
	s := r.borrow()
	defer r.giveBack(s)
	s.touched = s.touched[:0]
	if int64(len(s.coming)) < r.coming.most {
		s.coming = make([]int64, r.coming.most)
	}
	for d := int64(1); d <= ahead+readAhead; d++ {
		rows := r.coming.rows(s.coming, ticket+d*each)
		if d > ahead && len(rows) > 0 && rows[0] >= 0 && rows[0] < r.starts[pieces] {
			r.cache.ahead(r.piece(rows[0]))
			continue
		}
		wanted := int64(0)
		for k := 0; k < len(rows) && wanted < ahead; k += max(1, len(rows)/foreseen) {
			if rows[k] < 0 || rows[k] >= r.starts[pieces] {
				return
			}
			if r.cache.want(r.piece(rows[k])) {
				wanted++
			}
		}
	}
}
