package peers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// Line is what a race at one operation came to. Times are in seconds.
type Line struct {
	Op       string            `json:"op"`
	Rows     int64             `json:"rows"`
	Ours     float64           `json:"volley_min_s"`                   // in any order, where peers promise none
	Ordered  float64           `json:"volley_ordered_min_s,omitempty"` // in the default order, where it is another
	Peers    map[string]Entry  `json:"peers"`
	Missing  map[string]string `json:"missing,omitempty"` // peers that have no time, and why
	Best     string            `json:"best,omitempty"`    // the fastest peer
	BestS    float64           `json:"best_min_s,omitempty"`
	Ratio    float64           `json:"ratio,omitempty"`         // best peer over ours: above 1 ours is faster
	RatioOrd float64           `json:"ratio_ordered,omitempty"` // best peer over ours in the default order
	Bytes    int64             `json:"bytes"`                   // that the meaning of the operation requires
	Share    float64           `json:"share_of_limit"`          // of the bandwidth right beside ours, the median of the turns
	Rounds   int               `json:"rounds"`
	Retaken  int               `json:"rounds_retaken"`  // because the machine gave less
	Unsteady int               `json:"rounds_unsteady"` // that count although the machine gave less
}

// Entry is one peer at one operation.
type Entry struct {
	MinS    float64 `json:"min_s"`
	MedianS float64 `json:"median_s"`
	Way     string  `json:"way"`
	CPUs    float64 `json:"cpus"`
	Rounds  int     `json:"rounds"` // that it was in
}

// summary gathers lines.
type summary struct {
	o     Options
	race  *race
	lines []Line
	notes []string
	ended []string // operations and peers whose processes ended
}

func newSummary(o Options, e *race) *summary { return &summary{o: o, race: e} }

// add takes in what racers did, and records it.
func (s *summary) add(p *problem, all []*racer, read int64, to report.Sink, note progress.Progress) error {
	l := Line{
		Op: p.name, Rows: s.o.Rows, Peers: map[string]Entry{}, Missing: map[string]string{},
		Rounds: s.race.rounds, Retaken: s.race.retaken, Unsteady: s.race.unsteady, BestS: math.Inf(1),
	}
	written := all[0].print.Bytes
	l.Bytes = read + written
	limit := s.limit()
	of, beside := limit.CopyGBs, func(r report.Reading) float64 { return r.CopyGBs }
	if written*10 < read {
		of, beside = limit.ReadGBs, func(r report.Reading) float64 { return r.ReadGBs }
	}
	agree, checked := false, false
	for _, r := range all[2:] {
		checked = checked || r.races()
		agree = agree || r.races() && r.wrong == ""
	}
	for _, r := range all {
		mine := r == all[0] || r == all[1]
		if !r.races() {
			if !mine {
				l.Missing[r.name()] = r.lacks
				s.notes = append(s.notes, fmt.Sprintf("%s, %s: %s.", p.name, r.name(), r.lacks))
				if r.died {
					s.ended = append(s.ended, p.name+", "+r.name())
				}
			}
			continue
		}
		if few := s.race.fewer(r); few != "" {
			s.notes = append(s.notes, fmt.Sprintf("%s, %s: %s.", p.name, r.name(), few))
		}
		if r.wrong != "" {
			text := fmt.Sprintf("%s, %s: the result is not ours: %s.", p.name, r.name(), r.wrong)
			s.notes = append(s.notes, text)
			note.Start(text, 0)
			note.Done()
		}
		rec := report.Record{
			Suite: "columnar", Op: p.name, Engine: r.name(), Version: r.release(), Device: "cpu", Rows: report.Of(s.o.Rows),
			Threads: s.o.Threads, Way: r.way.Name, Unsteady: l.Unsteady,
		}
		rec.SetTiming(r.Timing)
		rec.SetBytes(l.Bytes, of)
		if r.cpu > 0 && r.wall > 0 {
			rec.CPUs = report.Of(r.cpu / r.wall)
		}
		switch {
		case !mine || r == all[1]:
			rec.OK = report.Of(r.wrong == "")
		case checked:
			rec.OK = report.Of(agree && r.wrong == "")
		}
		if err := to.Record(rec); err != nil {
			return err
		}
		fastest := r.Min()
		switch {
		case r == all[0]:
			l.Ours = fastest
		case mine:
			l.Ordered = fastest
		default:
			l.Peers[r.name()] = Entry{fastest, r.Median(), r.way.Name, r.cpu / max(r.wall, 1e-9), r.rounds}
			if fastest < l.BestS && r.wrong == "" {
				l.Best, l.BestS = r.name(), fastest
			}
		}
	}
	if l.Best == "" {
		l.BestS = 0
	} else {
		l.Ratio = l.BestS / l.Ours
		if l.Ordered > 0 {
			l.RatioOrd = l.BestS / l.Ordered
		}
	}
	l.Share = all[0].share(l.Bytes, beside)
	s.lines = append(s.lines, l)
	return nil
}

// limit is the best bandwidth that was measured, before or between the rounds.
func (s *summary) limit() report.Bandwidth {
	l := s.o.Limit
	l.ReadGBs, l.CopyGBs = max(l.ReadGBs, s.race.best.ReadGBs), max(l.CopyGBs, s.race.best.CopyGBs)
	return l
}

// answer is the table of ratios.
func (s *summary) answer() report.Answer {
	g := &report.Grid{
		Title:  fmt.Sprintf("Fastest runs at %s rows", report.Count(s.o.Rows)),
		Header: append(append([]string{"op", "volley", "ordered"}, s.o.Peers...), "best peer", "ratio", "ordered", "bytes", "of limit", "CPUs of peers"),
		Left:   []bool{true},
	}
	g.Left = append(g.Left, make([]bool, 2+len(s.o.Peers))...)
	g.Left = append(g.Left, true)
	for _, l := range s.lines {
		row := []string{l.Op, report.Seconds(l.Ours), dash(l.Ordered > 0, func() string { return report.Seconds(l.Ordered) })}
		var cpus []string
		for _, name := range s.o.Peers {
			e, ok := l.Peers[name]
			row = append(row, dash(ok, func() string { return report.Seconds(e.MinS) }))
			cpus = append(cpus, dash(ok, func() string { return fmt.Sprintf("%.1f", e.CPUs) }))
		}
		way := ""
		if l.Best != "" {
			way = l.Best + " " + l.Peers[l.Best].Way
		}
		g.Add(append(row, way,
			dash(l.Best != "", func() string { return starred(fmt.Sprintf("%.2f", l.Ratio), l.Unsteady) }),
			dash(l.Best != "" && l.Ordered > 0, func() string { return starred(fmt.Sprintf("%.2f", l.RatioOrd), l.Unsteady) }),
			report.Bytes(l.Bytes), fmt.Sprintf("%.0f %%", 100*l.Share), strings.Join(cpus, " "))...)
	}
	b := s.race.best
	note := []string{
		"The ratio is the best peer's fastest run over ours: above 1 ours is faster. CPUs are of " + strings.Join(s.o.Peers, ", ") + ".",
		fmt.Sprintf("Beside the rounds the machine reached at best %.1f GFLOP/s of float64 in registers, %.1f GB/s read and %.1f GB/s copy.", b.FMAs, b.ReadGBs, b.CopyGBs),
	}
	fallen := new(falls)
	for _, l := range s.lines {
		fallen.add(l.Op, l.Rounds, l.Retaken, l.Unsteady)
	}
	note = append(note, fallen.notes()...)
	note = append(note, "The share of the limit is of plain reading or copying of other memory right before and right after a turn of ours, the better of both, by the turn's fastest run: the median of the turns.")
	g.Note = strings.Join(append(note, slices.Compact(s.notes)...), "\n")
	return report.Answer{Suite: "columnar", Value: map[string]any{"peers": s.lines, "machine": b}, Grid: g}
}

// dash is a value, or a dash where there is none.
func dash(known bool, print func() string) string {
	if !known {
		return "–"
	}
	return print()
}
