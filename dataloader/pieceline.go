package dataloader

import (
	"sync"
	"time"

	"github.com/volley-go/volley/internal/processors"
)

const (
	// lineBytes is how many bytes of what was read and is not decoded yet there is room
	// for, for each processor and once more: a piece of a file has no more (see
	// storage.PieceRead). So as many pieces as are decoded at a time, and the next, fit.
	lineBytes = 8 << 20
	// readAhead is how many pieces are read, and not decoded, before anybody needs them.
	readAhead = 2
)

// pieceLine is the way of pieces into the cache: goroutines that read take those that are
// asked for in their order, as far as there is room for what they read, and others decode
// what was read. So the next pieces are read while others are decoded, and who decodes
// does not wait for the disk as long as that is fast enough. Beyond those that are asked
// for some are read alone, where there is room: they stand aside until they are asked for,
// and make way for others.
type pieceLine struct {
	moved    sync.Cond // something in the line has changed; by the cache's mu, which guards all
	begun    bool
	toRead   []*cachedPiece
	aside    []*cachedPiece // read or being read, or to be read, and not wanted
	toDecode []*cachedPiece
	reading  int   // wanted pieces
	taken    int64 // bytes
	most     int64

	room total // of readers, waiting for room
	read total // of decoders, waiting for what is being read
}

// enter has a new piece read. The lock is held.
func (c *pieceCache) enter(p *cachedPiece) {
	l := &c.line
	if !l.begun {
		l.begun = true
		for range c.readers {
			c.loading.Go(c.reads)
		}
		for range processors.Count() {
			c.loading.Go(c.decodes)
		}
	}
	if p.wanted {
		l.toRead = append(l.toRead, p)
	} else {
		l.aside = append(l.aside, p)
	}
	l.moved.Broadcast()
}

// ahead begins to read a piece that is not needed yet. Where as many stand aside as may,
// that which was asked for least lately makes way. Of a stream nothing stands aside, since
// what makes way could not be read again.
func (c *pieceCache) ahead(i int) {
	if c.early {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	if p := c.pieces[i]; p != nil {
		p.last = c.clock
		return
	}
	if len(c.line.aside) >= readAhead && !c.clearAside() {
		return
	}
	c.add(i, false)
}

// clearAside drops the piece that stands aside and was asked for least lately, and reports
// false where there is none that nobody reads. The lock is held.
func (c *pieceCache) clearAside() bool {
	var oldest *cachedPiece
	for _, p := range c.line.aside {
		if (!p.begun || p.isRead) && (oldest == nil || p.last < oldest.last) {
			oldest = p
		}
	}
	if oldest == nil {
		return false
	}
	c.line.aside = without(c.line.aside, oldest)
	c.drop(oldest)
	return true
}

// without is a list without one of it.
func without(all []*cachedPiece, p *cachedPiece) []*cachedPiece {
	for i := range all {
		if all[i] == p {
			return append(all[:i], all[i+1:]...)
		}
	}
	return all
}

// promote has a piece decoded that was only to be read. The lock is held.
func (c *pieceCache) promote(p *cachedPiece) {
	l := &c.line
	p.wanted = true
	l.aside = without(l.aside, p)
	switch {
	case p.isRead:
		l.toDecode = append(l.toDecode, p)
	case p.begun: // who reads it hands it on
		l.reading++
	default:
		l.toRead = append(l.toRead, p)
	}
	l.moved.Broadcast()
}

// unread gives back what was read of a piece. The lock is held.
func (c *pieceCache) unread(p *cachedPiece) {
	if p.raw != nil {
		p.raw.Close()
		c.leave(p)
	}
}

// leave gives back the room of a piece. The lock is held.
func (c *pieceCache) leave(p *cachedPiece) {
	c.line.taken -= p.taking
	p.raw, p.taking = nil, 0
	c.line.moved.Broadcast()
}

// reads reads pieces until the cache is closed.
func (c *pieceCache) reads() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		p := c.nextToRead()
		if p == nil {
			return
		}
		raw := p.raw
		c.mu.Unlock()
		begin := time.Now()
		raw.Fetch(c.ctx)
		c.loaded.since(begin)
		c.mu.Lock()
		p.isRead = true
		if p.wanted {
			c.line.reading--
			c.line.toDecode = append(c.line.toDecode, p)
		}
		c.line.moved.Broadcast()
	}
}

// nextToRead waits for a piece to read, and for room for it; nil when the cache is closed.
// The lock is held, but not while the piece is looked up in its file.
func (c *pieceCache) nextToRead() *cachedPiece {
	l := &c.line
	for !c.closed {
		p := l.pick(!c.early) // a stream goes on in its order
		if p == nil {
			l.moved.Wait()
			continue
		}
		p.begun = true
		if p.wanted {
			l.reading++
		}
		c.mu.Unlock()
		raw, err := c.begin(p.number)
		c.mu.Lock()
		if err == nil && c.place(p, raw) {
			return p
		}
		switch {
		case !p.wanted: // and is asked for again
			l.aside = without(l.aside, p)
			c.drop(p)
		case err != nil:
			l.reading--
			c.finish(p, nil, 0, err)
		default:
			l.reading--
		}
	}
	return nil
}

// pick takes out the piece that is to be read next: one that is wanted, or else stands
// aside; nil where there is none. The lock is held.
func (l *pieceLine) pick(hasty bool) *cachedPiece {
	if len(l.toRead) > 0 {
		return first(&l.toRead, hasty)
	}
	for _, p := range l.aside {
		if !p.begun {
			return p
		}
	}
	return nil
}

// first takes out the first piece, or the first that somebody waits for: what is foreseen
// is asked for before what is needed now.
func first(all *[]*cachedPiece, hasty bool) *cachedPiece {
	p := (*all)[0]
	for _, one := range *all {
		if hasty && one.uses > 0 {
			p = one
			break
		}
	}
	*all = without(*all, p)
	return p
}

// place gives a piece the room for its bytes: one that is wanted waits for it, and others
// have to make way. It reports false where there is none, and when the cache is closed.
// The lock is held.
func (c *pieceCache) place(p *cachedPiece, raw rawPiece) bool {
	l, size := &c.line, raw.Size()
	for l.taken > 0 && l.taken+size > l.most {
		if c.closed || !p.wanted {
			raw.Close()
			return false
		}
		if !c.clearAside() {
			begin := time.Now()
			l.moved.Wait()
			l.room.since(begin)
		}
	}
	p.raw, p.taking = raw, size
	l.taken += size
	if c.early {
		c.reserve(p)
	}
	return true
}

// decodes decodes pieces until the cache is closed.
func (c *pieceCache) decodes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		p := c.nextToDecode()
		if p == nil {
			return
		}
		if !c.early {
			c.reserve(p)
		}
		raw := p.raw
		c.mu.Unlock()
		begin := time.Now()
		reader, bytes, err := c.decode(c.ctx, p.number, raw)
		raw.Close()
		c.loaded.since(begin)
		c.mu.Lock()
		c.leave(p)
		c.finish(p, reader, bytes, err)
	}
}

// nextToDecode waits for a piece that was read; nil when the cache is closed. The lock is
// held.
func (c *pieceCache) nextToDecode() *cachedPiece {
	l := &c.line
	for !c.closed {
		if len(l.toDecode) > 0 {
			return first(&l.toDecode, !c.early)
		}
		begin, waits := time.Now(), l.reading > 0 || len(l.toRead) > 0
		l.moved.Wait()
		if waits {
			l.read.since(begin)
		}
	}
	return nil
}
