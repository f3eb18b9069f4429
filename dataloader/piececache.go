package dataloader

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/table/storage"
)

// pieceCache keeps decoded pieces, those used last, up to a number of bytes. A
// piece is decoded by one goroutine, however many ask for it.
type pieceCache struct {
	limit int64
	whole int               // where pieces are read one after the other: so many are kept, of which there is room also if they are larger than size says; else 0
	size  func(i int) int64 // about what a piece takes
	load  func(ctx context.Context, i int) (heldPiece, int64, error)
	ctx   context.Context // of the decoding
	stop  context.CancelFunc
	turns chan struct{} // as many tokens as pieces may be decoded at a time

	loaded, waited total // in load, and for pieces

	loading sync.WaitGroup
	mu      sync.Mutex
	pieces  map[int]*cachedPiece
	bytes   int64 // of pieces that are decoded or being decoded
	clock   int64
	closed  bool
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

// cachedPiece is a piece that is decoded or will be. All but done is guarded by
// the cache's mu until done is closed; uses, taken and last always.
type cachedPiece struct {
	number int
	done   chan struct{}
	reader heldPiece
	err    error
	bytes  int64
	uses   int
	taken  bool // at least once
	last   int64
}

func newPieceCache(limit int64, size func(int) int64, load func(context.Context, int) (heldPiece, int64, error)) *pieceCache {
	c := &pieceCache{limit: limit, size: size, load: load, pieces: map[int]*cachedPiece{}, turns: make(chan struct{}, processors.Count())}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// want begins to decode a piece, and reports false where it is there or begun.
func (c *pieceCache) want(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := c.pieces[i] == nil
	c.find(i)
	return begun
}

// find is the entry of a piece, which is begun where there is none; nil in a
// closed cache. The lock is held.
func (c *pieceCache) find(i int) *cachedPiece {
	c.clock++
	if p := c.pieces[i]; p != nil {
		p.last = c.clock
		return p
	}
	if c.closed {
		return nil
	}
	p := &cachedPiece{number: i, done: make(chan struct{}), last: c.clock}
	c.pieces[i] = p
	c.loading.Go(func() { c.decode(p) })
	return p
}

// decode makes a piece when it is its turn.
func (c *pieceCache) decode(p *cachedPiece) {
	defer close(p.done)
	select {
	case c.turns <- struct{}{}:
	case <-c.ctx.Done():
		p.err = closedError()
		return
	}
	defer func() { <-c.turns }()
	c.mu.Lock()
	p.bytes = c.size(p.number) // room is made before it is taken
	c.bytes += p.bytes
	c.shrink(p)
	c.mu.Unlock()
	begin := time.Now()
	reader, bytes, err := c.load(c.ctx, p.number)
	c.loaded.since(begin)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.reader, p.err = reader, err
	if c.whole > 0 {
		c.limit = max(c.limit, min(defaultCache, int64(c.whole)*bytes))
	}
	c.bytes += bytes - p.bytes
	p.bytes = bytes
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
	if p.uses == 0 && p.err != nil && !errors.Is(p.err, storage.ErrFormat) && c.pieces[p.number] == p {
		c.drop(p)
	}
	c.shrink(p)
}

// close ends the decoding and forgets all pieces.
func (c *pieceCache) close() {
	c.stop()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.loading.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pieces {
		c.drop(p)
	}
}
