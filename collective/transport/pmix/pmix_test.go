package pmix

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/internal/dl"
)

const limit = 30 * time.Second

// server is a PMIx server of a test: what its clients have put, and how many are in a fence.
type server struct {
	size int

	mu      sync.Mutex
	values  map[string][]byte
	fenced  int
	all     chan struct{}
	end     int // clients that have left
	codes   map[string]int32
	numbers map[string]uint64
	timeout uint64 // the seconds that a fence was told
	hung    bool   // it was asked to wait, and would not answer
}

func newServer(size int) *server {
	return &server{size: size, values: map[string][]byte{}, all: make(chan struct{}), codes: map[string]int32{},
		numbers: map[string]uint64{keyJobSize: uint64(size), keyLocalRank: 0, keyLocalSize: uint64(size)}}
}

// client is the library of one of its clients.
func (s *server) client(rank int) *driver {
	return &driver{
		version: "a test's",
		initialize: func(self *proc) int32 {
			copy(self.namespace[:], "job")
			self.rank = uint32(rank)
			return s.codes["init"]
		},
		finalize: func() int32 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.end++
			return success
		},
		get: func(of *proc, key string, with []info) (value, []byte, int32) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if code := s.codes[key]; code != success {
				return value{}, nil, code
			}
			if n, ok := s.numbers[key]; ok {
				if key == keyLocalRank {
					return value{typ: typeUint16, data: [3]uint64{uint64(of.rank)}}, nil, success
				}
				return value{typ: typeUint32, data: [3]uint64{n}}, nil, success
			}
			b, ok := s.values[fmt.Sprint(of.rank, key)]
			if !ok {
				s.hung = s.hung || s.end > 0 && !has(with, keyImmediate)
				return value{}, nil, errNotFound
			}
			return value{typ: typeByteObject}, b, success
		},
		put: func(key string, b []byte) int32 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.values[fmt.Sprint(rank, key)] = bytes.Clone(b)
			return success
		},
		commit: func() int32 { return s.codes["commit"] },
		fence: func(of []proc, with []info) int32 {
			if code := s.codes["fence"]; code != success {
				return code
			}
			s.mu.Lock()
			for _, i := range with {
				if i.is(keyTimeout) {
					s.timeout = i.value.data[0]
				}
			}
			s.fenced++
			all, enough := s.all, s.size
			if s.end > 0 && of == nil {
				enough-- // as OpenPMIx's servers count, when ranks have left
			}
			if s.fenced == enough {
				s.fenced, s.all = 0, make(chan struct{})
				close(all)
			}
			s.mu.Unlock()
			<-all
			return success
		},
		text: func(code int32) string { return fmt.Sprint("status ", code) },
	}
}

func (i *info) is(key string) bool {
	k, _, _ := bytes.Cut(i.key[:], []byte{0})
	return string(k) == key
}

func has(with []info, key string) bool {
	return slices.ContainsFunc(with, func(i info) bool { return i.is(key) })
}

func TestExchange(t *testing.T) {
	const size = 3
	s := newServer(size)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var all sync.WaitGroup
	for r := range size {
		all.Go(func() {
			c, err := connect(ctx, s.client(r), fmt.Sprint(r))
			if err != nil {
				t.Error(err)
				return
			}
			if c.Rank != r || c.Size != size || c.LocalRank != r || c.LocalSize != size || c.Namespace != "job" {
				t.Errorf("rank %d is %+v", r, c)
			}
			for round := range 2 { // the second must not find what the first has left
				cards, err := c.Exchange(ctx, fmt.Append(nil, "card ", r, " of ", round))
				if err != nil {
					t.Error(err)
					return
				}
				for q, card := range cards {
					if string(card) != fmt.Sprint("card ", q, " of ", round) {
						t.Errorf("rank %d has %q of rank %d", r, card, q)
					}
				}
			}
			if err := errors.Join(c.Close(ctx), c.Close(ctx)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.end != size || s.timeout == 0 || s.timeout > uint64(limit.Seconds()) {
		t.Errorf("%d clients have left, and a fence was given %d s", s.end, s.timeout)
	}
}

// Ranks that leave the server and come back, one of them late, have the cards of this meeting, where fences cannot be relied on
// any more.
func TestComeBack(t *testing.T) {
	const size, meetings = 3, 4
	for _, servers := range [][size]string{{"a", "a", "a"}, {"a", "b", "a"}, {}} {
		s := newServer(size)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		var all sync.WaitGroup
		for r := range size {
			all.Go(func() {
				d := s.client(r)
				for n := range meetings {
					if r == n%size {
						time.Sleep(20 * time.Millisecond)
					}
					c, err := connect(ctx, d, fmt.Sprint(r))
					if err != nil {
						t.Error(err)
						return
					}
					c.server = servers[r]
					cards, err := c.Exchange(ctx, fmt.Append(nil, "card ", r, " of ", n))
					if err := errors.Join(err, c.Close(ctx)); err != nil {
						t.Errorf("servers %q, meeting %d: %v", servers, n, err)
						return
					}
					for q, card := range cards {
						if string(card) != fmt.Sprint("card ", q, " of ", n) {
							t.Errorf("servers %q, meeting %d: rank %d has %q of rank %d", servers, n, r, card, q)
						}
					}
				}
			})
		}
		all.Wait()
		if s.hung {
			t.Errorf("servers %q: one was asked to wait", servers)
		}
	}
}

// exchangeInVain has a client wait for a rank that does not come: the context, which has ended, and the error, which has a text.
func exchangeInVain(t *testing.T, c *Client, text string) (context.Context, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	t.Cleanup(cancel)
	_, err := c.Exchange(ctx, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), text) {
		t.Errorf("a rank that does not come: %v", err)
	}
	return ctx, err
}

// A rank that does not come back is waited for until the context ends, and nothing of the library's waits on.
func TestNotBack(t *testing.T) {
	s := newServer(2)
	d := s.client(0)
	d.met.Add(1)
	d.near.Store(&[]int{0, 1})
	c, err := connect(t.Context(), d, "0")
	if err != nil {
		t.Fatal(err)
	}
	exchangeInVain(t, c, "PMIx_Get waited for volley.card.1 of rank 1")
	if err := c.Close(t.Context()); err != nil || s.end != 1 {
		t.Errorf("closed: %v, %d times finalized", err, s.end)
	}
	s.codes["volley.card.1"] = -1
	if c, err = connect(t.Context(), d, "0"); err != nil {
		t.Fatal(err)
	}
	if _, err = c.Exchange(t.Context(), nil); !isCode(err, -1) {
		t.Errorf("another error: %v", err)
	}
}

// A rank that does not come is waited for until the context ends, and the library is then
// left alone until it has given up.
func TestStuck(t *testing.T) {
	s := newServer(2)
	c, err := connect(t.Context(), s.client(0), "0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := exchangeInVain(t, c, "PMIx_Fence waited for all 2 ranks of job")
	if _, again := c.Exchange(t.Context(), nil); again == nil || again.Error() != err.Error() {
		t.Errorf("another call: %v", again)
	}
	if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || s.end != 0 {
		t.Errorf("closed in the middle of a call: %v, %d times finalized", err, s.end)
	}
	s.mu.Lock()
	close(s.all)
	s.mu.Unlock()
	if err := errors.Join(c.Close(t.Context()), c.Close(t.Context())); err != nil || s.end != 1 {
		t.Errorf("closed: %v, %d times finalized", err, s.end)
	}
	if _, err := c.Exchange(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "has left") {
		t.Errorf("a call after Close: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for want, c := range map[string]struct {
		rank  string
		spoil func(s *server)
	}{
		"PMIx_Init (the server's answer): status -25 (-25)": {"0", func(s *server) { s.codes["init"] = -25 }},
		`PMIX_RANK is "7", and the library says rank 0`:     {"7", func(*server) {}},
		"PMIx_Get (pmix.job.size): status -46":              {"0", func(s *server) { s.codes[keyJobSize] = errNotFound }},
		"PMIx_Get waited for pmix.local.size":               {"0", func(s *server) { s.codes[keyLocalSize] = errTimeout }},
		"rank 0 of 0":                                       {"0", func(s *server) { s.numbers[keyJobSize] = 0 }},
		"pmix.job.size is the number 99999999":              {"0", func(s *server) { s.numbers[keyJobSize] = 99999999 }},
	} {
		s := newServer(2)
		c.spoil(s)
		_, err := connect(t.Context(), s.client(0), c.rank)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if left := s.end; strings.Contains(want, "Init") == (left == 1) {
			t.Errorf("%s: %d times finalized", want, left)
		}
	}
	s := newServer(2)
	s.codes[keyLocalRank], s.codes[keyLocalSize] = errNotFound, errNotFound
	c, err := connect(t.Context(), s.client(1), "1")
	if err != nil || c.LocalRank != Unknown || c.LocalSize != Unknown {
		t.Fatalf("without the local numbers: %+v, %v", c, err)
	}
	s.codes["fence"] = errTimeout
	if _, err := c.Exchange(t.Context(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the server's own timeout: %v", err)
	}
	s.codes["fence"], s.codes["commit"] = success, -1
	var failed *Error
	if _, err := c.Exchange(t.Context(), nil); !errors.As(err, &failed) || failed.Call != "PMIx_Commit" || failed.Code != -1 {
		t.Errorf("a commit that fails: %v", err)
	}
}

// The error of a missing library says what was seen and what was tried.
func TestMissing(t *testing.T) {
	env := map[string]string{"PMIX_RANK": "3", "PMIX_SERVER_URI4": "here;tcp4://127.0.0.1:1", LibraryVariable: "/none/libpmix.so"}
	getenv := func(name string) string { return env[name] }
	_, err := Open(t.Context(), getenv)
	if err == nil || !Started(getenv) {
		t.Fatal(err)
	}
	for _, want := range []string{"PMIX_RANK=3", "PMIX_SERVER_URI4=here", "/none/libpmix.so", LibraryVariable} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v has no %s", err, want)
		}
	}
	if Started(func(string) string { return "" }) {
		t.Error("a server without a variable")
	}
	if !dl.Available {
		return
	}
	// A library that is another one.
	env[LibraryVariable] = "libc.so.6"
	if _, err := Open(t.Context(), getenv); err == nil || !strings.Contains(err.Error(), "libc") {
		t.Errorf("the C library for PMIx's: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ended, getenv); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

func TestVersions(t *testing.T) {
	for version, good := range map[string]bool{
		"OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, Stable ABI: 0.0, Provisional ABI: 0.0)": true, "3.2.3": true, "OpenPMIx 5.0.1 (PMIx Standard: 4.1)": true,
		"OpenPMIx 6.0.0": false, "PMIx 2.2.0": false, "": false, "unknown": false,
	} {
		major, err := supported(version)
		if (err == nil) != good || good && !strings.Contains(version, fmt.Sprint(major, ".")) {
			t.Errorf("%q: %d, %v", version, major, err)
		}
	}
}

// A library that a process may enter once is not entered again.
func TestOnce(t *testing.T) {
	for _, once := range []bool{false, true} {
		s := newServer(1)
		d := s.client(0)
		d.once = once
		for i := range 2 {
			c, err := connect(t.Context(), d, "0")
			if i == 1 && once {
				if err == nil || !strings.Contains(err.Error(), "can enter it once only") || s.end != 1 {
					t.Errorf("a second time: %v, %d times finalized", err, s.end)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Values lie in memory as C has them.
func TestValues(t *testing.T) {
	data := func(b ...byte) (d [3]uint64) {
		d[0] = binary.NativeEndian.Uint64(append(b, make([]byte, 8-len(b))...))
		return d
	}
	for _, c := range []struct {
		v    value
		want int
		good bool
	}{
		{value{typ: typeUint16, data: data(2, 1, 9)}, 258, binary.NativeEndian.Uint16([]byte{2, 1}) == 258},
		{value{typ: typeUint8, data: data(7, 1)}, 7, true}, {value{typ: typeSize, data: [3]uint64{5}}, 5, true},
		{value{typ: typeInt, data: data(255, 255, 255, 255)}, 0, false}, {value{typ: typeBool, data: data(1)}, 0, false},
	} {
		if got, err := c.v.number(); c.good != (err == nil) || c.good && got != c.want {
			t.Errorf("%+v: %d, %v", c.v, got, err)
		}
	}
	if i := flag(keyCollectData); i.value.typ != typeBool || string(i.key[:12]) != keyCollectData || i.key[12] != 0 {
		t.Errorf("%+v", i.value)
	}
}
