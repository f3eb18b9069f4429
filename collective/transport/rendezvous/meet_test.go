package rendezvous

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/secret"
)

// limit bounds every wait of these tests, on a machine that others work on too.
const limit = 60 * time.Second

func guard(t *testing.T, key string) *secret.Guard {
	t.Helper()
	g, err := secret.New([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// freeAddress is a loopback port that nobody has.
func freeAddress(t *testing.T, host string) string {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "tcp://" + ln.Addr().String()
}

func places(t *testing.T) map[string]string {
	return map[string]string{"tcp": freeAddress(t, "127.0.0.1"), "tcp6": freeAddress(t, "::1"), "file": "file://" + filepath.Join(t.TempDir(), "meeting")}
}

func world(rank, size int, address string) World {
	return World{Rank: rank, Size: size, LocalRank: Unknown, LocalSize: Unknown, Node: Unknown, Address: address}
}

// result is one rank's.
type result struct {
	table *Table
	err   error
}

// meetAll lets all these ranks meet, or end with the context.
func meetAll(t *testing.T, ctx context.Context, worlds []World, guards func(i int) *secret.Guard) []result {
	t.Helper()
	results := make([]result, len(worlds))
	var all sync.WaitGroup
	for i, w := range worlds {
		all.Go(func() {
			var g *secret.Guard
			if guards != nil {
				g = guards(i)
			}
			results[i].table, results[i].err = Meet(ctx, w, g, []byte(fmt.Sprint("card of ", w.Rank)))
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("the meeting hangs")
	}
	return results
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func checkTables(t *testing.T, results []result) {
	t.Helper()
	for i, r := range results {
		if r.err != nil {
			t.Errorf("rank %d: %v", i, r.err)
			continue
		}
		if len(r.table.Cards) != len(results) || results[0].table != nil && r.table.Key != results[0].table.Key {
			t.Errorf("rank %d has another table: %+v", i, r.table)
		}
		for from, c := range r.table.Cards {
			if !bytes.Equal(c, []byte(fmt.Sprint("card of ", from))) {
				t.Errorf("rank %d has %q of rank %d", i, c, from)
			}
		}
	}
}

func all(n int, address string) []World {
	worlds := make([]World, n)
	for r := range worlds {
		worlds[r] = world(r, n, address)
	}
	return worlds
}

// Worlds of several sizes meet one after another at the same place, each under a key
// of its own.
func TestMeet(t *testing.T) {
	for name, address := range places(t) {
		t.Run(name, func(t *testing.T) {
			keys := map[[16]byte]bool{}
			for _, n := range []int{1, 2, 5, 16} {
				results := meetAll(t, within(t, limit), all(n, address), nil)
				checkTables(t, results)
				if results[0].table != nil && n > 1 {
					keys[results[0].table.Key] = true
				}
			}
			if len(keys) != 3 {
				t.Errorf("%d keys of 3 meetings", len(keys))
			}
			if path, ok := strings.CutPrefix(address, "file://"); ok {
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the file stays: %v", err)
				}
			}
		})
	}
}

func TestMeetWithSecret(t *testing.T) {
	g := guard(t, "sixteen bytes and more")
	checkTables(t, meetAll(t, within(t, limit), all(4, freeAddress(t, "127.0.0.1")), func(int) *secret.Guard { return g }))
}

// patiently meets under longer and longer deadlines until no error is that one of the
// ranks which are there did not come: on a busy machine it may be late.
func patiently(t *testing.T, worlds []World, guards func(i int) *secret.Guard) []result {
	t.Helper()
	for d := 200 * time.Millisecond; ; d *= 3 {
		results := meetAll(t, within(t, d), worlds, guards)
		late := false
		for i, r := range results {
			for j, other := range worlds {
				late = late || i != j && r.err != nil && errors.Is(r.err, context.DeadlineExceeded) && names(r.err, other.Rank)
			}
		}
		if !late || 3*d > limit {
			return results
		}
	}
}

// names says whether the error's list of those who did not come has the rank.
func names(err error, rank int) bool {
	who, _, found := strings.Cut(err.Error(), " did not come")
	return found && slices.Contains(strings.FieldsFunc(who[strings.LastIndex(who, ":")+1:], func(r rune) bool { return r == ' ' || r == ',' }), fmt.Sprint(rank))
}

// Every rank that came names those that did not.
func TestMissing(t *testing.T) {
	for name, address := range places(t) {
		t.Run(name, func(t *testing.T) {
			w := all(4, address)
			for i, r := range patiently(t, []World{w[0], w[2]}, nil) {
				if r.err == nil || !strings.Contains(r.err.Error(), "ranks 1, 3 did not come") || !errors.Is(r.err, context.DeadlineExceeded) && i == 0 {
					t.Errorf("%v", r.err)
				}
			}
			for _, r := range meetAll(t, within(t, 100*time.Millisecond), w[1:], nil) {
				if r.err == nil || !strings.Contains(r.err.Error(), "rank 0 did not come") {
					t.Errorf("without rank 0: %v", r.err)
				}
			}
			checkTables(t, meetAll(t, within(t, limit), w, nil)) // the place is as good as new
		})
	}
}

// Who waits at a file that rank 0 has left says so, and meets the next rank 0.
func TestFileOfRankZeroGone(t *testing.T) {
	address := "file://" + filepath.Join(t.TempDir(), "meeting")
	first, end := context.WithCancel(t.Context())
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	known := make(chan []int, 1000) // who is missing, as rank 2 hears it
	wait := Watching(ctx, func(missing []int) {
		select {
		case known <- missing:
		default:
		}
	})
	go func() {
		_, err := Meet(first, world(0, 4, address), nil, nil)
		if err == nil {
			t.Error("rank 0 met alone")
		}
		end()
	}()
	gone := make(chan error, 1)
	go func() {
		_, err := Meet(wait, world(2, 4, address), nil, nil)
		gone <- err
	}()
	until := func(want ...int) {
		for {
			select {
			case missing := <-known:
				if slices.Equal(missing, want) {
					return
				}
			case <-time.After(limit):
				t.Fatalf("rank 2 does not hear that %v are missing", want)
			}
		}
	}
	until(1, 3)
	end()
	until(0)
	cancel()
	if err := <-gone; err == nil || !strings.Contains(err.Error(), "rank 0 did not come (it was there and has left, ranks 1, 3 had not come)") {
		t.Error(err)
	}
	checkTables(t, meetAll(t, within(t, limit), all(4, address), nil))
}

// A rank whose context is over before it begins names the others too.
func TestMissingFromTheStart(t *testing.T) {
	for name, address := range places(t) {
		for rank, want := range []string{"ranks 1, 2 did not come", "rank 0 did not come"} {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := Meet(ctx, world(rank, 3, address), nil, nil); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: rank %d: %v, want %s", name, rank, err, want)
			}
		}
	}
}

// Who does not belong there neither joins nor keeps the others from meeting.
func TestStrangers(t *testing.T) {
	address := freeAddress(t, "127.0.0.1")
	host := strings.TrimPrefix(address, "tcp://")
	ctx := within(t, limit)
	first := make(chan result, 1)
	go func() {
		table, err := Meet(ctx, world(0, 3, address), nil, []byte("card of 0"))
		first <- result{table, err}
	}()
	second := make(chan result, 1)
	go func() {
		table, err := Meet(ctx, world(1, 3, address), nil, []byte("card of 1"))
		second <- result{table, err}
	}()
	other := world(2, 3, address)
	other.ID = "another run"
	for name, c := range map[string]struct {
		w    World
		want string
	}{
		"other size": {world(1, 4, address), "it is of a world of 4 ranks"},
		"other run":  {other, `3 ranks "another run"`},
	} {
		if _, err := Meet(ctx, c.w, nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, garbage := range [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), {255, 255, 255, 255}, {2, 0, 0, 0, '{', '['}, {2, 0, 0, 0, '{', '}'}, nil} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(garbage); err != nil {
			t.Error(err)
		}
		defer conn.Close()
	}
	table, err := Meet(ctx, world(2, 3, address), nil, []byte("card of 2"))
	checkTables(t, []result{<-first, <-second, {table, err}})
}

func TestTwiceTheSameRank(t *testing.T) {
	for name, address := range places(t) {
		t.Run(name, func(t *testing.T) {
			w := all(3, address)
			ctx, cancel := context.WithCancel(within(t, limit))
			var meeting sync.WaitGroup
			defer meeting.Wait() // for all to have left the place before it is removed
			defer cancel()
			twins := make(chan error, 2)
			meeting.Go(func() { _, _ = Meet(ctx, w[0], nil, nil) }) // ends with the context
			for range 2 {
				meeting.Go(func() { _, err := Meet(ctx, w[1], nil, nil); twins <- err })
			}
			if err := <-twins; err == nil || !strings.Contains(err.Error(), "rank 1") || ctx.Err() != nil {
				t.Errorf("one of two ranks 1 gets %v", err)
			}
		})
	}
}

func TestNobodyMeetsWithoutTheSecret(t *testing.T) {
	right, wrong := guard(t, "sixteen bytes and more"), guard(t, "sixteen bytes and others")
	for name, g := range map[string]*secret.Guard{"wrong": wrong, "none": nil} {
		w := all(2, freeAddress(t, "127.0.0.1"))
		guards := func(i int) *secret.Guard {
			if i == 0 {
				return right
			}
			return g
		}
		// Rank 1 is refused whenever it comes; the deadline says only how long rank 0 listens.
		var results []result
		for d := 100 * time.Millisecond; d < limit; d *= 4 {
			results = meetAll(t, within(t, d), w, guards)
			told := name == "none" || !errors.Is(results[1].err, context.DeadlineExceeded) // who has no secret hears nothing
			if results[0].err == nil || strings.Contains(results[0].err.Error(), "(refused") && told {
				break
			}
		}
		if err := results[1].err; err == nil || name == "wrong" && !errors.Is(err, secret.ErrRefused) {
			t.Errorf("%s: rank 1: %v", name, err)
		}
		if err := results[0].err; err == nil || !strings.Contains(err.Error(), "rank 1 did not come (refused") {
			t.Errorf("%s: rank 0: %v", name, err)
		}
	}
	w := all(2, freeAddress(t, "127.0.0.1"))
	results := meetAll(t, within(t, 300*time.Millisecond), w, func(i int) *secret.Guard {
		if i == 1 {
			return right
		}
		return nil
	})
	if results[0].err == nil || results[1].err == nil {
		t.Errorf("a secret on one side only: %v, %v", results[0].err, results[1].err)
	}
}

// What an earlier world left in the file is not taken for this world's, whoever comes first.
func TestStaleFile(t *testing.T) {
	over := ledger{Epoch: strings.Repeat("ab", 16), Size: 2, Done: true, Guests: map[int]*guest{0: {Nonce: "x", Card: []byte("old")}, 1: {Nonce: "y", Card: []byte("old")}}}
	begun := over
	begun.Done, begun.Guests = false, map[int]*guest{0: {Nonce: "x", Card: []byte("old")}}
	bigger := begun
	bigger.Size = 3
	for name, l := range map[string]*ledger{"over": &over, "begun": &begun, "bigger": &bigger, "torn": nil} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "meeting")
			text := []byte(fileMagic + `{"epoch":`)
			if l != nil {
				text = append([]byte(fileMagic), marshal(t, l)...)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			w := all(2, "file://"+path)
			late := make(chan result, 1)
			go func() {
				table, err := Meet(within(t, limit), w[1], nil, []byte("card of 1"))
				late <- result{table, err}
			}()
			time.Sleep(30 * time.Millisecond) // rank 1 looks at what is there first
			table, err := Meet(within(t, limit), w[0], nil, []byte("card of 0"))
			checkTables(t, []result{{table, err}, <-late})
		})
	}
}

func TestForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letter")
	if err := os.WriteFile(path, []byte("dear reader"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range meetAll(t, within(t, limit), all(2, "file://"+path), nil) {
		if r.err == nil || !strings.Contains(r.err.Error(), "is no file of a meeting") {
			t.Errorf("%v", r.err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "dear reader" {
		t.Errorf("it is now %q, %v", text, err)
	}
}

func TestMeetRefuses(t *testing.T) {
	for _, c := range []struct {
		w    World
		card []byte
		want string
	}{
		{world(2, 2, "tcp://127.0.0.1:1"), nil, "rank 2 of 2"},
		{world(0, 2, "nowhere"), nil, "neither tcp"},
		{world(0, 2, MPI), nil, "package mpi's Join"},
		{world(0, 2, "tcp://127.0.0.1:1"), make([]byte, maxCard+1), "card of"},
	} {
		if _, err := Meet(within(t, limit), c.w, nil, c.card); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.w, err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := Meet(within(t, limit), world(0, 2, "tcp://"+ln.Addr().String()), nil, nil); err == nil || !strings.Contains(err.Error(), "VOLLEY_PORT") {
		t.Errorf("a port that is taken: %v", err)
	}
}
