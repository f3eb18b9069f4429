package timeline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Offset is what was added to the times of a rank, and within how much of that the
// true value is, in microseconds: half of the distance between the bounds, infinite
// where messages bound it on one side or not at all.
type Offset struct {
	Rank          int
	Added, Within float64
}

// Merge puts the traces of several ranks on the clock of the lowest one and writes them
// as one, the events in the order of their times.
func Merge(w io.Writer, traces ...io.Reader) ([]Offset, error) {
	var events []Event
	seen := map[int]bool{}
	for i, t := range traces {
		own, err := Read(t)
		if err != nil {
			return nil, fmt.Errorf("trace %d: %w", i, err)
		}
		if len(own) == 0 {
			continue // a rank that made no communicator
		}
		if seen[own[0].Pid] {
			return nil, fmt.Errorf("trace %d is of rank %d, of which there is one already", i, own[0].Pid)
		}
		seen[own[0].Pid] = true
		events = append(events, own...)
	}
	rebase(events)
	offsets := align(events)
	add := map[int]float64{}
	for _, o := range offsets {
		add[o.Rank] = o.Added
	}
	for i := range events {
		if events[i].Phase != "M" {
			events[i].Time += add[events[i].Pid]
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		switch {
		case (a.Phase == "M") != (b.Phase == "M"):
			if a.Phase == "M" {
				return -1
			}
			return 1
		case a.Time != b.Time:
			if a.Time < b.Time {
				return -1
			}
			return 1
		case a.Dur > b.Dur: // what lies around others comes first
			return -1
		case a.Dur < b.Dur:
			return 1
		}
		return 0
	})
	return offsets, Write(w, events)
}

// Write writes a trace.
func Write(w io.Writer, events []Event) error {
	to := bufio.NewWriter(w)
	before := "[\n"
	for i := range events {
		text, err := json.Marshal(&events[i])
		if err != nil {
			return err
		}
		if _, err := to.WriteString(before + string(text)); err != nil {
			return err
		}
		before = ",\n"
	}
	if len(events) == 0 {
		before = "["
	} else {
		before = "\n"
	}
	if _, err := to.WriteString(before + "]\n"); err != nil {
		return err
	}
	return to.Flush()
}

// Read reads a trace of this package. One that was cut short, since its rank was
// killed, is read up to there.
func Read(r io.Reader) ([]Event, error) {
	lines := bufio.NewReader(r)
	var events []Event
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		last := err != nil
		line = bytes.Trim(line, " \t\r\n,[]")
		if len(line) > 0 {
			var e Event
			if bad := json.Unmarshal(line, &e); bad != nil || e.Phase == "" {
				if last && bad != nil {
					return events, nil // the rank was killed over it
				}
				return nil, fmt.Errorf("line %d is no event: %.80q", n, line)
			}
			events = append(events, e)
		}
		if last {
			return events, nil
		}
	}
}

// rebase makes all times count from the earliest rank's beginning.
func rebase(events []Event) {
	bases, least := map[int]int64{}, int64(math.MaxInt64)
	for i := range events {
		if e := &events[i]; e.Name == "process_name" {
			bases[e.Pid], least = e.Args.Base, min(least, e.Args.Base)
		}
	}
	for i := range events {
		e := &events[i]
		switch {
		case e.Name == "process_name":
			e.Args.Base = least
		case e.Phase != "M":
			e.Time += float64(bases[e.Pid] - least)
		}
	}
}

// way is one message, which both its ranks know by this.
type way struct {
	comm     string
	from, to int // ranks of the communicator
	seq      uint64
	step     uint32
	pair     bool
}

// thread is a communicator's line.
type thread struct{ pid, tid int }

// align finds what to add to each rank's times.
func align(events []Event) []Offset {
	comms := map[thread]*Args{}
	machines := map[int]string{}
	for i := range events {
		switch e := &events[i]; e.Name {
		case "thread_name":
			comms[thread{e.Pid, e.Tid}] = &e.Args
		case "process_name":
			machines[e.Pid] = e.Args.Machine
		}
	}
	sent := map[way]*Event{}
	each := func(send bool, f func(w way, e *Event)) {
		for i := range events {
			e := &events[i]
			c := comms[thread{e.Pid, e.Tid}]
			if !e.Args.Whole || e.Args.Peer == nil || c == nil || (e.Name == Send.String()) != send {
				continue
			}
			w := way{c.Comm, c.Rank, *e.Args.Peer, e.Args.Seq, e.Args.Step, e.Args.Pair}
			if !send {
				w.from, w.to = w.to, w.from
			}
			f(w, e)
		}
	}
	each(true, func(w way, e *Event) { sent[w] = e })
	delay := map[[2]int]float64{} // the least, with the difference of the clocks in it
	each(false, func(w way, e *Event) {
		s := sent[w]
		if s == nil || s.Pid == e.Pid {
			return
		}
		d := e.Time + e.Dur - s.Time
		if least, ok := delay[[2]int{s.Pid, e.Pid}]; !ok || d < least {
			delay[[2]int{s.Pid, e.Pid}] = d
		}
	})
	return spread(machines, delay)
}

// spread goes from the lowest rank to the others, over the best known differences
// first.
func spread(machines map[int]string, delay map[[2]int]float64) []Offset {
	var ranks []int
	for r := range machines {
		ranks = append(ranks, r)
	}
	slices.Sort(ranks)
	offsets := make([]Offset, len(ranks))
	done := make([]bool, len(ranks))
	for i, r := range ranks {
		offsets[i] = Offset{Rank: r, Within: math.Inf(1)}
	}
	if len(ranks) > 0 {
		offsets[0].Within = 0
	}
	for range ranks {
		next := -1
		for i := range ranks {
			if !done[i] && (next < 0 || offsets[i].Within < offsets[next].Within) {
				next = i
			}
		}
		done[next] = true
		base := offsets[next]
		for i, r := range ranks {
			if done[i] {
				continue
			}
			add, may := difference(machines[base.Rank] == machines[r] && machines[r] != "", delay, base.Rank, r)
			if base.Within+may < offsets[i].Within {
				offsets[i].Added, offsets[i].Within = base.Added+add, base.Within+may
			}
		}
	}
	return offsets
}

// difference is what to add to b's times to have a's, and its uncertainty.
func difference(shared bool, delay map[[2]int]float64, a, b int) (add, may float64) {
	if shared {
		return 0, 0
	}
	forth, ok := delay[[2]int{a, b}] // b's clock minus a's is at most that
	back, ok2 := delay[[2]int{b, a}] // a's clock minus b's
	if !ok || !ok2 {
		return 0, math.Inf(1)
	}
	return (back - forth) / 2, max(0, forth+back) / 2
}
