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
	conn   net.Conn
	direct *direct     // nil where the connection has to be written by net
	failed func(error) // is told once when writing fails

	mu      sync.Mutex
	idle    sync.Cond // writing has become false
	queue   []piece
	bytes   int  // of the queue's payloads
	writing bool // a goroutine writes the queue
	number  uint64
	err     error
	head    [headSize]byte
	both    []byte // a header and a short payload
}

func newOutgoing(conn net.Conn, d *direct, failed func(error)) *outgoing {
	o := &outgoing{conn: conn, direct: d, failed: failed}
	o.idle.L = &o.mu
	return o
}

// put writes a frame as far as the socket takes it now and leaves the rest to a
// goroutine. limit bounds the bytes that wait, 0 for no bound.
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
	if !o.writing && o.direct != nil {
		done, err := o.try(&p)
		if err != nil {
			o.err = err
			return err
		}
		if done {
			return nil
		}
	}
	o.queue = append(o.queue, p)
	o.bytes += len(p.payload)
	if !o.writing {
		o.writing = true
		go o.write()
	}
	return nil
}

// try writes without waiting. What is left stays in p.
func (o *outgoing) try(p *piece) (done bool, err error) {
	p.frame.sum = checksum(p.payload)
	p.frame.encode(&o.head)
	if len(p.payload) <= short {
		o.both = append(append(o.both[:0], o.head[:]...), p.payload...)
		n, err := o.direct.write(o.both, nil, false)
		if n < len(o.both) {
			p.wire, p.payload = slices.Clone(o.both[n:]), nil
			return false, err
		}
		return true, err
	}
	n, err := o.direct.write(o.head[:], p.payload, false)
	if n < headSize {
		p.wire = slices.Clone(o.head[n:])
		return false, err
	}
	p.wire, p.payload = o.head[:0:0], p.payload[n-headSize:]
	return len(p.payload) == 0, err
}

// write empties the queue, and ends.
func (o *outgoing) write() {
	var head [headSize]byte
	for {
		o.mu.Lock()
		if o.err != nil || len(o.queue) == 0 {
			o.queue, o.bytes, o.writing = o.queue[:0], 0, false
			o.idle.Broadcast()
			o.mu.Unlock()
			return
		}
		p := o.queue[0]
		o.queue[0] = piece{}
		o.queue = o.queue[1:]
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
