package mesh

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// reaching bounds how long a connection to another worker takes.
const reaching = 10 * time.Second

// seat takes a part of the hub's table.
func (n *Node) seat(f *frame, payload []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.plan = append(n.plan, payload...)
	if int64(len(n.plan)) < f.total {
		return nil
	}
	var cards []card
	if err := json.Unmarshal(n.plan, &cards); err != nil || len(cards) != n.o.Size || n.cards != nil {
		return errFrame
	}
	n.cards, n.plan = cards, nil
	close(n.placed)
	return nil
}

// reach is the way to another node, which is made where there is none yet.
func (n *Node) reach(ctx context.Context, rank int) (way, error) {
	if rank == n.o.Rank {
		return bridge{n, n}, nil
	}
	for {
		if n.ended() {
			return nil, n.Err()
		}
		n.mu.Lock()
		if g := n.gone[rank]; g != nil {
			n.mu.Unlock()
			return nil, g
		}
		if w := n.ways[rank]; w != nil {
			n.mu.Unlock()
			return w, nil
		}
		if rank < 0 || n.cards == nil || rank >= len(n.cards) {
			n.mu.Unlock()
			return nil, fmt.Errorf("there is no way to rank %d", rank)
		}
		made, under := n.dialing[rank]
		if !under {
			made = make(chan struct{})
			n.dialing[rank] = made
			go n.connect(rank, made)
		}
		n.mu.Unlock()
		select {
		case <-made:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-n.ctx.Done():
			return nil, n.Err()
		}
	}
}

// connect makes the way to another worker, or loses it.
func (n *Node) connect(rank int, made chan struct{}) {
	defer func() {
		n.mu.Lock()
		delete(n.dialing, rank)
		n.mu.Unlock()
		close(made)
	}()
	if other := n.Near(rank); other != nil {
		n.keep(rank, bridge{n, other})
		return
	}
	n.mu.Lock()
	address := n.cards[rank].Address
	n.mu.Unlock()
	ctx, done := context.WithTimeout(n.ctx, min(reaching, n.o.Lease))
	defer done()
	l, in, err := n.dial(ctx, rank, address)
	if n.ended() {
		if l != nil {
			l.fail(errClosed)
		}
		return
	}
	if err != nil {
		n.lose(&Gone{Rank: rank, Text: fmt.Sprintf("it cannot be reached: %v", err)})
		return
	}
	n.mu.Lock()
	n.links = append(n.links, l)
	n.mu.Unlock()
	n.keep(rank, l)
	l.start(in)
}

// keep makes a way the one that is used, unless the other node has made one meanwhile.
func (n *Node) keep(rank int, w way) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ways[rank] == nil && n.gone[rank] == nil {
		n.ways[rank] = w
	}
}

// beside is a way for a word that needs no connection of its own: over the hub where there is none.
func (n *Node) beside(rank int) (way, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if g := n.gone[rank]; g != nil {
		return nil, g
	}
	if w := n.ways[rank]; w != nil {
		return w, nil
	}
	if w := n.ways[Hub]; w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("there is no way to rank %d", rank)
}
