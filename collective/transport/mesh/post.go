package mesh

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
)

// pull is the question for a payload that was offered.
const pull = ""

// held is a payload that stays here until its receiver has asked for it.
type held struct {
	to    int
	bytes []byte
	taken func(whole bool)

	mu   sync.Mutex
	out  *stream
	back bool // it was taken back
}

// begun notes by which stream the payload goes.
func (h *held) begun(s *stream) {
	h.mu.Lock()
	h.out = s
	back := h.back
	h.mu.Unlock()
	if back {
		s.drop()
	}
}

func (n *Node) hold(h *held) uint64 {
	number := n.last.Add(1)
	n.mu.Lock()
	n.held[number] = h
	n.mu.Unlock()
	return number
}

// forget takes a payload back: from then on nothing of it is read.
func (n *Node) forget(number uint64) {
	n.mu.Lock()
	h := n.held[number]
	delete(n.held, number)
	n.mu.Unlock()
	if h == nil {
		return
	}
	h.mu.Lock()
	h.back = true
	out := h.out
	h.mu.Unlock()
	if out != nil {
		out.drop()
	}
}

// pulled is the answer to who asks for a payload.
func (n *Node) pulled(from int, body []byte) (Answer, error) {
	if len(body) != 8 {
		return Answer{}, errFrame
	}
	number := binary.LittleEndian.Uint64(body)
	n.mu.Lock()
	h := n.held[number]
	n.mu.Unlock()
	if h == nil || h.to != from {
		return Answer{}, fmt.Errorf("message %d was taken back", number)
	}
	return Answer{Parts: [][]byte{h.bytes}, begun: h.begun, Done: func(whole bool) {
		if whole {
			n.mu.Lock()
			delete(n.held, number)
			n.mu.Unlock()
		}
		if h.taken != nil {
			h.taken(whole)
		}
	}}, nil
}

func (n *Node) pull(ctx context.Context, from int, number uint64, into []byte) error {
	_, err := n.Ask(ctx, from, pull, [][]byte{binary.LittleEndian.AppendUint64(nil, number)}, func(total int64) ([]byte, error) {
		if total != int64(len(into)) {
			return nil, fmt.Errorf("%w: %d bytes of %d that were offered", errFrame, total, len(into))
		}
		return into, nil
	})
	return err
}

// label names messages that are received in the order that they were sent in.
type label struct {
	from int
	tag  uint64
}

// box has the messages of a label that nobody has received.
type box struct {
	items []letter
	more  chan struct{} // closed when there is something new
}

type letter struct {
	text    []byte
	offered uint64 // 0 where text is all
	total   int64
}

// wake tells those who wait; the node's mu is held.
func (b *box) wake() {
	close(b.more)
	b.more = make(chan struct{})
}

func (n *Node) box(l label) *box {
	b := n.boxes[l]
	if b == nil {
		b = &box{more: make(chan struct{})}
		n.boxes[l] = b
	}
	return b
}

func (n *Node) deliver(from int, f *frame, payload []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.box(label{from, f.group})
	if f.kind == post {
		b.items = append(b.items, letter{text: payload})
	} else {
		b.items = append(b.items, letter{offered: f.number, total: f.total})
	}
	b.wake()
}

// Send sends a message, which may be changed when Send has returned. It does not wait for the receiver: a short one waits there, a long one
// here until it is received.
func (n *Node) Send(ctx context.Context, to int, tag uint64, message []byte) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	w, err := n.reach(ctx, to)
	if err != nil {
		return err
	}
	f := n.frame(post, to)
	f.group, f.total = tag, int64(len(message))
	if len(message) > short {
		f.kind = postOffer
		f.number = n.hold(&held{to: to, bytes: append([]byte(nil), message...)})
		message = nil
	} else {
		f.number = n.last.Add(1)
		for room := w.room(); room != nil; room = w.room() {
			select {
			case <-room:
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-n.ctx.Done():
				return n.Err()
			}
		}
	}
	if err := w.send(f, message); err != nil {
		n.forget(f.number)
		if g := n.Gone(to); g != nil {
			return g
		}
		if n.ended() {
			return n.Err()
		}
		return &Gone{Rank: to, Text: err.Error()}
	}
	return nil
}

// Recv receives the next message of a node with a tag. What was sent before the node went can still be received, but for long messages.
func (n *Node) Recv(ctx context.Context, from int, tag uint64) ([]byte, error) {
	key := label{from, tag}
	if from < Hub || from >= n.o.Size {
		return nil, fmt.Errorf("there is no rank %d among %d", from, n.o.Size)
	}
	for {
		n.mu.Lock()
		b := n.box(key)
		g, more := n.gone[from], b.more
		var first *letter
		if len(b.items) > 0 {
			l := b.items[0]
			first, b.items = &l, b.items[1:]
		}
		if len(b.items) == 0 && (first != nil || g != nil) {
			delete(n.boxes, key)
			b.wake() // who waits looks for the new one
		}
		n.mu.Unlock()
		if first != nil {
			return n.open1(ctx, key, first)
		}
		if g != nil {
			return nil, g
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-n.ctx.Done():
			return nil, n.Err()
		}
	}
}

// open1 has a message's bytes. Where they do not come before ctx ends the message is received again.
func (n *Node) open1(ctx context.Context, key label, l *letter) ([]byte, error) {
	if l.offered == 0 {
		return l.text, nil
	}
	whole := make([]byte, l.total)
	err := n.pull(ctx, key.from, l.offered, whole)
	if err == nil {
		return whole, nil
	}
	if ctx.Err() != nil {
		n.mu.Lock()
		b := n.box(key)
		b.items = append([]letter{*l}, b.items...)
		b.wake()
		n.mu.Unlock()
	}
	return nil, err
}
