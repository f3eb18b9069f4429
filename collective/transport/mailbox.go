package transport

import "sync"

// Mailbox hands notes on in order and never makes the sender wait.
type Mailbox struct {
	mu      sync.Mutex
	held    []Note
	handing bool // a goroutine hands on what is held, and closes out where it finds the box closed
	closed  bool
	out     chan Note
	done    chan struct{}
}

// NewMailbox is an empty one.
func NewMailbox() *Mailbox {
	return &Mailbox{out: make(chan Note), done: make(chan struct{})}
}

// Put adds a note. After Close it does nothing.
func (b *Mailbox) Put(n Note) {
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

// Notes is where they come out; closed by Close.
func (b *Mailbox) Notes() <-chan Note { return b.out }

// hand gives what is held to the reader, and ends when nothing is left.
func (b *Mailbox) hand() {
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

// Close drops what is held. The reader sees the channel closed.
func (b *Mailbox) Close() {
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
