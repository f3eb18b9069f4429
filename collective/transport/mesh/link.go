package mesh

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/volley-go/volley/internal/crc32c"
)

const (
	// plenty is how much may wait for a socket before who has the time waits too,
	plenty = 1 << 20
	// tooMuch before who reads nothing is called lost.
	tooMuch = 256 << 20
	// linger bounds how long a last word is waited for.
	linger = 300 * time.Millisecond
)

// way leads to another node.
type way interface {
	// send hands a frame over without waiting. The payload may change afterwards.
	send(f frame, payload []byte) error
	// stream hands over a payload that is read later.
	stream(s *stream)
	// room is closed when there is little that waits; nil where that is so now.
	room() <-chan struct{}
	// hangUp ends it behind what was sent; at once where now is set.
	hangUp(now bool)
}

// link is a way over a connection.
type link struct {
	node *Node
	rank int
	conn net.Conn

	mu      sync.Mutex
	some    *sync.Cond
	urgent  []byte
	streams []*stream
	drained chan struct{} // nil where nobody waits for it
	ending  bool
	err     error
	written chan struct{} // closed when the writer has ended
}

func newLink(n *Node, rank int, conn net.Conn) *link {
	l := &link{node: n, rank: rank, conn: conn, written: make(chan struct{})}
	l.some = sync.NewCond(&l.mu)
	return l
}

func (l *link) start(in *bufio.Reader) {
	go l.write()
	go l.listen(in)
}

func (l *link) send(f frame, payload []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return l.err
	case l.ending:
		return errClosed
	case len(l.urgent) > tooMuch:
		return fmt.Errorf("%d bytes wait for it to read", len(l.urgent))
	}
	l.urgent = f.append(l.urgent, payload)
	l.some.Signal()
	return nil
}

func (l *link) stream(s *stream) {
	l.mu.Lock()
	if l.err != nil || l.ending {
		l.mu.Unlock()
		s.drop()
		return
	}
	l.streams = append(l.streams, s)
	l.some.Signal()
	l.mu.Unlock()
}

func (l *link) room() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.urgent) < plenty || l.err != nil {
		return nil
	}
	if l.drained == nil {
		l.drained = make(chan struct{})
	}
	return l.drained
}

func (l *link) hangUp(now bool) {
	l.mu.Lock()
	l.ending = true
	l.some.Signal()
	l.mu.Unlock()
	if now {
		l.fail(errClosed)
		return
	}
	late := time.AfterFunc(linger, func() { l.fail(errClosed) })
	<-l.written
	late.Stop()
	l.fail(errClosed)
}

// fail ends the connection; only the first reason counts.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	left := l.streams
	l.streams, l.urgent = nil, nil
	l.freed()
	l.some.Signal()
	l.mu.Unlock()
	for _, s := range left {
		s.drop()
	}
	_ = socketOf(l.conn).Close() // it is given up
}

// freed tells those who wait for room; l.mu is held.
func (l *link) freed() {
	if l.drained != nil {
		close(l.drained)
		l.drained = nil
	}
}

// write empties the queue, short frames first.
func (l *link) write() {
	defer close(l.written)
	var spare, long []byte
	for {
		l.mu.Lock()
		for len(l.urgent) == 0 && len(l.streams) == 0 && l.err == nil && !l.ending {
			l.some.Wait()
		}
		if l.err != nil || len(l.urgent) == 0 && len(l.streams) == 0 {
			l.mu.Unlock()
			return
		}
		var out []byte
		var s *stream
		if len(l.urgent) > 0 {
			out, l.urgent = l.urgent, spare[:0]
			spare = nil
			l.freed()
		} else {
			s = l.streams[0]
		}
		l.mu.Unlock()
		if s == nil {
			err := l.put(out)
			if cap(out) <= 4*plenty {
				spare = out
			}
			if err != nil {
				return
			}
			continue
		}
		more := false
		long, more = s.next(long[:0])
		l.mu.Lock()
		if i := slices.Index(l.streams, s); i >= 0 { // others take turns
			l.streams = slices.Delete(l.streams, i, i+1)
			if more {
				l.streams = append(l.streams, s)
			}
		}
		l.mu.Unlock()
		if l.put(long) != nil {
			s.drop()
			return
		}
		if !more {
			s.whole()
		}
	}
}

func (l *link) put(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := l.conn.Write(b)
	if err != nil {
		l.fail(err)
	}
	return err
}

// listen hands on what comes until the connection ends.
func (l *link) listen(in *bufio.Reader) {
	err := l.take(in)
	l.mu.Lock()
	ended := l.err
	l.mu.Unlock()
	if errors.Is(ended, errClosed) {
		return
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("its connection ended without a word")
	}
	l.fail(err)
	l.node.broken(l, err)
}

func (l *link) take(in *bufio.Reader) error {
	var head [headSize]byte
	var long []byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		var f frame
		sum, err := f.read(head[:])
		if err != nil {
			return err
		}
		var payload []byte
		if f.kind == answer || f.kind == ask { // copied by who takes it
			if long == nil {
				long = make([]byte, segment+headerSize)
			}
			payload = long[:f.size]
		} else {
			payload = make([]byte, f.size)
		}
		if _, err := io.ReadFull(in, payload); err != nil {
			return err
		}
		if crc32c.Update(crc32c.Checksum(head[:headSize-4]), payload) != sum {
			return fmt.Errorf("%w: its checksum is another", errFrame)
		}
		if err := l.node.arrive(l, &f, payload); err != nil {
			return err
		}
	}
}

// socketOf is what an encrypted connection runs over: its own Close would wait to say so.
func socketOf(c net.Conn) net.Conn {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		return over.NetConn()
	}
	return c
}
