package tcp

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/secret"
)

// Join connects this rank with all others of its world, all of which call it: they
// meet at the world's address, then every pair is connected. Ranks that do not come
// before the context ends are named in the error.
func Join(ctx context.Context, w rendezvous.World, o Options) (transport.Endpoint, error) {
	e, err := join(ctx, w, o)
	if err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	return e, nil
}

func join(ctx context.Context, w rendezvous.World, o Options) (*endpoint, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if w.Rank < 0 || w.Rank >= w.Size {
		return nil, fmt.Errorf("rank %d of %d", w.Rank, w.Size)
	}
	g, err := secret.New(o.Secret)
	if err != nil {
		return nil, err
	}
	if w.Size == 1 {
		return newEndpoint(nil, [32]byte{}, w.Rank, make([]card, 1), make([][]net.Conn, 1))
	}
	addrs, err := addresses(ctx, w.Address, o.Interfaces)
	if err != nil {
		return nil, err
	}
	s, err := openSite(ctx, addrs, g)
	if err != nil {
		return nil, err
	}
	e, err := s.join(ctx, w, addrs, o)
	if err != nil {
		s.leave()
		return nil, err
	}
	return e, nil
}

func addresses(ctx context.Context, meeting, interfaces string) ([]netip.Addr, error) {
	route, err := routeTo(ctx, meeting)
	if err != nil {
		return nil, fmt.Errorf("no way to %s: %w", meeting, err)
	}
	all, err := devices()
	if err != nil {
		return nil, err
	}
	return choose(interfaces, route, all)
}

// join meets the world at its address and connects with it.
func (s *site) join(ctx context.Context, w rendezvous.World, addrs []netip.Addr, o Options) (*endpoint, error) {
	links := o.Connections
	own := card{Machine: o.Machine, Links: links, Secret: s.guard.Mark(), Reach: o.Reach}
	port := s.ln.Addr().(*net.TCPAddr).AddrPort().Port()
	for _, a := range addrs {
		own.Addresses = append(own.Addresses, netip.AddrPortFrom(a, port).String())
	}
	text, err := json.Marshal(&own)
	if err != nil {
		return nil, err
	}
	table, err := rendezvous.Meet(ctx, w, s.guard, text)
	if err != nil {
		return nil, err
	}
	cards := make([]card, w.Size)
	for r := range cards {
		if err := json.Unmarshal(table.Cards[r], &cards[r]); err != nil {
			return nil, fmt.Errorf("rank %d joins over TCP and rank %d, known by %q, by other means: VOLLEY_TRANSPORT and LOCAL_WORLD_SIZE must say the same on all ranks: %w", w.Rank, r, table.Cards[r], err)
		}
		if cards[r].Secret != own.Secret {
			return nil, fmt.Errorf("rank %d has %s, rank %d %s: all need the same one (VOLLEY_SECRET_FILE)", w.Rank, own.secret("one"), r, cards[r].secret("another"))
		}
		if (cards[r].Reach == "") != (own.Reach == "") {
			return nil, fmt.Errorf("rank %d uses %s, rank %d %s: VOLLEY_TRANSPORT must say the same on all ranks", w.Rank, own.ways(), r, cards[r].ways())
		}
		if cards[r].Links != links {
			return nil, fmt.Errorf("rank %d has %d connections with each other rank, rank %d has %d", w.Rank, links, r, cards[r].Links)
		}
	}
	key := sha256.Sum256(table.Key[:])
	s.know(table.Key[:])
	conns, err := s.meet(ctx, key, w.Rank, cards, links)
	if err != nil {
		return nil, err
	}
	return newEndpoint(s, key, w.Rank, cards, conns)
}

// secret says for people whether the rank has one.
func (c *card) secret(which string) string {
	if c.Secret == "" {
		return "no secret"
	}
	return which + " secret"
}

// ways says for people how the rank reaches others.
func (c *card) ways() string {
	if c.Reach == "" {
		return "TCP alone"
	}
	return "shared memory beside TCP"
}

// Machine is what Options.Machine is where that is empty: a name that processes share which share a loopback device, or VOLLEY_MACHINE.
func Machine() string {
	if told := os.Getenv("VOLLEY_MACHINE"); told != "" {
		return told
	}
	host, err := os.Hostname()
	boot, err2 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || err2 != nil {
		return host // the best that this system has
	}
	return host + " " + strings.TrimSpace(string(boot))
}

// newEndpoint takes the connections over.
func newEndpoint(s *site, key [32]byte, rank int, cards []card, conns [][]net.Conn) (*endpoint, error) {
	e := &endpoint{
		site: s, key: key, rank: rank, cards: cards, peers: make([]*peer, len(cards)),
		stop: transport.NewStop(), notes: transport.NewMailbox(), often: looksAmong(cards, cards[rank].Machine),
	}
	for r, links := range conns {
		if r == rank {
			continue
		}
		p, err := newPeer(e, r, links)
		if err != nil {
			closeConns(conns)
			return nil, err
		}
		e.peers[r] = p
	}
	for _, p := range e.peers {
		if p != nil {
			e.ears.Go(p.listen)
		}
	}
	return e, nil
}

func closeConns(conns [][]net.Conn) {
	for _, links := range conns {
		for _, c := range links {
			if c != nil {
				_ = c.Close() // the endpoint does not come about
			}
		}
	}
}

// Split connects the members anew over the ports that they have listened on from the
// start.
func (e *endpoint) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	place := -1
	cards := make([]card, len(members))
	id := sha256.New()
	id.Write(e.key[:])
	id.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(name))))
	id.Write([]byte(name))
	seen := map[int]bool{}
	for i, m := range members {
		if m < 0 || m >= e.Size() {
			return nil, fmt.Errorf("split %q: there is no rank %d among %d", name, m, e.Size())
		}
		if seen[m] {
			return nil, fmt.Errorf("split %q: rank %d is there twice", name, m)
		}
		seen[m] = true
		if m == e.rank {
			place = i
		} else if lost := e.peers[m].lost.Err(); lost != nil {
			return nil, fmt.Errorf("split %q: %w", name, &transport.Absent{Rank: m, Err: lost})
		}
		cards[i] = e.cards[m]
		id.Write(binary.LittleEndian.AppendUint64(nil, uint64(m)))
	}
	if place < 0 {
		return nil, fmt.Errorf("split %q: rank %d is not among its members", name, e.rank)
	}
	if e.closed.Load() {
		return nil, errClosed
	}
	key := [32]byte(id.Sum(nil))
	if len(members) == 1 {
		return newEndpoint(nil, key, 0, cards, make([][]net.Conn, 1))
	}
	e.site.enter()
	conns, err := e.site.meet(ctx, key, place, cards, e.cards[e.rank].Links)
	if err == nil {
		var s *endpoint
		if s, err = newEndpoint(e.site, key, place, cards, conns); err == nil {
			return s, nil
		}
	}
	e.site.leave()
	if ctx.Err() == nil {
		if gone := e.absent(members); gone != nil {
			err = errors.Join(gone, err)
		}
	}
	return nil, fmt.Errorf("split %q: %w", name, err)
}

// absent is a member whose connection with the notes has ended, which may say so a little
// later than its port refuses others.
func (e *endpoint) absent(members []int) *transport.Absent {
	for end := time.Now().Add(verdict); ; time.Sleep(time.Millisecond) {
		for _, m := range members {
			if m == e.rank {
				continue
			}
			if lost := e.peers[m].lost.Err(); lost != nil {
				return &transport.Absent{Rank: m, Err: lost}
			}
		}
		if time.Now().After(end) {
			return nil
		}
	}
}
