package inproc

import (
	"sync"

	"github.com/volley-go/volley/collective/transport"
)

// mailbox hands notes on in order and never makes the sender wait.
type mailbox struct {
	mu      sync.Mutex
	held    []transport.Note
	handing bool // a goroutine hands on what is held, and closes out where it finds the box closed
	closed  bool
	out     chan transport.Note
	done    chan struct{}
}

func newMailbox() *mailbox {
	return &mailbox{out: make(chan transport.Note), done: make(chan struct{})}
}

func (b *mailbox) put(n transport.Note) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.held = append(b.held, n)
	if !b.handing {
		b.handing = true
		go b.hand()
	}
}

// hand gives what is held to the reader, and ends when nothing is left.
func (b *mailbox) hand() {
	for {
		b.mu.Lock()
		if b.closed || len(b.held) == 0 {
			b.handing = false
			if b.closed {
				close(b.out)
			}
			b.mu.Unlock()
			return
		}
		n := b.held[0]
		b.held = b.held[1:]
		b.mu.Unlock()
		select {
		case b.out <- n:
		case <-b.done:
		}
	}
}

// close drops what is held. The reader sees the channel closed.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	close(b.done)
	if !b.handing {
		close(b.out)
	}
}
