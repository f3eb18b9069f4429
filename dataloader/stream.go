package dataloader

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// streamPiece is StreamOptions.Piece when it is 0.
const streamPiece = 1 << 16

// StreamOptions say how a stream is read for a loader.
type StreamOptions struct {
	// Piece is how many rows of the stream are kept or dropped together; 0 means
	// 65536.
	Piece int64
	// Cache is how many bytes of pieces are kept; 0 means 256 MiB. A piece of a larger
	// batch counts as its own rows, and keeps the batch as a whole.
	Cache int64
	// Fingerprint is a number for the values of the stream, by which Resume knows
	// whether they are the same. With 0 it looks at the rows' number and types only.
	Fingerprint uint32
	// Once is a stream that cannot be begun anew: it serves one epoch
	// (Options.Epochs 1) of one loader.
	Once bool
}

// Stream is record batches that come one after the other, from an iterator or a
// channel, as a source. Rows that lie before what is kept make it begin anew, if
// it can, and those that lie behind are waited for: so its order is that of the
// stream (no Shuffle), or that of Stream.Order, which shuffles within a buffer.
type Stream struct {
	backend *kernels.Backend
	schema  *arrow.Schema
	starts  []int64
	open    func(ctx context.Context) iter.Seq2[*table.Batch, error]
	options StreamOptions
	taken   sync.Mutex // guards used
	used    bool
}

// FromBatches is a stream of so many rows of a schema. open begins it; for every
// epoch it is begun again, and must give the same rows. The batches' references go
// over to the loader. Where it ends too early, Next fails with an ErrMismatch after the
// rows that came, of which the last batch may be a short one: see Loader.Next. Where it
// fails, Next fails with its error after them. Where it has more rows than that, Next
// gives out as many, and fails with an ErrMismatch at the end of the epoch: so an epoch
// does not end before its stream has.
func FromBatches(b *kernels.Backend, schema *arrow.Schema, rows int64, open func(ctx context.Context) iter.Seq2[*table.Batch, error], o StreamOptions) (*Stream, error) {
	if b == nil || schema == nil || open == nil || rows < 0 || o.Piece < 0 {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader.FromBatches", "a stream of %d rows in pieces of %d needs a backend, a schema and a function", rows, o.Piece)
	}
	if o.Piece == 0 {
		o.Piece = streamPiece
	}
	if o.Cache == 0 {
		o.Cache = defaultCache
	}
	s := &Stream{backend: b, schema: schema, open: open, options: o, starts: []int64{0}}
	for at := int64(0); at < rows; {
		at = min(rows, at+o.Piece)
		s.starts = append(s.starts, at)
	}
	return s, nil
}

// FromChannel is FromBatches of what comes over a channel, until it is closed: one
// epoch (Options.Epochs 1) of one loader, since it cannot be begun anew.
func FromChannel(b *kernels.Backend, schema *arrow.Schema, rows int64, from <-chan *table.Batch, o StreamOptions) (*Stream, error) {
	o.Once = true
	return FromBatches(b, schema, rows, func(ctx context.Context) iter.Seq2[*table.Batch, error] {
		return func(yield func(*table.Batch, error) bool) {
			for {
				select {
				case one, ok := <-from:
					if !ok || !yield(one, nil) {
						return
					}
				case <-ctx.Done():
					yield(nil, device.Canceled(ctx, "", "dataloader"))
					return
				}
			}
		}
	}, o)
}

// Name says that it is a stream.
func (s *Stream) Name() string { return "stream" }

// Schema is the one that was given.
func (s *Stream) Schema() *arrow.Schema { return s.schema }

// NumRows is the number that was given.
func (s *Stream) NumRows() int64 { return s.starts[len(s.starts)-1] }

// Order is the rows in the order of the stream, shuffled within a buffer of at
// least so many: see order.Buffered.
func (s *Stream) Order(buffer int64, seed uint64) (order.Order, error) {
	var sizes []int64
	for i := range s.starts[1:] {
		sizes = append(sizes, s.starts[i+1]-s.starts[i])
	}
	return order.Buffered(sizes, buffer, seed)
}

// Fingerprint is made of the number that was given, and that of the rows.
func (s *Stream) Fingerprint(context.Context, []int) (uint32, error) {
	return crc32.ChecksumIEEE(fmt.Append(nil, s.options.Fingerprint, s.NumRows())), nil
}

// Open begins a loader's reading.
func (s *Stream) Open(_ context.Context, m memory.Allocator, parts []Part, _ int64) (Reader, error) {
	r, err := s.pieces(parts, m)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// pieces reads the stream for one loader.
func (s *Stream) pieces(parts []Part, m memory.Allocator) (*pieceReader, error) {
	if p := s.backend.Device.Place(); !p.HostAccessible() {
		return nil, device.Errorf(device.ErrUnsupported, p.String(), "dataloader", "a stream of a device's batches: bring them to the host")
	}
	if s.options.Once {
		s.taken.Lock()
		defer s.taken.Unlock()
		if s.used {
			return nil, device.Errorf(device.ErrClosed, "", "dataloader", "the stream was read: it cannot be begun anew, and serves one loader")
		}
		s.used = true
	}
	p := &pull{stream: s, passed: map[int]*table.Table{}}
	r := newPieceReader(s.starts, parts, m, max(0, s.options.Cache), pieceLoad{pieceSteps: p.steps()}, func(i int) string {
		return fmt.Sprintf("stream: rows from %d", s.starts[i])
	}, nil)
	r.end, r.reading, r.source = p.close, p.waits.get, p
	return r, nil
}

// pull reads a stream for one loader.
type pull struct {
	stream *Stream
	mu     sync.Mutex
	next   func() (*table.Batch, error, bool)
	stop   func()
	piece  int          // the one that comes next
	rest   *table.Batch // rows of it that were read already
	passed map[int]*table.Table
	order  []int        // of passed, those read first at the front
	failed error        // what a stream that is read once has ended with
	cut    *table.Table // rows of the piece in which the stream failed, until they are asked for
	cutAt  int          // that piece
	cutBy  error        // and why it has no more
	looked bool         // for more rows than were announced,
	more   error        // of which there are some, or what the stream failed with behind the last
	waits  total        // for the stream
}

// steps read the stream, one piece after the other. A piece is no more when it is decoded
// than when it is read.
func (p *pull) steps() pieceSteps {
	return pieceSteps{begin: func(i int) (rawPiece, error) { return &pulledPiece{of: p, number: i}, nil }, readers: 1, early: true, once: p.stream.options.Once}
}

// pulledPiece is a piece of a stream.
type pulledPiece struct {
	of     *pull
	number int
	table  *table.Table
	err    error
}

// Size is nothing beside what the cache holds.
func (*pulledPiece) Size() int64 { return 0 }

// Fetch waits for the stream.
func (p *pulledPiece) Fetch(ctx context.Context) { p.table, p.err = p.of.load(ctx, p.number) }

// Table gives the rows over: with an error those that came before it, if any did.
func (p *pulledPiece) Table(context.Context) (*table.Table, error) {
	t := p.table
	p.table = nil
	return t, p.err
}

// Close gives the rows back.
func (p *pulledPiece) Close() { p.table.Release() }

// load is a piece of the stream. Those before it are kept for who asks next:
// several pieces are asked for at a time, in any order. With the error of a stream that
// fails within a piece come the rows of the piece that it gave before.
func (p *pull) load(ctx context.Context, i int) (*table.Table, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.passed[i]; t != nil {
		delete(p.passed, i)
		return t, nil
	}
	if t := p.cut; t != nil && p.cutAt == i {
		p.cut = nil
		return t, p.cutBy
	}
	if p.failed != nil {
		return nil, p.failed
	}
	if p.next == nil || p.piece > i {
		if p.next != nil && p.stream.options.Once {
			return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "row %d of the stream is over: it cannot be begun anew, and is read once, in its order", p.stream.starts[i])
		}
		_ = p.over() // which is kept for the end of the epoch
		p.reset()
		p.next, p.stop = pulled(ctx, p.stream.open)
	}
	for {
		t, err := p.take(ctx)
		if err != nil {
			return p.fail(i, t, err)
		}
		if p.piece++; p.piece > i {
			return t, nil
		}
		p.passed[p.piece-1] = t
		p.order = append(p.order, p.piece-1)
		for len(p.order) > 2*processors.Count() {
			p.passed[p.order[0]].Release() // nil where somebody has taken it
			delete(p.passed, p.order[0])
			p.order = p.order[1:]
		}
	}
}

// fail ends a stream that failed, with the rows that it gave of its last piece, while
// piece i was asked for.
func (p *pull) fail(i int, rows *table.Table, err error) (*table.Table, error) {
	at := p.piece
	if p.stream.options.Once { // what was read before is still there for who asks
		p.failed = err
		p.stop()
	} else {
		p.reset()
	}
	if at == i {
		return rows, err
	}
	p.cut, p.cutAt, p.cutBy = rows, at, err
	return nil, err
}

// take is the next piece. With an error of the stream come the rows of the piece that it
// gave before, if any.
func (p *pull) take(ctx context.Context) (*table.Table, error) {
	s := p.stream
	want := s.starts[p.piece+1] - s.starts[p.piece]
	var chunks []*table.Batch
	fail := func(err error) (*table.Table, error) {
		releaseAll(chunks)
		return nil, err
	}
	short := func(err error) (*table.Table, error) {
		if ctx.Err() != nil && errors.Is(err, device.ErrCanceled) {
			return fail(err) // the loader is closed
		}
		if len(chunks) == 0 {
			return nil, &cutError{err}
		}
		t, wrong := table.NewTable(s.backend, s.schema, chunks)
		if wrong != nil {
			return nil, wrong
		}
		return t, &cutError{err}
	}
	for want > 0 {
		if p.rest == nil {
			if err := device.Canceled(ctx, "", "dataloader"); err != nil {
				return fail(err)
			}
			begin := time.Now()
			b, err, ok := p.next()
			p.waits.since(begin)
			switch {
			case err != nil:
				return short(err)
			case !ok:
				return short(device.Errorf(device.ErrMismatch, "", "dataloader", "the stream ended after %d rows of %d", s.starts[p.piece+1]-want, s.NumRows()))
			case b == nil || !sameFields(b.Schema(), s.schema):
				b.Release()
				return short(device.Errorf(device.ErrMismatch, "", "dataloader", "a batch of the stream has other columns than its schema"))
			}
			p.rest = b
		}
		n := min(want, p.rest.Len())
		one, err := p.rest.Slice(0, n)
		if err != nil {
			return fail(err)
		}
		chunks, want = append(chunks, one), want-n
		rest := p.rest
		p.rest = nil
		if n < rest.Len() {
			if p.rest, err = rest.Slice(n, rest.Len()-n); err != nil {
				rest.Release()
				return fail(err)
			}
		}
		rest.Release()
	}
	return table.NewTable(s.backend, s.schema, chunks)
}

// reset ends the stream, so that it begins anew.
func (p *pull) reset() {
	if p.stop != nil {
		p.stop()
	}
	p.rest.Release()
	p.cut.Release()
	for _, t := range p.passed {
		t.Release()
	}
	clear(p.passed)
	p.next, p.stop, p.rest, p.piece, p.order, p.cut, p.looked = nil, nil, nil, 0, nil, nil, false
}

// close ends the stream.
func (p *pull) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

// streamed is what a stream gives, or how it ended.
type streamed struct {
	batch *table.Batch
	err   error
}

// pulled runs a sequence in a goroutine of its own, one batch for each call of
// next. iter.Pull2 would not do: its coroutines end the process where one is
// begun by a goroutine that is bound to a thread, as all are that C has called,
// and gone on with by another. stop ends the sequence and waits until it has; a
// panic of the sequence is an error of next, and of stop it is none.
func pulled(ctx context.Context, open func(context.Context) iter.Seq2[*table.Batch, error]) (next func() (*table.Batch, error, bool), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	wanted, given := make(chan struct{}), make(chan streamed)
	go func() {
		defer close(given)
		defer func() {
			if fault := recover(); fault != nil {
				select {
				case given <- streamed{err: device.Errorf(device.ErrValue, "", "dataloader", "the stream panicked: %v", fault)}:
				case <-ctx.Done():
				}
			}
		}()
		await := func() bool {
			select {
			case <-wanted:
				return true
			case <-ctx.Done():
				return false
			}
		}
		if !await() {
			return
		}
		for b, err := range open(ctx) {
			select {
			case given <- streamed{batch: b, err: err}:
			case <-ctx.Done():
				b.Release()
				return
			}
			if !await() {
				return
			}
		}
	}()
	over := false
	next = func() (*table.Batch, error, bool) {
		if over {
			return nil, nil, false
		}
		select {
		case wanted <- struct{}{}:
		case <-given: // closed: it is over, without anybody having asked
			over = true
			return nil, nil, false
		}
		one, ok := <-given
		over = !ok
		if err := device.Canceled(ctx, "", "dataloader"); !ok && err != nil {
			return nil, err, true
		}
		return one.batch, one.err, ok
	}
	return next, func() {
		cancel()
		for one := range given { // until it is closed
			one.batch.Release()
		}
	}
}

// sameFields reports whether two schemas have the same names and types.
func sameFields(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool {
		return x.Name == y.Name && arrow.TypeEqual(x.Type, y.Type)
	})
}
