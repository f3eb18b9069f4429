package dataloader

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// pieceCache keeps decoded pieces, those used last, up to a number of bytes. A
// piece is decoded by one goroutine, however many ask for it, after another has read
// it: see pieceline.go.
type pieceCache struct {
	limit int64
	whole int               // where pieces are read one after the other: so many are kept, of which there is room also if they are larger than size says; else 0
	size  func(i int) int64 // about what a piece takes
	pieceSteps
	line   pieceLine
	ctx    context.Context // of reading and decoding
	stop   context.CancelFunc
	loaded total // in reading and decoding
	waited total // for pieces

	loading sync.WaitGroup
	mu      sync.Mutex
	pieces  map[int]*cachedPiece
	bytes   int64 // of pieces that are decoded or being decoded
	clock   int64
	closed  bool
}

// pieceSteps are how a piece is made.
type pieceSteps struct {
	// begin prepares reading.
	begin func(i int) (rawPiece, error)
	// decode makes a piece of what was read, and says how many bytes it takes.
	decode func(ctx context.Context, i int, raw rawPiece) (heldPiece, int64, error)
	// readers is how many pieces are read at a time.
	readers int
	// early says that what is read is what is kept, so that there must be room for it.
	early bool
	once  bool // a piece cannot be read again
}

// rawPiece is a piece that is read, or will be, and is to be decoded.
type rawPiece interface {
	// Size is how many bytes Fetch takes beside the cache.
	Size() int64
	// Fetch reads. What goes wrong is an error of decoding.
	Fetch(ctx context.Context)
	// Table decodes its columns.
	Table(ctx context.Context) (*table.Table, error)
	// Close gives back what was read.
	Close()
}

// heldPiece is what a decoded piece is read by.
type heldPiece interface {
	// put writes rows of the piece, which are there, into the rows of tensors that
	// places names, in room. Errors are of positions among the rows.
	put(ctx context.Context, room *pieceScratch, rows []int64, places []int32, to []Tensor) error
	// Close gives it back.
	Close() error
}

// runPiece is a heldPiece that needs no list of rows that follow each other.
type runPiece interface {
	// putRun writes n rows from one on into those of tensors from row at on.
	putRun(ctx context.Context, room *pieceScratch, first, n int64, to []Tensor, at int64) error
}

// cachedPiece is a piece that is decoded or will be, or is only read ahead. All but done
// is guarded by the cache's mu.
type cachedPiece struct {
	number int
	wanted bool // decoded, and not only read
	done   chan struct{}
	raw    rawPiece // from when it is read until it is decoded
	taking int64    // bytes of the line that raw takes
	begun  bool     // somebody reads it, or has
	isRead bool
	reader heldPiece
	err    error
	bytes  int64
	uses   int
	taken  bool // at least once
	last   int64
}

func newPieceCache(limit int64, size func(int) int64, steps pieceSteps) *pieceCache {
	c := &pieceCache{limit: limit, size: size, pieceSteps: steps, pieces: map[int]*cachedPiece{}}
	c.line.most = lineBytes * int64(1+processors.Count())
	c.line.moved.L = &c.mu
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// want begins to decode a piece, and reports false where it is there or begun.
func (c *pieceCache) want(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pieces[i]
	c.find(i)
	return p == nil || !p.wanted
}

// find is the entry of a piece, which is begun where there is none; nil in a
// closed cache. The lock is held.
func (c *pieceCache) find(i int) *cachedPiece {
	c.clock++
	if p := c.pieces[i]; p != nil {
		p.last = c.clock
		if !p.wanted {
			c.promote(p)
		}
		return p
	}
	return c.add(i, true)
}

// add begins a piece, nil in a closed cache. The lock is held.
func (c *pieceCache) add(i int, wanted bool) *cachedPiece {
	if c.closed {
		return nil
	}
	p := &cachedPiece{number: i, wanted: wanted, done: make(chan struct{}), last: c.clock}
	c.pieces[i] = p
	c.enter(p)
	return p
}

// finish notes what became of a piece. The lock is held.
func (c *pieceCache) finish(p *cachedPiece, reader heldPiece, bytes int64, err error) {
	p.reader, p.err = reader, err
	if c.whole > 0 {
		c.limit = max(c.limit, min(defaultCache, int64(c.whole)*bytes))
	}
	c.bytes += bytes - p.bytes
	p.bytes = bytes
	c.shrink(p)
	close(p.done)
}

// reserve makes room before it is taken. The lock is held.
func (c *pieceCache) reserve(p *cachedPiece) {
	p.bytes = c.size(p.number)
	c.bytes += p.bytes
	c.shrink(p)
}

// shrink drops pieces that nobody uses, those first that were not used for the
// longest time, and never the newest; where pieces come one after the other, those
// that were read and are more than are kept, too. The lock is held.
func (c *pieceCache) shrink(newest *cachedPiece) {
	for {
		full := c.bytes > c.limit
		held := 0
		var oldest *cachedPiece
		for _, p := range c.pieces {
			if p.bytes > 0 {
				held++
			}
			if p != newest && p.uses == 0 && p.reader != nil && (full || p.taken) && (oldest == nil || p.last < oldest.last) {
				oldest = p
			}
		}
		if oldest == nil || !full && (c.whole == 0 || held <= c.whole) {
			return
		}
		c.drop(oldest)
	}
}

// drop forgets a piece. The lock is held.
func (c *pieceCache) drop(p *cachedPiece) {
	delete(c.pieces, p.number)
	c.bytes -= p.bytes
	c.unread(p)
	if p.reader != nil {
		_ = p.reader.Close() // which has nothing to say
		p.reader = nil
	}
}

// take waits for a piece, which stays until giveBack. An error is that of
// decoding it, which is tried again for who asks later, unless it was the data.
func (c *pieceCache) take(ctx context.Context, i int) (*cachedPiece, error) {
	c.mu.Lock()
	p := c.find(i)
	if p == nil {
		c.mu.Unlock()
		return nil, closedError()
	}
	p.uses++
	p.taken = true
	c.mu.Unlock()
	begin := time.Now()
	select {
	case <-p.done:
		c.waited.since(begin)
	case <-ctx.Done():
		c.giveBack(p)
		return nil, device.Canceled(ctx, "", "dataloader")
	}
	err := p.err
	if err == nil {
		return p, nil
	}
	c.giveBack(p)
	if errors.Is(err, context.Canceled) && c.ctx.Err() != nil {
		return nil, closedError()
	}
	return nil, err
}

// giveBack ends a use.
func (c *pieceCache) giveBack(p *cachedPiece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.uses--
	failed := p.err != nil && !errors.Is(p.err, storage.ErrFormat)
	if p.uses == 0 && failed && c.pieces[p.number] == p {
		c.drop(p)
	}
	c.shrink(p)
}

// close ends reading and decoding and forgets all pieces.
func (c *pieceCache) close() {
	c.stop()
	c.mu.Lock()
	c.closed = true
	c.line.moved.Broadcast()
	c.mu.Unlock()
	c.loading.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pieces {
		select {
		case <-p.done:
		default: // nobody got to it
			p.err = closedError()
			close(p.done)
		}
		c.drop(p)
	}
}
