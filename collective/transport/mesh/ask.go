package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
)

// question is one that this node has asked.
type question struct {
	to   int
	done chan struct{}

	mu    sync.Mutex
	over  bool // nothing is written any more
	into  func(total int64) ([]byte, error)
	whole []byte
	begun bool
	got   int64
	err   error
}

func (q *question) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle(err)
}

// settle ends it; q.mu is held.
func (q *question) settle(err error) {
	if !q.over {
		q.over, q.err = true, err
		close(q.done)
	}
}

// served names a question of another node, and serving is its answering.
type served struct {
	from   int
	number uint64
}

type serving struct {
	body   []byte
	cancel context.CancelCauseFunc
	s      *stream
}

// Ask has another node's handler answer a question. The answer goes into what into gives for its length, which is not touched any more when Ask
// has returned; nil is new memory. Where the handler fails the error is a *Remote, where the node has gone a *Gone.
func (n *Node) Ask(ctx context.Context, to int, verb string, body [][]byte, into func(total int64) ([]byte, error)) ([]byte, error) {
	if len(verb) > 255 {
		return nil, fmt.Errorf("a verb of %d bytes", len(verb))
	}
	w, err := n.reach(ctx, to)
	if err != nil {
		return nil, err
	}
	n.asks.Add(1)
	number := n.last.Add(1)
	q := &question{to: to, done: make(chan struct{}), into: into}
	n.mu.Lock()
	if g := n.gone[to]; g != nil {
		n.mu.Unlock()
		return nil, g
	}
	n.asked[number] = q
	n.mu.Unlock()
	if n.ended() {
		q.fail(n.Err())
	}
	f := n.frame(ask, to)
	f.number = number
	s := newStream(f, append([][]byte{append([]byte{byte(len(verb))}, verb...)}, body...), nil)
	w.stream(s)
	select {
	case <-q.done:
	case <-ctx.Done():
		q.fail(context.Cause(ctx))
		f := n.frame(cancel, to)
		f.number = number
		_ = w.send(f, nil) // one that has gone has canceled everything
	}
	s.drop()
	n.mu.Lock()
	delete(n.asked, number)
	n.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return nil, q.err
	}
	return q.whole, nil
}

// answered takes a segment of an answer.
func (n *Node) answered(f *frame, payload []byte) error {
	n.mu.Lock()
	q := n.asked[f.number]
	n.mu.Unlock()
	if q == nil || q.to != int(f.from) {
		return nil // nobody waits for it any more
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
		return nil
	}
	if f.kind == failed {
		q.settle(&Remote{From: int(f.from), Text: string(payload)})
		return nil
	}
	if !q.begun {
		q.begun = true
		if q.into == nil {
			q.whole = make([]byte, f.total)
		} else if whole, err := q.into(f.total); err != nil {
			q.settle(err)
			return nil
		} else {
			q.whole = whole
		}
	}
	if f.off != q.got || f.off+int64(len(payload)) > int64(len(q.whole)) {
		return errFrame
	}
	copy(q.whole[f.off:], payload)
	if q.got += int64(len(payload)); q.got == int64(len(q.whole)) {
		q.settle(nil)
	}
	return nil
}

// asking takes a segment of another node's question.
func (n *Node) asking(w way, from int, f *frame, payload []byte) error {
	key := served{from, f.number}
	n.mu.Lock()
	s := n.serving[key]
	if s == nil {
		if f.off != 0 || n.gone[from] != nil && from != n.o.Rank {
			n.mu.Unlock()
			return nil // it was canceled
		}
		s = &serving{cancel: func(error) {}}
		n.serving[key] = s
	}
	if int64(len(s.body)) != f.off {
		n.mu.Unlock()
		return errFrame
	}
	s.body = append(s.body, payload...)
	if int64(len(s.body)) < f.total {
		n.mu.Unlock()
		return nil
	}
	k := 1 + int(s.body[0])
	if len(s.body) < k {
		n.mu.Unlock()
		return errFrame
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancelCause(n.ctx)
	n.mu.Unlock()
	go n.serve(ctx, w, key, s, string(s.body[1:k]), s.body[k:])
	return nil
}

// serve answers a question.
func (n *Node) serve(ctx context.Context, w way, key served, s *serving, verb string, body []byte) {
	var a Answer
	var err error
	if verb == pull {
		a, err = n.pulled(key.from, body)
	} else if n.o.Handle == nil {
		err = errors.New("nobody answers questions here")
	} else {
		a, err = n.o.Handle(ctx, key.from, verb, bytes.Clone(body))
	}
	end := func(whole bool) {
		n.mu.Lock()
		delete(n.serving, key)
		n.mu.Unlock()
		s.cancel(nil)
		if a.Done != nil {
			a.Done(whole)
		}
	}
	f := n.frame(answer, key.from)
	f.number = key.number
	if err != nil || ctx.Err() != nil {
		if err == nil {
			err = context.Cause(ctx)
		}
		f.kind = failed
		text := []byte(err.Error())
		_ = w.send(f, text[:min(len(text), segment)]) // one that has gone waits for nothing
		end(false)
		return
	}
	out := newStream(f, a.Parts, end)
	n.mu.Lock()
	s.s = out
	n.mu.Unlock()
	if a.begun != nil {
		a.begun(out)
	}
	if ctx.Err() != nil {
		out.drop()
		return
	}
	w.stream(out)
}

// canceled is a question whose answer nobody waits for.
func (n *Node) canceled(from int, number uint64) {
	n.mu.Lock()
	s := n.serving[served{from, number}]
	delete(n.serving, served{from, number})
	n.mu.Unlock()
	if s == nil {
		return
	}
	s.cancel(context.Canceled)
	if s.s != nil {
		s.s.drop()
	}
}
