package dataloader

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table/storage"
)

// BadRows is the error of a Reader where some of the rows can never be read and
// the others can: Options.SkipBad leaves them out.
type BadRows struct {
	Positions []int // of those rows among the ones asked for, rising
	Err       error // why
}

// Error is that of the first reason.
func (e *BadRows) Error() string { return e.Err.Error() }

// Unwrap is the reason.
func (e *BadRows) Unwrap() error { return e.Err }

// pieceReader gathers rows of data that is decoded piece by piece.
type pieceReader struct {
	starts  []int64 // the first row of each piece, and the number of rows
	parts   []Part
	cache   *pieceCache
	at      func(i int) string // names a piece
	check   func(context.Context) error
	end     func()               // called by Close, or nil
	source  finisher             // what may have more rows than it announced, or nil
	reading func() time.Duration // of load, in reading; nil where that is not known
	coming  *coming
	scratch chan *pieceScratch
}

// pieceScratch is what one Read works in.
type pieceScratch struct {
	counts  []int32 // of each piece: rows asked for, then where its next one goes
	touched []int32 // the pieces asked for
	run     bool    // the rows follow each other: rows and places are not written
	first   int64   // the first of them then
	rows    []int64 // local ones, piece after piece
	places  []int32 // and where in the batch they go
	room    [][]byte
	masks   [][]byte
	offsets [blockRows + 1]int64
	coming  []int64
	words   []storage.Words
	gather  scratch
}

// pieceLoad is how pieces are read and decoded.
type pieceLoad struct {
	pieceSteps // all but decode
	// words opens a piece of words, and says how many bytes it has, or gives nil where
	// it is none; nil where none is.
	words  func(ctx context.Context, raw rawPiece) (heldPiece, int64, error)
	byRows bool // tables are laid out by rows
}

func newPieceReader(starts []int64, parts []Part, m memory.Allocator, cache int64, load pieceLoad, at func(int) string, check func(context.Context) error) *pieceReader {
	r := &pieceReader{starts: starts, parts: parts, at: at, check: check, scratch: make(chan *pieceScratch, 64)}
	steps := load.pieceSteps
	steps.decode = func(ctx context.Context, i int, raw rawPiece) (heldPiece, int64, error) {
		if load.words != nil {
			if piece, bytes, err := load.words(ctx, raw); piece != nil || err != nil {
				return piece, bytes, err
			}
		}
		t, failed := raw.Table(ctx)
		if t == nil {
			return nil, 0, failed
		}
		defer t.Release()
		one, err := newTableReader(ctx, t, m, parts, 0, nil)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", at(i), err)
		}
		if failed != nil {
			return &cutPiece{one, t.NumRows(), failed}, tableBytes(t), nil
		}
		if !load.byRows {
			return one, tableBytes(t), nil
		}
		defer one.Close()
		rows, err := rowsOf(ctx, m, t, parts)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", at(i), err)
		}
		return rows, rows.Bytes(), nil
	}
	r.cache = newPieceCache(cache, r.size, steps)
	return r
}

// size is about what a piece takes.
func (r *pieceReader) size(i int) (n int64) {
	for k := range r.parts {
		data, mask := r.parts[k].bytes(r.starts[i+1] - r.starts[i])
		n += data + mask
	}
	return n
}

// Check looks whether the data is what it was.
func (r *pieceReader) Check(ctx context.Context) error {
	if r.check == nil {
		return nil
	}
	return r.check(ctx)
}

// Bytes is the most that the cache holds when nothing is in use, as far as its pieces
// are known.
func (r *pieceReader) Bytes() int64 {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return r.cache.limit
}

// stages tells of reading and decoding.
func (r *pieceReader) stages() stages {
	s := stages{load: r.cache.loaded.get(), wait: r.cache.waited.get(), readWait: r.cache.line.read.get(), roomWait: r.cache.line.room.get()}
	if r.reading != nil {
		s.read = r.reading()
	}
	return s
}

// Close ends what is being decoded and gives the pieces back.
func (r *pieceReader) Close() error {
	r.cache.close()
	if r.end != nil {
		r.end()
	}
	return nil
}

func (r *pieceReader) borrow() *pieceScratch {
	select {
	case s := <-r.scratch:
		return s
	default:
		return &pieceScratch{counts: make([]int32, len(r.starts)), room: make([][]byte, len(r.parts)), masks: make([][]byte, len(r.parts))}
	}
}

func (r *pieceReader) giveBack(s *pieceScratch) {
	for _, i := range s.touched {
		s.counts[i] = 0
	}
	select {
	case r.scratch <- s:
	default:
	}
}

// piece is the one that a row is in.
func (r *pieceReader) piece(row int64) int {
	return sort.Search(len(r.starts)-1, func(i int) bool { return r.starts[i+1] > row })
}

// sort puts rows in order of their pieces.
func (r *pieceReader) sort(s *pieceScratch, rows []int64) error {
	s.touched = s.touched[:0]
	if cap(s.rows) < len(rows) {
		s.rows, s.places = make([]int64, len(rows)), make([]int32, len(rows))
	}
	s.rows, s.places = s.rows[:len(rows)], s.places[:len(rows)]
	last := int64(len(r.starts) - 1)
	if s.run = isRun(rows, nil) && rows[0] >= 0 && rows[0] <= r.starts[last]-int64(len(rows)); s.run {
		r.sorted(s, rows[0])
		return nil
	}
	at := -1
	for _, row := range rows {
		if row < 0 || row >= r.starts[last] {
			return device.Errorf(device.ErrValue, "", "dataloader", "row %d of %d", row, r.starts[last])
		}
		if at < 0 || row < r.starts[at] || row >= r.starts[at+1] {
			at = r.piece(row)
		}
		if s.counts[at] == 0 {
			s.touched = append(s.touched, int32(at))
		}
		s.counts[at]++
	}
	next := int32(0)
	for _, i := range s.touched {
		s.counts[i], next = next, next+s.counts[i]
	}
	for k, row := range rows {
		if at < 0 || row < r.starts[at] || row >= r.starts[at+1] {
			at = r.piece(row)
		}
		s.rows[s.counts[at]], s.places[s.counts[at]] = row-r.starts[at], int32(k)
		s.counts[at]++
	}
	return nil
}

// sorted is sort of rows that follow each other, as many as s has room for.
func (r *pieceReader) sorted(s *pieceScratch, first int64) {
	s.first = first
	for from := 0; from < len(s.rows); {
		at := r.piece(first)
		to := int(min(int64(len(s.rows)), int64(from)+r.starts[at+1]-first))
		s.touched, s.counts[at] = append(s.touched, int32(at)), int32(to)
		first, from = first+int64(to-from), to
	}
}

// list writes the rows of a piece, and their places, where they follow each other.
func (r *pieceReader) list(s *pieceScratch, piece int, begin, end int32) {
	for k := begin; s.run && k < end; k++ {
		s.rows[k], s.places[k] = s.first+int64(k)-r.starts[piece], k
	}
}

// Read goes piece by piece, in the order in which the rows first ask for them,
// while as many as there are processors are decoded ahead, and some more are read.
func (r *pieceReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
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
	if err := r.sort(s, rows); err != nil {
		return err
	}
	return r.eachPiece(s, func(i int, begin, end int32) error { return r.readPiece(ctx, s, i, begin, end, to) })
}

// eachPiece goes through the pieces of rows that are sorted, and begins to decode those
// that come next. do reads rows of a piece, from begin to end of those that are sorted.
func (r *pieceReader) eachPiece(s *pieceScratch, do func(i int, begin, end int32) error) error {
	ahead, wanted, read := processors.Count(), 0, 0
	var bad *BadRows
	begin := int32(0)
	for k, i := range s.touched {
		for ; r.cache != nil && wanted < len(s.touched) && wanted < k+ahead; wanted++ {
			r.cache.want(int(s.touched[wanted]))
		}
		for read = max(read, wanted); r.cache != nil && read < len(s.touched) && read < wanted+readAhead; read++ {
			r.cache.ahead(int(s.touched[read]))
		}
		end := s.counts[i]
		err := do(int(i), begin, end)
		switch {
		case err == nil:
		case badOf(err) == nil && (isCut(err) || errors.Is(err, storage.ErrFormat)):
			r.list(s, int(i), begin, end)
			if bad == nil {
				bad = &BadRows{Err: err}
			}
			for _, p := range s.places[begin:end] {
				bad.Positions = append(bad.Positions, int(p))
			}
		case badOf(err) != nil:
			if bad == nil {
				bad = &BadRows{Err: err}
			}
			bad.Positions = append(bad.Positions, badOf(err)...)
		default:
			return err
		}
		begin = end
	}
	if bad != nil {
		sort.Ints(bad.Positions)
		return bad
	}
	return nil
}

// readPiece gathers rows of a piece, from begin to end of those that are sorted, and
// puts them in their places.
func (r *pieceReader) readPiece(ctx context.Context, s *pieceScratch, i int, begin, end int32, to []Tensor) error {
	held, err := r.cache.take(ctx, i)
	if err != nil {
		return err
	}
	defer r.cache.giveBack(held)
	if p, ok := held.reader.(runPiece); ok && s.run {
		err = p.putRun(ctx, s, s.first+int64(begin)-r.starts[i], int64(end-begin), to, int64(begin))
	} else {
		r.list(s, i, begin, end)
		err = held.reader.put(ctx, s, s.rows[begin:end], s.places[begin:end], to)
	}
	if err != nil {
		return r.pieceError(held, err)
	}
	return nil
}

// cutPiece is the first rows of a piece whose source failed before the others.
type cutPiece struct {
	heldPiece
	rows int64
	cut  error // a cutError, of who asks for the others
}

// cutError is the error of a source that failed: behind the rows that it gave there are no more.
type cutError struct{ why error }

// Error is the source's.
func (e *cutError) Error() string { return e.why.Error() }

// Unwrap is the source's error.
func (e *cutError) Unwrap() error { return e.why }

// isCut says that rows did not come, since their source failed before.
func isCut(err error) bool {
	var cut *cutError
	return errors.As(err, &cut)
}

// put fails where rows did not come: they are bad ones.
func (c *cutPiece) put(ctx context.Context, s *pieceScratch, rows []int64, places []int32, to []Tensor) error {
	var missing []int
	for i, row := range rows {
		if row >= c.rows {
			missing = append(missing, int(places[i]))
		}
	}
	if missing != nil {
		return &BadRows{missing, c.cut}
	}
	return c.heldPiece.put(ctx, s, rows, places, to)
}

// pieceError names the piece in an error of its values.
func (r *pieceReader) pieceError(held *cachedPiece, err error) error {
	if isCut(err) {
		return err
	}
	return placed(err, r.at(held.number))
}

// inPlace reports whether places follow each other.
func inPlace(places []int32) bool {
	n := len(places)
	return int(places[n-1]-places[0]) == n-1
}

// put gathers from columns.
func (r *tableReader) put(ctx context.Context, s *pieceScratch, rows []int64, places []int32, to []Tensor) error {
	if inPlace(places) {
		return r.readAt(ctx, &s.gather, rows, to, int64(places[0]))
	}
	for len(rows) > 0 {
		n := min(blockRows, len(rows))
		if err := device.Canceled(ctx, "", "dataloader"); err != nil {
			return err
		}
		for k := range r.parts {
			p := &r.parts[k].Part
			data, mask := p.bytes(blockRows)
			if int64(len(s.room[k])) < data {
				s.room[k], s.masks[k] = make([]byte, data+8), make([]byte, mask)
			}
			var offsets []int64
			if p.lists() {
				offsets = s.offsets[:]
			}
			block := p.over(int64(n), s.room[k], s.masks[k], offsets)
			if err := r.readPart(ctx, &s.gather, k, &block, 0, rows[:n]); err != nil {
				return atPlaces(err, places)
			}
			scatter(&to[k], &block, places[:n])
		}
		rows, places = rows[n:], places[n:]
	}
	return nil
}

// atPlaces is an error about rows with the places of these.
func atPlaces(err error, places []int32) error {
	var bad *BadRows
	if !errors.As(err, &bad) {
		return err
	}
	out := &BadRows{Err: bad.Err}
	for _, p := range bad.Positions {
		out.Positions = append(out.Positions, int(places[p]))
	}
	return out
}

// placed says of which piece the rows are that are wrong.
func placed(err error, piece string) error {
	var bad *BadRows
	if !errors.As(err, &bad) {
		return err
	}
	return &BadRows{bad.Positions, fmt.Errorf("%s: %w", piece, bad.Err)}
}

// scatter puts the rows of a tensor in their places in another.
func scatter(to, from *Tensor, places []int32) {
	e := int64(len(from.Data)) / max(1, from.Rows*from.Columns)
	if to.Offsets != nil {
		for i, p := range places {
			to.Offsets[p+1] = from.Offsets[i+1]
		}
	}
	for c, width := int64(0), to.ColumnStride; c < to.Columns; c++ {
		n := e
		if width == 1 { // rows as a whole
			n, c = e*to.Columns, to.Columns
		}
		first := c % to.Columns
		for i, p := range places {
			at, of := int64(p)*to.RowStride+first*to.ColumnStride, int64(i)*from.RowStride+first*from.ColumnStride
			copy(to.Data[at*e:at*e+n], from.Data[of*e:of*e+n])
			if to.Valid != nil {
				copy(to.Valid[at:at+n/e], from.Valid[of:of+n/e])
			}
		}
	}
}
