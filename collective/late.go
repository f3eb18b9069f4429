package collective

import (
	"fmt"
	"time"
)

// rouse is called whenever the watch's goroutine has something to do. A rank that did not
// run, being stopped or without a processor, heard nobody meanwhile: so that time is no
// silence of the others. But the others heard nothing of it either, and where they could
// have judged it lost it is late: what it finds, such as ranks that have left, may come
// of that, and it does not go on alone.
func (w *watch) rouse(now time.Time) {
	away := now.Sub(w.ran)
	w.ran = now
	if away <= max(w.c.options.Heartbeat, 3*pause) {
		return
	}
	w.asleep += away
	for _, at := range []*time.Time{&w.judging, &w.asked, &w.moved, &w.council.since, &w.council.failing} {
		if !at.IsZero() {
			*at = at.Add(away)
		}
	}
	for r := range w.heard {
		w.heard[r] = w.heard[r].Add(away)
	}
	for _, m := range w.meetings.own {
		m.began = m.began.Add(away)
	}
	w.woke = now
	if silent := now.Sub(w.beaten); silent > w.c.options.Deadline {
		w.late, w.slept = true, silent
	}
}

// caughtUp ends the lateness of a rank that hears all others: where they had judged it,
// they would have said so before.
func (w *watch) caughtUp() {
	if !w.late || w.ran.Sub(w.woke) <= w.c.options.Deadline {
		return
	}
	for _, why := range w.gone {
		if why != "" {
			return
		}
	}
	w.late = false
}

// alone says that nobody else is there.
func (w *watch) alone() bool {
	for r, why := range w.gone {
		if why == "" && r != w.c.Rank() {
			return false
		}
	}
	return true
}

// own is the Fault of a rank that was late and finds nobody any more.
func (w *watch) own() *Fault {
	f := &Fault{Cause: Lost, Ranks: []int{w.c.Rank()}, By: w.c.Rank(),
		Text: fmt.Sprintf("this rank was silent for %s, longer than the deadline of %s, and the others are gone on without it", w.slept.Round(time.Millisecond), w.c.options.Deadline)}
	if m := w.reports[w.c.Rank()]; m != nil {
		f.Op, f.Seq, f.Step, f.Elapsed = m.Fault.Op, m.Fault.Seq, m.Fault.Step, m.Fault.Elapsed
	}
	return f
}
