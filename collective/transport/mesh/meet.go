package mesh

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// hello is what who connects says first.
type hello struct {
	Run        string
	Generation uint64
	Rank, Size int
	Proof      string // that it knows the key
	Address    string // where others reach it
	Card       []byte
}

// reply is the answer to it.
type reply struct {
	Proof string
	Stale bool   `json:",omitempty"`
	Text  string `json:",omitempty"` // why not
}

// longestHello is in bytes.
const longestHello = 256 << 10

func proof(key []byte, who string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("volley gang " + who))
	return hex.EncodeToString(h.Sum(nil))
}

func (n *Node) hello() *hello {
	h := &hello{Run: hex.EncodeToString(n.o.Run[:]), Generation: n.o.Generation, Rank: n.o.Rank, Size: n.o.Size, Proof: proof(n.o.Key, "hello"), Card: n.o.Card}
	if n.o.Listener != nil {
		h.Address = n.o.Listener.Addr().String()
	}
	return h
}

// Open makes a gang's hub, which workers join at its listener.
func Open(o Options) *Node {
	o.Rank = Hub
	n := newNode(o)
	n.settle()
	n.doors.Go(n.open)
	go n.beats()
	return n
}

// Join makes a worker's node, and returns when all are there. Where ctx ends before, or the hub gives the gang up, there is none.
func Join(ctx context.Context, o Options, hub string) (*Node, error) {
	n := newNode(o)
	err := n.join(ctx, hub)
	if err == nil {
		select {
		case <-n.placed:
			return n, nil
		case <-n.ctx.Done():
			err = n.Err()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		select {
		case <-n.placed: // in the same moment
			if n.Err() == nil && ctx.Err() == nil {
				return n, nil
			}
		default:
		}
	}
	_ = n.Close() // nothing was begun
	return nil, err
}

func (n *Node) join(ctx context.Context, hub string) error {
	if n.o.Listener != nil {
		n.doors.Go(n.open)
	}
	if h := n.Near(Hub); h != nil && hmac.Equal(h.o.Key, n.o.Key) {
		n.settle()
		n.mu.Lock()
		n.ways[Hub] = bridge{n, h}
		n.mu.Unlock()
		return h.admit(n.hello(), bridge{h, n}, nil)
	}
	l, in, err := n.dial(ctx, Hub, hub)
	if err != nil {
		return fmt.Errorf("the gang's meeting point %s: %w", hub, err)
	}
	n.settle()
	n.mu.Lock()
	n.ways[Hub], n.links = l, append(n.links, l)
	n.mu.Unlock()
	l.start(in)
	go n.beats()
	return nil
}

// dial connects to another node and shows it who this one is.
func (n *Node) dial(ctx context.Context, rank int, address string) (*link, *bufio.Reader, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	conn, err := n.o.Guard.Client(ctx, raw)
	var in *bufio.Reader
	if err == nil {
		h := n.hello()
		if host, port, cut := net.SplitHostPort(h.Address); cut == nil {
			if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() { // it is reached the way that it goes
				if at, ok := raw.LocalAddr().(*net.TCPAddr); ok {
					h.Address = net.JoinHostPort(at.IP.String(), port)
				}
			}
		}
		in = bufio.NewReaderSize(conn, segment)
		err = say(conn, h)
		var r reply
		if err == nil {
			err = hearText(in, &r)
		}
		switch {
		case err != nil:
		case r.Stale:
			err = fmt.Errorf("%w: %s", ErrStale, r.Text)
		case r.Text != "":
			err = errors.New(r.Text)
		case !hmac.Equal([]byte(r.Proof), []byte(proof(n.o.Key, "welcome"))):
			err = errors.New("who listens there does not know the gang's key")
		}
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = raw.Close() // it leads nowhere
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, err
	}
	return newLink(n, rank, conn), in, nil
}

// open takes connections until the listener is closed.
func (n *Node) open() {
	for {
		conn, err := n.o.Listener.Accept()
		if err != nil {
			if n.ended() || errors.Is(err, net.ErrClosed) {
				return
			}
			n.lobby.Clear() // out of files
			time.Sleep(10 * time.Millisecond)
			continue
		}
		leave, ok := n.lobby.Enter(conn, n.ctx.Done())
		if !ok {
			_ = conn.Close() // nobody is expected any more
			return
		}
		n.doors.Go(func() {
			defer leave()
			if n.greet(conn, leave) != nil {
				_ = conn.Close() // its end was told why, or is a stranger
			}
		})
	}
}

func (n *Node) greet(raw net.Conn, leave func() bool) error {
	ctx, done := context.WithTimeout(n.ctx, transport.Patience)
	defer done()
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	conn, err := n.o.Guard.Server(ctx, raw)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, segment)
	var h hello
	if err := hearText(in, &h); err != nil {
		return err
	}
	if !hmac.Equal([]byte(h.Proof), []byte(proof(n.o.Key, "hello"))) {
		return errors.Join(errors.New("a stranger"), say(conn, &reply{Text: "it does not know the gang's key"}))
	}
	if r := n.refusal(&h); r != nil {
		return errors.Join(errors.New(r.Text), say(conn, r))
	}
	if !stop() || !leave() {
		return net.ErrClosed
	}
	l := newLink(n, h.Rank, conn)
	welcome := func() error { return say(conn, &reply{Proof: proof(n.o.Key, "welcome")}) }
	if n.o.Rank == Hub {
		err = n.admit(&h, l, welcome)
		if err != nil {
			return errors.Join(err, say(conn, &reply{Text: err.Error()}))
		}
	} else {
		if err := welcome(); err != nil {
			return err
		}
		n.mu.Lock()
		if n.ways[h.Rank] == nil && n.gone[h.Rank] == nil {
			n.ways[h.Rank] = l
		}
		n.links = append(n.links, l)
		n.mu.Unlock()
	}
	if n.ended() {
		l.fail(errClosed)
		return nil
	}
	l.start(in)
	return nil
}

// refusal is what one hears that does not belong here.
func (n *Node) refusal(h *hello) *reply {
	run := hex.EncodeToString(n.o.Run[:])
	switch {
	case h.Run != run:
		return &reply{Text: fmt.Sprintf("it is of the run %s, this is %s", h.Run, run)}
	case h.Generation < n.o.Generation:
		return &reply{Stale: true, Text: fmt.Sprintf("it is of generation %d, this is %d", h.Generation, n.o.Generation)}
	case h.Generation != n.o.Generation || h.Size != n.o.Size:
		return &reply{Text: fmt.Sprintf("it is one of %d workers of generation %d, these are %d of generation %d", h.Size, h.Generation, n.o.Size, n.o.Generation)}
	case h.Rank < 0 || h.Rank >= n.o.Size || h.Rank == n.o.Rank:
		return &reply{Text: fmt.Sprintf("there is no rank %d to come", h.Rank)}
	}
	if g := n.Gone(h.Rank); g != nil {
		return &reply{Text: fmt.Sprintf("%v", g)}
	}
	return nil
}

// admit takes a worker in at the hub. welcome is said before anything else goes its way.
func (n *Node) admit(h *hello, w way, welcome func() error) error {
	if r := n.refusal(h); r != nil {
		return errors.New(r.Text)
	}
	n.mu.Lock()
	if n.ways[h.Rank] != nil {
		n.mu.Unlock()
		return fmt.Errorf("rank %d is there already", h.Rank)
	}
	if welcome != nil {
		if err := welcome(); err != nil { // a few bytes: the socket has room
			n.mu.Unlock()
			return err
		}
	}
	n.ways[h.Rank], n.heard[h.Rank] = w, time.Now()
	n.cards[h.Rank] = card{h.Address, h.Card}
	if l, ok := w.(*link); ok {
		n.links = append(n.links, l)
	}
	n.come++
	all := n.come == n.o.Size
	n.mu.Unlock()
	if all {
		n.announce()
	}
	return nil
}

// announce tells all that all are there, and where.
func (n *Node) announce() {
	n.mu.Lock()
	others := n.others()
	text, _ := json.Marshal(n.cards) // texts
	n.mu.Unlock()
	if len(others) < n.o.Size {
		return // one has gone before the last one came
	}
	close(n.placed)
	for rank, w := range others {
		n.sendLong(w, n.frame(table, rank), text)
	}
}

// sendLong sends a payload that may be longer than a frame's: those of one node to another come in the order that they were sent in.
func (n *Node) sendLong(w way, f frame, payload []byte) {
	f.total = int64(len(payload))
	for first := true; first || len(payload) > 0; first = false {
		k := min(len(payload), segment)
		_ = w.send(f, payload[:k]) // one that has gone hears nothing
		f.off, payload = f.off+int64(k), payload[k:]
	}
}

// Placed is closed when all workers are there.
func (n *Node) Placed() <-chan struct{} { return n.placed }

func say(w io.Writer, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

func hearText(r io.Reader, into any) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > longestHello {
		return errFrame
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	if json.Unmarshal(text, into) != nil {
		return errFrame
	}
	return nil
}
