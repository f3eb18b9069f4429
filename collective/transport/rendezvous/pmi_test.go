package rendezvous

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// pmiServer is a launcher's side of PMI-1 for some ranks.
type pmiServer struct {
	mu      sync.Mutex
	values  map[string]string
	waiting []net.Conn
	ranks   int
	vallen  int
	change  func(line, answer string) string // nil changes none; an empty answer is none, and the end of the connection
}

func (p *pmiServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		said := map[string]string{}
		for _, word := range strings.Fields(line) {
			name, value, _ := strings.Cut(word, "=")
			said[name] = value
		}
		answer := p.answer(conn, said)
		if p.change != nil {
			if answer = p.change(line, answer); answer == "" {
				return
			}
		}
		if _, err := io.WriteString(conn, answer); err != nil || said["cmd"] == "finalize" {
			return
		}
	}
}

func (p *pmiServer) answer(conn net.Conn, said map[string]string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch said["cmd"] {
	case "init":
		return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
	case "get_maxes":
		return fmt.Sprintf("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=%d\n", p.vallen)
	case "get_my_kvsname":
		return "cmd=my_kvsname kvsname=kvs_1_0\n"
	case "put":
		if said["kvsname"] != "kvs_1_0" || len(said["value"]) >= p.vallen {
			return "cmd=put_result rc=-1 msg=too_long\n"
		}
		p.values[said["key"]] = said["value"]
		return "cmd=put_result rc=0 msg=success\n"
	case "barrier_in":
		if p.waiting = append(p.waiting, conn); len(p.waiting) < p.ranks {
			return " " // the answer comes later, and blanks before it are nothing
		}
		for _, c := range p.waiting[:p.ranks-1] {
			go func() { _, _ = io.WriteString(c, "cmd=barrier_out\n") }()
		}
		return "cmd=barrier_out\n"
	case "get":
		value, has := p.values[said["key"]]
		if !has {
			return "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"
		}
		return "cmd=get_result rc=0 msg=success value=" + value + "\n"
	case "finalize":
		return "cmd=finalize_ack\n"
	}
	return "cmd=unknown\n"
}

func newPMIServer(ranks int) *pmiServer {
	return &pmiServer{values: map[string]string{}, ranks: ranks, vallen: 1024}
}

// dial is a rank's connection to the server.
func (p *pmiServer) dial(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	go p.serve(theirs)
	return ours
}

// Cards of any length come to all ranks, whatever the server's longest value is, and the server is left.
func TestPMI(t *testing.T) {
	for _, vallen := range []int{64, 1024, 1 << 20} {
		const size = 5
		server := newPMIServer(size)
		server.vallen = vallen
		ctx := within(t, limit)
		card := func(r int) []byte {
			return bytes.Repeat([]byte{byte(r), 0, '=', '\n'}, []int{0, 1, 61, 700, maxCard / 4}[r])
		}
		var all sync.WaitGroup
		tables := make([]*Table, size)
		for r := range size {
			conn := server.dial(t)
			all.Go(func() {
				c, err := beginPMI(ctx, conn)
				if err != nil {
					t.Error(err)
					return
				}
				w := world(r, size, PMI)
				w.pmi = c
				if tables[r], err = Meet(ctx, w, nil, card(r)); err != nil {
					t.Error(err)
				}
				if err := c.close(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		for r, table := range tables {
			for k, got := range table.Cards {
				if !bytes.Equal(got, card(k)) {
					t.Errorf("rank %d has a card of %d bytes of rank %d", r, len(got), k)
				}
			}
			if table.Key != tables[0].Key || table.Key == [16]byte{} {
				t.Errorf("rank %d has another key", r)
			}
		}
	}
}

// A server that says what it should not, or goes, is an error that says what was asked.
func TestPMIServerErrs(t *testing.T) {
	for name, c := range map[string]struct {
		of, answer, want string
	}{
		"it goes":            {"init", "", "PMI: init: EOF"},
		"another version":    {"init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n", `version "2"`},
		"it refuses":         {"init", "cmd=response_to_init pmi_version=1 rc=-1\n", "refuses"},
		"garbage":            {"get_maxes", "\x00\xff GET / HTTP/1.1\r\n", "PMI: get_maxes: the server answers"},
		"no number":          {"get_maxes", "cmd=maxes vallen_max=many\n", `"many" bytes`},
		"tiny values":        {"get_maxes", "cmd=maxes vallen_max=3\n", `"3" bytes`},
		"no name":            {"get_my_kvsname", "cmd=my_kvsname\n", "have the name"},
		"no end of a line":   {"get_my_kvsname", strings.Repeat("x", 2*pmiLine), "more than 65536 bytes"},
		"put fails":          {"put", "cmd=put_result rc=-1\n", "PMI: put: the server refuses it"},
		"barrier fails":      {"barrier_in", "", "not all of 2 ranks came, or their launcher has ended: PMI: barrier_in: EOF"},
		"no key":             {"get", "cmd=get_result rc=-1 msg=key_not_found\n", "rank 1: PMI: get: the server refuses it"},
		"no pieces":          {"get", "cmd=get_result rc=0 value=0.\n", `card of "0" pieces`},
		"too many pieces":    {"get", "cmd=get_result rc=0 value=99999999.ab\n", `card of "99999999" pieces`},
		"no hexadecimal":     {"get", "cmd=get_result rc=0 value=1.xy\n", "damaged"},
		"far too long":       {"get", "cmd=get_result rc=0 value=60000." + strings.Repeat("ab", 15000) + "\n", "card of more than"},
		"shorter than a key": {"get", "cmd=get_result rc=0 value=1.abcd\n", "the card of rank 1 has 2 bytes"},
	} {
		server := newPMIServer(2)
		server.change = func(line, answer string) string {
			switch {
			case strings.HasPrefix(line, "cmd="+c.of+" ") || line == "cmd="+c.of+"\n":
				return c.answer
			case line == "cmd=barrier_in\n":
				return "cmd=barrier_out\n"
			}
			return answer
		}
		ctx := within(t, limit)
		client, err := beginPMI(ctx, server.dial(t))
		if err == nil {
			w := world(0, 2, PMI)
			w.pmi = client
			_, err = Meet(ctx, w, nil, []byte("card"))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || ctx.Err() != nil {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Who waits for ranks that do not come, or for a server that is silent, waits as long as its context does.
func TestPMIWaits(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	client, err := beginPMI(within(t, limit), newPMIServer(2).dial(t))
	if err != nil {
		t.Fatal(err)
	}
	w := world(0, 2, PMI)
	w.pmi = client
	if _, err := Meet(ctx, w, nil, nil); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not all of 2 ranks came") {
		t.Errorf("rank 1 does not come: %v", err)
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := beginPMI(ctx, ours); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that is silent: %v", err)
	}
}

// What PMI_FD says must be the process's own connection.
func TestNoPMI(t *testing.T) {
	for text, want := range map[string]string{"x": "not a descriptor", "-1": "not a descriptor", "1000000": "no connection"} {
		if _, err := openPMI(within(t, limit), func(string) string { return text }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("PMI_FD=%s: %v", text, err)
		}
	}
	if hasPMI(func(string) string { return "7" }) {
		t.Error("who is told of a descriptor by a program has it")
	}
	if _, err := Meet(within(t, limit), world(0, 2, PMI), nil, nil); err == nil || !strings.Contains(err.Error(), "only a World of Discover") {
		t.Errorf("a World without a server: %v", err)
	}
}
