package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/volley-go/volley/collective/transport/secret"
)

// visit goes to rank 0 and waits there for the others. Rank 0 may not be there yet, and
// what listens at its port may be an earlier world's that is just leaving.
func visit(ctx context.Context, w World, address string, g *secret.Guard, card []byte) (*Table, error) {
	pause := 2 * time.Millisecond
	for {
		watched(ctx, []int{0})
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		var table *Table
		if err == nil {
			table, err = ask(ctx, conn, w, g, card)
			_ = conn.Close() // all was said
			if err == nil {
				return table, nil
			}
			if ctx.Err() == nil && !isEnd(err) {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			var late *waited
			if errors.As(err, &late) && len(late.missing) > 0 {
				return nil, absent(ctx, late.missing, "")
			}
			return nil, absent(ctx, []int{0}, err.Error())
		case <-time.After(pause):
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
}

// waited is a visit that ended before all were there.
type waited struct {
	missing []int
	err     error
}

func (w *waited) Error() string {
	if len(w.missing) > 0 {
		return fmt.Sprintf("rank 0 ended the meeting, %s did not come: %v", named(w.missing), w.err)
	}
	return fmt.Sprintf("rank 0 ended the meeting: %v", w.err)
}
func (w *waited) Unwrap() error { return w.err }

// isEnd reports whether the other side went away without a word: rank 0 may come later.
func isEnd(err error) bool {
	var late *waited
	return !errors.Is(err, secret.ErrRefused) && !errors.As(err, &late) &&
		(errors.Is(err, secret.ErrEnded) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE))
}

func ask(ctx context.Context, raw net.Conn, w World, g *secret.Guard, card []byte) (*Table, error) {
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Now().Add(20 * time.Millisecond)) })() // for a last word of rank 0
	conn, err := g.Client(ctx, raw)
	if err != nil {
		return nil, err
	}
	if err := send(conn, &message{Kind: "join", Rank: w.Rank, Size: w.Size, ID: w.ID, Card: card}); err != nil {
		return nil, err
	}
	var late waited
	for heard := false; ; heard = true {
		var m message
		if err := receive(conn, &m, bound(w.Size)); err != nil {
			if heard || ctx.Err() != nil {
				late.err = err
				return nil, &late
			}
			return nil, err
		}
		switch {
		case m.Kind == "wait":
			late.missing = m.Missing
			watched(ctx, m.Missing)
		case m.Kind == "refused":
			return nil, fmt.Errorf("rank 0 refuses it: %s", m.Text)
		case m.Kind == "table" && len(m.Cards) == w.Size && len(m.Key) == 16:
			return &Table{Key: [16]byte(m.Key), Cards: m.Cards}, nil
		default:
			return nil, errStrange
		}
	}
}
