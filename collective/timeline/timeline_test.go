package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func zero() *int { n := 0; return &n }
func one() *int  { n := 1; return &n }

// trace is a rank's whose clock is ahead, on a machine of its own.
func trace(t *testing.T, rank int, events ...Event) *bytes.Buffer {
	t.Helper()
	all := []Event{
		{Name: "process_name", Phase: "M", Pid: rank, Args: Args{Name: fmt.Sprint("rank ", rank), Machine: fmt.Sprint("machine ", rank), Base: int64(1000 * rank)}},
		{Name: "thread_name", Phase: "M", Pid: rank, Args: Args{Comm: "world", Rank: rank, Size: 2}},
	}
	for _, e := range events {
		e.Phase, e.Pid, e.Cat = "X", rank, "phase"
		all = append(all, e)
	}
	var b bytes.Buffer
	if err := Write(&b, all); err != nil {
		t.Fatal(err)
	}
	return &b
}

// Rank 1's clock is 5000 µs ahead. Messages take 20 µs there and 30 back, and some take
// longer; so the middle of the bounds is 5 µs off, and says that it may be.
func TestMergeSetsClocks(t *testing.T) {
	const ahead = 5000 - 1000 // its times count from a base 1000 later
	at := func(time float64, name string, peer *int, seq uint64) Event {
		e := Event{Name: name, Time: time, Args: Args{Seq: seq, Peer: peer, Whole: true}}
		if name != "send" {
			e.Time, e.Dur = time-3, 3
		}
		return e
	}
	zeroth := trace(t, 0,
		at(100, "send", one(), 1), at(300, "send", one(), 2), at(730, "wait", one(), 1), at(990, "copy", one(), 2))
	first := trace(t, 1,
		at(120+ahead, "reduce", zero(), 1), at(400+ahead, "wait", zero(), 2), at(700+ahead, "send", zero(), 1), at(900+ahead, "send", zero(), 2))
	var out bytes.Buffer
	offsets, err := Merge(&out, first, zeroth)
	if err != nil {
		t.Fatal(err)
	}
	if len(offsets) != 2 || offsets[0] != (Offset{Rank: 0}) || offsets[1] != (Offset{Rank: 1, Added: -4995, Within: 25}) {
		t.Errorf("offsets %+v", offsets)
	}
	events, err := Read(&out)
	if err != nil || len(events) != 12 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	last := 0.0
	for _, e := range events {
		if e.Phase == "X" {
			if e.Time < last {
				t.Errorf("%s at %v after one at %v", e.Name, e.Time, last)
			}
			last = e.Time
		}
		if e.Pid == 1 && e.Name == "reduce" && e.Time != 122 {
			t.Errorf("it arrives at %v", e.Time+e.Dur)
		}
	}
}

// What messages do not bound is left and said.
func TestMergeWithoutMessages(t *testing.T) {
	offsets, err := Merge(&bytes.Buffer{}, trace(t, 0), trace(t, 1), strings.NewReader("[\n]\n"))
	if err != nil || len(offsets) != 2 || offsets[1].Added != 0 || !math.IsInf(offsets[1].Within, 1) {
		t.Errorf("%+v, %v", offsets, err)
	}
	if _, err := Merge(&bytes.Buffer{}, trace(t, 1), trace(t, 1)); err == nil || !strings.Contains(err.Error(), "rank 1") {
		t.Errorf("twice the same rank: %v", err)
	}
	if _, err := Merge(&bytes.Buffer{}, strings.NewReader("dear reader\nhow are you\n")); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a letter: %v", err)
	}
}

// What is written is JSON, whatever was recorded, and what was cut short is read.
func TestRecorder(t *testing.T) {
	var b bytes.Buffer
	r := NewRecorder(&b)
	for i, name := range []string{"world", "world", `a "b"`} {
		tr := r.Track(name, "tcp", i, 4)
		from := tr.Now()
		from = tr.Message(Send, from, Message{Peer: 1, Seq: 7, Step: 2, Bytes: 99, Pair: true}, true)
		tr.Local(Copy, from, 7, 0)
		tr.Op(0, "Barrier", 7, `,"algorithm":"ring"`)
	}
	if err := errors.Join(r.Flush(), r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	var plain []map[string]any
	if err := json.Unmarshal(b.Bytes(), &plain); err != nil || len(plain) != 13 {
		t.Fatalf("%d objects, %v:\n%s", len(plain), err, &b)
	}
	events, err := Read(bytes.NewReader(b.Bytes()))
	if err != nil || len(events) != 13 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if e := events[2]; e.Name != "send" || *e.Args.Peer != 1 || e.Args.Seq != 7 || e.Args.Step != 2 || e.Args.Bytes != 99 || !e.Args.Whole || !e.Args.Pair {
		t.Errorf("%+v", e)
	}
	if e := events[5]; e.Args.Comm != "world, 2" || e.Tid != 1 || e.Pid != 0 {
		t.Errorf("the second world is %+v", e)
	}
	for cut := range b.Len() {
		part, err := Read(bytes.NewReader(b.Bytes()[:cut]))
		if err != nil || len(part) > len(events) {
			t.Fatalf("cut at %d: %d events, %v", cut, len(part), err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestRecorderSaysThatItCannotWrite(t *testing.T) {
	r := NewRecorder(full{})
	r.Track("world", "inproc", 0, 1).Op(time.Microsecond, "Barrier", 1, "")
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("%v", err)
	}
}
