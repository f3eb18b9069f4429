package mpi

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/volley-go/volley/collective/transport"
)

// controlTag is the tag of everything beside the lanes. An end's own is from 1.
const controlTag = 0

// maxNote is the longest note, in bytes.
const maxNote = 32 << 10

// The kinds of control messages. Each says who sends it and a tag.
const (
	hello  = 1 + iota // I shall be in the group called key: send to me with this tag
	recant            // I shall not: the hello of this tag does not hold
	note              // text for the end of this tag
	leave             // nothing more comes from me to the end of this tag
)

const controlLen = 40

// key stands for a group's name.
type key [16]byte

func keyOf(name string) (k key) {
	h := fnv.New128a()
	h.Write([]byte(name))
	h.Sum(k[:0])
	return k
}

// control is such a message.
type control struct {
	kind int
	from int // its rank in the job
	tag  int
	key  key
	seq  uint32 // its number from this sender to this rank
	text []byte
}

func (c *control) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, uint32(c.kind))
	le.PutUint32(b[4:], uint32(c.from))
	le.PutUint32(b[8:], uint32(c.tag))
	le.PutUint32(b[12:], frameMagic)
	copy(b[16:], c.key[:])
	le.PutUint32(b[32:], c.seq)
	le.PutUint32(b[36:], 0)
	copy(b[controlLen:], c.text)
}

// parse reads one; ok is false for what is none.
func parse(b []byte, size int) (c control, ok bool) {
	le := binary.LittleEndian
	if len(b) < controlLen || le.Uint32(b[12:]) != frameMagic {
		return c, false
	}
	c = control{kind: int(le.Uint32(b)), from: int(le.Uint32(b[4:])), tag: int(le.Uint32(b[8:])), seq: le.Uint32(b[32:]), text: append([]byte(nil), b[controlLen:]...)}
	copy(c.key[:], b[16:])
	return c, c.from < size && c.kind >= hello && c.kind <= leave
}

// heard takes control messages in their order: one that is long may be finished after
// those that follow it. The lock is held.
func (s *site) heard(c *control) {
	in := &s.inbox[c.from]
	if in.early == nil {
		in.early = map[uint32]*control{}
	}
	in.early[c.seq] = c
	for {
		next := in.early[in.next]
		if next == nil {
			return
		}
		delete(in.early, in.next)
		in.next++
		s.heed(next)
	}
}

// inbox is what came from a rank before its turn.
type inbox struct {
	next  uint32
	early map[uint32]*control
}

// heed does what a control message says. The lock is held.
func (s *site) heed(c *control) {
	switch c.kind {
	case hello:
		s.hellos[greeting{c.key, c.from}] = c.tag
	case recant:
		if g := (greeting{c.key, c.from}); s.hellos[g] == c.tag {
			delete(s.hellos, g)
			return
		}
		for _, e := range s.ends {
			if i, ok := e.place[c.from]; ok && e.lanes[i].tag == c.tag {
				e.lanes[i].left = true
				e.lose(i, transport.ErrLeft)
			}
		}
	case note, leave:
		e := s.ends[c.tag]
		if e == nil {
			return // it was closed
		}
		i, ok := e.place[c.from]
		switch {
		case !ok:
		case c.kind == leave:
			e.lanes[i].left = true
			e.lose(i, transport.ErrLeft)
		default:
			e.box.Put(transport.Note{From: i, Text: c.text})
		}
	}
}
