package profile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// mostEvents is how many times at steps a worker keeps for timelines. Sums have no limit.
const mostEvents = 1 << 15

// Recorder keeps what the goroutines of one run measure.
type Recorder struct {
	start  time.Time
	lock   sync.Mutex
	tracks []*Track
	lost   map[int]int64 // discarded rows by the output's step
}

// NewRecorder begins a run now.
func NewRecorder() *Recorder { return &Recorder{start: time.Now(), lost: map[int]int64{}} }

// Track is a new worker's, which is at a step from now on. The first is the caller's; the others
// of one name are numbered.
func (r *Recorder) Track(name string, step int) *Track {
	r.lock.Lock()
	defer r.lock.Unlock()
	same := 1
	for _, t := range r.tracks {
		if strings.HasPrefix(t.name, name+" worker ") {
			same++
		}
	}
	if len(r.tracks) > 0 {
		name = fmt.Sprintf("%s worker %d", name, same)
	}
	now := time.Since(r.start)
	t := &Track{recorder: r, name: name, begin: now, last: now, at: Mark{step: step}}
	r.tracks = append(r.tracks, t)
	return t
}

// Discard counts rows that a pipeline made and nobody took.
func (r *Recorder) Discard(output int, rows int64) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.lost[output] += rows
}

// Mark is where a worker is: busy at a step, or waiting there.
type Mark struct {
	step int
	wait bool
}

// Track is one worker of a run. One goroutine at a time uses it. The methods of nil do nothing,
// and read no clock.
type Track struct {
	recorder *Recorder
	name     string
	begin    time.Duration
	last     time.Duration // when it came to where it is
	end      time.Duration // 0 while it goes on
	at       Mark
	sums     []Measure // by step
	events   []event
	dropped  int64
}

type trackKey struct{}

// With is a context whose goroutine measures into t.
func With(ctx context.Context, t *Track) context.Context {
	return context.WithValue(ctx, trackKey{}, t)
}

// Of is the Track of a context, nil where there is none.
func Of(ctx context.Context) *Track {
	t, _ := ctx.Value(trackKey{}).(*Track)
	return t
}

// Enter says that the worker is busy at a step now, and gives where it was.
func (t *Track) Enter(step int) Mark { return t.Back(Mark{step: step}) }

// Wait says that the worker waits at a step now, and gives where it was.
func (t *Track) Wait(step int) Mark { return t.Back(Mark{step: step, wait: true}) }

// Back says that the worker is where it was before, and gives where it was until now.
func (t *Track) Back(to Mark) Mark {
	if t == nil {
		return to
	}
	from := t.at
	t.spend()
	t.at = to
	return from
}

func (t *Track) spend() {
	now := time.Since(t.recorder.start)
	s := t.sum(t.at.step)
	if t.at.wait {
		s.Wait += now - t.last
	} else {
		s.Busy += now - t.last
	}
	switch n := len(t.events); {
	case now == t.last:
	case n > 0 && t.events[n-1].at == t.at && t.events[n-1].end == t.last:
		t.events[n-1].end = now
	case n < mostEvents:
		t.events = append(t.events, event{at: t.at, start: t.last, end: now})
	default:
		t.dropped++
	}
	t.last = now
}

func (t *Track) sum(step int) *Measure {
	for len(t.sums) <= step {
		t.sums = append(t.sums, Measure{})
	}
	return &t.sums[step]
}

// In counts a batch that a step takes.
func (t *Track) In(step int, rows, bytes int64) {
	if t == nil {
		return
	}
	s := t.sum(step)
	s.RowsIn, s.BatchesIn, s.BytesIn = s.RowsIn+rows, s.BatchesIn+1, s.BytesIn+bytes
}

// Out counts a batch that a step gives.
func (t *Track) Out(step int, rows, bytes int64) {
	if t == nil {
		return
	}
	s := t.sum(step)
	s.RowsOut, s.BatchesOut, s.BytesOut = s.RowsOut+rows, s.BatchesOut+1, s.BytesOut+bytes
}

// End says that the worker is gone. Ending twice is allowed.
func (t *Track) End() {
	if t == nil || t.end != 0 {
		return
	}
	t.spend()
	t.end = max(t.last, 1)
}

// Finish puts what was measured into a profile of the steps that were run. All workers must
// have ended.
func (r *Recorder) Finish(p *Profile) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, s := range p.Steps {
		s.Total = &Measure{}
	}
	for w, t := range r.tracks {
		t.End()
		p.Workers = append(p.Workers, Worker{Name: t.name, Start: t.begin, End: t.end})
		for step, m := range t.sums {
			if m == (Measure{}) || step >= len(p.Steps) {
				continue
			}
			p.Steps[step].Total.add(m)
			m.Worker = w
			p.Steps[step].Workers = append(p.Steps[step].Workers, m)
		}
		for _, e := range t.events {
			e.worker = w
			p.events = append(p.events, e)
		}
		p.dropped += t.dropped
	}
	if len(r.tracks) > 0 {
		p.Elapsed = r.tracks[0].end - r.tracks[0].begin
	}
	for _, pipe := range p.Pipelines {
		pipe.Discarded = r.lost[pipe.Output]
	}
	p.deriveRowsIn()
	for _, s := range p.Steps {
		switch s.Kind {
		case KindPlan:
			p.Planned += s.Total.Busy
		case KindResult:
			p.Rows = s.Total.RowsIn
		}
	}
}

// deriveRowsIn finds what steps outside of pipelines took: what their inputs gave.
func (p *Profile) deriveRowsIn() {
	for _, s := range p.Steps {
		if s.Kind == KindResult || s.Pipeline != nil {
			continue
		}
		inputs := s.Inputs
		if s.Kind == "join" && len(inputs) > 1 {
			inputs = inputs[:1]
		}
		for _, in := range inputs {
			t := p.Steps[in].Total
			s.Total.RowsIn += t.RowsOut
			s.Total.BatchesIn += t.BatchesOut
			s.Total.BytesIn += t.BytesOut
		}
	}
}
