package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/volley-go/volley/collective/transport/secret"
)

// dials bounds how many connections one rank is making at once.
const dials = 16

// card is what a rank is known by to the others of its world.
type card struct {
	Machine   string   `json:"machine"`   // loopback addresses are good on this one
	Addresses []string `json:"addresses"` // host:port, the best first
	Links     int      `json:"links"`
	Secret    string   `json:"secret,omitempty"` // the guard's mark
	Reach     string   `json:"reach,omitempty"`
}

// gathering is a group whose connections are being made: the higher rank of a pair
// dials the lower.
type gathering struct {
	key   [32]byte
	rank  int
	links int

	mu      sync.Mutex
	conns   [][]net.Conn // by rank and index; those of its own rank stay nil
	missing int
	all     chan struct{}
	over    bool
}

func newGathering(key [32]byte, rank, size, links int) *gathering {
	g := &gathering{key: key, rank: rank, links: links, conns: make([][]net.Conn, size), missing: (size - 1) * links, all: make(chan struct{})}
	for r := range g.conns {
		g.conns[r] = make([]net.Conn, links)
	}
	if g.missing == 0 {
		close(g.all)
	}
	return g
}

// admit takes a connection that came.
func (g *gathering) admit(a *arrival) error {
	h := &a.hello
	if h.to != g.rank || h.from <= g.rank || h.from >= len(g.conns) || h.links != g.links || h.index >= g.links {
		return errors.New("a hello that does not fit the group")
	}
	if err := welcome(a.conn); err != nil {
		return err
	}
	return g.put(h.from, h.index, a.conn)
}

// put keeps a connection that is complete.
func (g *gathering) put(rank, index int, conn net.Conn) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.conns[rank][index] != nil {
		return fmt.Errorf("rank %d is there already", rank)
	}
	g.conns[rank][index] = conn
	if g.missing--; g.missing == 0 {
		close(g.all)
	}
	return nil
}

// end closes the gathering: the connections, or the ranks that did not come.
func (g *gathering) end() (conns [][]net.Conn, missing []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	if g.missing == 0 {
		return g.conns, nil
	}
	for r, links := range g.conns {
		absent := r != g.rank
		complete := true
		for _, c := range links {
			complete = complete && c != nil
			if c != nil {
				_ = c.Close() // the group does not come about
			}
		}
		if absent && !complete {
			missing = append(missing, r)
		}
	}
	return nil, missing
}

// meet connects a group of ranks with each other.
func (s *site) meet(ctx context.Context, key [32]byte, rank int, cards []card, links int) ([][]net.Conn, error) {
	g := newGathering(key, rank, len(cards), links)
	if len(cards) == 1 {
		return g.conns, nil
	}
	if err := s.come(g); err != nil {
		return nil, err
	}
	defer s.gone(g)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	var ways sync.WaitGroup
	room := make(chan struct{}, dials)
	ways.Go(func() {
		for i := range rank * links {
			select {
			case room <- struct{}{}:
			case <-inner.Done():
				return
			}
			ways.Go(func() {
				defer func() { <-room }()
				h := hello{key: key, from: rank, to: i / links, index: i % links, links: links}
				if err := s.reach(inner, g, &h, &cards[h.from], &cards[h.to]); err != nil {
					select {
					case failed <- err:
					default: // one reason is enough
					}
				}
			})
		}
	})
	var err error
	select {
	case <-g.all:
	case err = <-failed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	cancel()
	ways.Wait()
	conns, missing := g.end()
	if conns == nil {
		return nil, fmt.Errorf("no connection with %s: %w", list(missing), err)
	}
	return conns, nil
}

// reach makes one connection. One that ends before it was welcome is tried again, as is one for which there are no
// descriptors: the other rank may have had too many strangers, as may this one.
func (s *site) reach(ctx context.Context, g *gathering, h *hello, own, to *card) error {
	for pause, began := 10*time.Millisecond, time.Now(); ; pause = min(2*pause, 200*time.Millisecond) {
		err := s.reachOnce(ctx, g, h, own, to)
		if err == nil || ctx.Err() != nil || !passing(err) || time.Since(began) > again {
			return err
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			s.lobby.Clear()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// again is for how long a connection is tried that ends.
const again = 5 * time.Second

// passing says that an error may be none the next time.
func passing(err error) bool {
	return errors.Is(err, secret.ErrEnded) || errors.Is(err, errNoWelcome) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (s *site) reachOnce(ctx context.Context, g *gathering, h *hello, own, to *card) error {
	var errs []error
	for _, address := range reachable(own, to) {
		conn, err := s.dial(ctx, address, h)
		if err == nil {
			if err = g.put(h.to, h.index, conn); err != nil {
				_ = conn.Close() // the group is over
			}
			return err
		}
		errs = append(errs, fmt.Errorf("rank %d at %s: %w", h.to, address, err))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// dialTime bounds the try at one of several addresses.
const dialTime = 3 * time.Second

func (s *site) dial(ctx context.Context, address string, h *hello) (net.Conn, error) {
	raw, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	conn, err := s.guard.Client(ctx, raw)
	if err == nil {
		_, err = conn.Write(s.shown(h))
	}
	if err == nil {
		err = readWelcome(conn)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = raw.Close() // it is of no use
		return nil, err
	}
	return conn, nil
}

// shown is a hello with its tag.
func (s *site) shown(h *hello) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := *h
	known.tag = h.tagged(s.proof)
	return known.encode()
}

// reachable leaves out loopback addresses of other machines.
func reachable(own, to *card) []string {
	if own.Machine == to.Machine {
		return to.Addresses
	}
	var some []string
	for _, a := range to.Addresses {
		if host, _, err := net.SplitHostPort(a); err == nil && !net.ParseIP(host).IsLoopback() {
			some = append(some, a)
		}
	}
	if len(some) == 0 {
		return to.Addresses
	}
	return some
}

func list(ranks []int) string {
	sort.Ints(ranks)
	text := make([]string, len(ranks))
	for i, r := range ranks {
		text[i] = fmt.Sprint(r)
	}
	if len(ranks) == 1 {
		return "rank " + text[0]
	}
	return "ranks " + strings.Join(text, ", ")
}
