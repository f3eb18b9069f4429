package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/secret"
)

const (
	// holding bounds how long a member's connection waits for this rank to come to its group.
	holding = time.Minute
	// maxHeld bounds how many do.
	maxHeld = 4096
	// unproven bounds those that came before this rank knew who its world is: strangers among them go when it does.
	unproven = 512
)

// site is where one process's rank listens: a port that is kept from the first meeting
// to the end, so that groups can meet again without choosing another. Who connects
// names the group; who is early waits for this rank to come to it.
type site struct {
	ln     net.Listener
	guard  *secret.Guard
	ctx    context.Context // ends with the site
	cancel context.CancelFunc
	doors  sync.WaitGroup

	lobby transport.Lobby

	mu     sync.Mutex
	proof  []byte // what the members of this world alone know; nil before they have met
	users  int    // endpoints
	groups map[[32]byte]*gathering
	held   map[[32]byte][]*arrival
	waits  int // in held
}

// arrival is a connection and what it said.
type arrival struct {
	hello hello
	conn  net.Conn
	late  *time.Timer
}

// openSite listens on a free port: of the address, if it is one, else of all.
func openSite(ctx context.Context, addrs []netip.Addr, g *secret.Guard) (*site, error) {
	at := ":0"
	if len(addrs) == 1 {
		at = netip.AddrPortFrom(addrs[0], 0).String()
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	s := &site{ln: ln, guard: g, users: 1, groups: map[[32]byte]*gathering{}, held: map[[32]byte][]*arrival{}}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.doors.Go(s.open)
	return s, nil
}

func (s *site) enter() {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
}

// leave closes the site behind the last. A world of one has none.
func (s *site) leave() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if !last {
		return
	}
	s.cancel()
	_ = s.ln.Close() // nobody is expected
	s.doors.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.held {
		s.drop(key)
	}
}

// open takes connections until the listener is closed.
func (s *site) open() {
	for {
		conn, err := s.ln.Accept()
		if err != nil {
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			s.lobby.Clear() // out of files
			time.Sleep(10 * time.Millisecond)
			continue
		}
		leave, ok := s.lobby.Enter(conn, s.ctx.Done())
		if !ok {
			_ = conn.Close() // nobody is expected any more
			return
		}
		s.doors.Go(func() {
			defer leave()
			if err := s.greet(conn, leave); err != nil {
				_ = conn.Close() // a stranger; its end sees why or does not matter
			}
		})
	}
}

func (s *site) greet(raw net.Conn, leave func() bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, transport.Patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	conn, err := s.guard.Server(ctx, raw)
	if err != nil {
		return err
	}
	h, err := readHello(conn)
	if err != nil {
		return err
	}
	if !stop() {
		return context.Cause(ctx)
	}
	a := &arrival{hello: h, conn: conn}
	s.mu.Lock()
	if s.proof != nil && !h.proven(s.proof) {
		s.mu.Unlock()
		return errStranger
	}
	if !leave() { // from here on it is known
		s.mu.Unlock()
		return net.ErrClosed
	}
	g := s.groups[h.key]
	if g == nil {
		defer s.mu.Unlock()
		return s.hold(a)
	}
	s.mu.Unlock()
	return g.admit(a)
}

// hold keeps a connection whose group this rank has not come to.
func (s *site) hold(a *arrival) error {
	if s.waits >= maxHeld || s.proof == nil && s.waits >= unproven {
		return fmt.Errorf("%d connections wait already", maxHeld)
	}
	s.waits++
	key := a.hello.key
	s.held[key] = append(s.held[key], a)
	a.late = time.AfterFunc(holding, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(key)
	})
	return nil
}

// errStranger is the error of one who does not know what the members of the world know.
var errStranger = errors.New("a hello of nobody in this world")

// know is told what the members of the world alone know, and sends away who came before and does not.
func (s *site) know(proof []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proof = proof
	for key, all := range s.held {
		kept := all[:0]
		for _, a := range all {
			if a.hello.proven(proof) {
				kept = append(kept, a)
				continue
			}
			a.late.Stop()
			_ = a.conn.Close() // a stranger
			s.waits--
		}
		if s.held[key] = kept; len(kept) == 0 {
			delete(s.held, key)
		}
	}
}

// drop closes what waits for a group.
func (s *site) drop(key [32]byte) {
	for _, a := range s.take(key) {
		_ = a.conn.Close() // its group does not meet
	}
}

// take gives what waits for a group.
func (s *site) take(key [32]byte) []*arrival {
	all := s.held[key]
	delete(s.held, key)
	s.waits -= len(all)
	for _, a := range all {
		a.late.Stop()
	}
	return all
}

// come makes this rank be there for a group's connections.
func (s *site) come(g *gathering) error {
	s.mu.Lock()
	if s.groups[g.key] != nil {
		s.mu.Unlock()
		return errors.New("a group of this name and these ranks is meeting already")
	}
	s.groups[g.key] = g
	early := s.take(g.key)
	s.mu.Unlock()
	for _, a := range early {
		if g.admit(a) != nil {
			_ = a.conn.Close() // it does not belong here
		}
	}
	return nil
}

func (s *site) gone(g *gathering) {
	s.mu.Lock()
	delete(s.groups, g.key)
	s.mu.Unlock()
}
