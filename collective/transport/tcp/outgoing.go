package tcp

import (
	"net"
	"slices"
	"sync"
)

// short is the longest payload that is copied behind its header, so that both go out
// in one piece.
const short = 4 << 10

// maxWaiting bounds the notes that wait for a peer that does not read them.
const maxWaiting = 16 << 20

// piece is a frame, or what is left of one, that has still to be written.
type piece struct {
	frame   frame
	wire    []byte // what is left of the encoded header; nil where it is not encoded yet
	payload []byte
}

// outgoing is the writing side of a connection.
type outgoing struct {
	conn    net.Conn
	direct  *direct     // nil where the connection has to be written by net
	failed  func(error) // is told once when writing fails
	backlog *backlog    // takes on what the socket does not take at once; nil where a goroutine does

	mu      sync.Mutex
	idle    sync.Cond // writing has become false
	queue   []piece
	first   int  // of the queue that is not written
	bytes   int  // of the queue's payloads
	writing bool // a goroutine writes the queue
	number  uint64
	err     error
	head    [headSize]byte
	both    []byte // a header and a short payload
}

func newOutgoing(conn net.Conn, d *direct, failed func(error), b *backlog) *outgoing {
	o := &outgoing{conn: conn, direct: d, failed: failed}
	if d != nil {
		o.backlog = b
	}
	o.idle.L = &o.mu
	return o
}

// put writes a frame as far as the socket takes it now and leaves the rest to the
// backlog or a goroutine. limit bounds the bytes that wait, 0 for no bound.
func (o *outgoing) put(f frame, payload []byte, limit int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if limit > 0 && o.bytes+len(payload) > limit {
		return errWaiting
	}
	f.number = o.number
	o.number++
	p := piece{frame: f, payload: payload}
	if o.direct != nil && !o.writing && o.first == len(o.queue) {
		done, err := o.try(&p)
		if err != nil {
			o.err = err
			return err
		}
		if done {
			return nil
		}
	}
	if o.first > len(o.queue)/2 {
		n := copy(o.queue, o.queue[o.first:])
		clear(o.queue[n:])
		o.queue, o.first = o.queue[:n], 0
	}
	o.queue = append(o.queue, p)
	o.bytes += len(p.payload)
	switch {
	case o.writing:
	case o.backlog != nil:
		o.backlog.add(o)
	default:
		o.start()
	}
	return nil
}

// start begins a goroutine that writes the queue.
func (o *outgoing) start() {
	o.writing = true
	go o.write()
}

// empty forgets the queue.
func (o *outgoing) empty() {
	clear(o.queue)
	o.queue, o.first, o.bytes = o.queue[:0], 0, 0
}

// try writes without waiting. What is left stays in p.
func (o *outgoing) try(p *piece) (done bool, err error) {
	wire := p.wire
	if wire == nil {
		p.frame.sum = checksum(p.payload)
		p.frame.encode(&o.head)
		wire = o.head[:]
		if len(p.payload) <= short {
			o.both = append(append(o.both[:0], wire...), p.payload...)
			wire, p.payload = o.both, nil
		}
	}
	n, err := o.direct.write(wire, p.payload, false)
	if n < len(wire) {
		p.wire = slices.Clone(wire[n:])
		return false, err
	}
	p.wire, p.payload = wire[:0:0], p.payload[n-len(wire):]
	return len(p.payload) == 0, err
}

// advance writes the queue's next piece as far as the socket takes it, where no goroutine
// does, and says whether anything went out and whether there is more to write.
func (o *outgoing) advance() (moved, rest bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || o.first == len(o.queue) {
		return false, false
	}
	p := &o.queue[o.first]
	before := len(p.payload)
	done, err := o.try(p)
	o.bytes -= before - len(p.payload)
	switch {
	case err != nil:
		o.err = err
		o.empty()
		go o.failed(err) // which waits for the reason
		return true, false
	case done:
		*p = piece{}
		o.first++
		if o.first == len(o.queue) {
			o.empty()
		}
		return true, o.first < len(o.queue)
	}
	return len(p.payload) < before, true
}

// handOver has a goroutine write what waits.
func (o *outgoing) handOver() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.writing && o.first < len(o.queue) {
		o.start()
	}
}

// drop forgets what waits, of which nothing is read any more then but by a goroutine.
func (o *outgoing) drop(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.writing && o.first < len(o.queue) {
		o.err = err
		o.empty()
	}
}

// behind says whether something waits that no goroutine writes.
func (o *outgoing) behind() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.writing && o.first < len(o.queue)
}

// write empties the queue, and ends.
func (o *outgoing) write() {
	var head [headSize]byte
	for {
		o.mu.Lock()
		if o.err != nil || o.first == len(o.queue) {
			o.empty()
			o.writing = false
			o.idle.Broadcast()
			o.mu.Unlock()
			return
		}
		p := o.queue[o.first]
		o.queue[o.first] = piece{}
		o.first++
		o.mu.Unlock()

		if p.wire == nil {
			p.frame.sum = checksum(p.payload)
			p.frame.encode(&head)
			p.wire = head[:]
		}
		err := o.blocking(p.wire, p.payload)
		o.mu.Lock()
		o.bytes -= len(p.payload)
		if err != nil {
			o.err = err
		}
		o.mu.Unlock()
		if err != nil {
			o.failed(err)
		}
	}
}

// blocking writes header and payload: by one vectored call on a plain socket, in as
// few records as possible where they are encrypted.
func (o *outgoing) blocking(wire, payload []byte) error {
	if o.direct != nil {
		_, err := o.direct.write(wire, payload, true)
		return err
	}
	if len(payload) <= short {
		_, err := o.conn.Write(append(slices.Clone(wire), payload...))
		return err
	}
	if _, err := o.conn.Write(wire); err != nil {
		return err
	}
	_, err := o.conn.Write(payload)
	return err
}

// flush waits until nothing that was put is read any more.
func (o *outgoing) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.idle.Wait()
	}
	return o.err
}
