package distributed

import (
	"fmt"
	"slices"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/rounds"
)

// Line is one operation of a race. Times are in seconds.
type Line struct {
	Op        string             `json:"op"`
	MinS      map[string]float64 `json:"min_s"`             // the fastest run of each engine whose answer is right
	OfLocal   map[string]float64 `json:"of_local"`          // the local operators' time over that of ranks: above 1 ranks are faster
	OfBest    float64            `json:"of_best,omitempty"` // the time of the fastest of Dask, Ray and Modin over that of the first number of ranks
	Memory    map[string]Memory  `json:"memory"`            // of ours
	Bandwidth []Bandwidth        `json:"bandwidth,omitempty"`
	rounds.Taken
}

// Memory is what an operation took, in bytes of all ranks.
type Memory struct {
	Input   int64 `json:"input"`
	Output  int64 `json:"output"`
	Peak    int64 `json:"peak"` // of resident memory above what the processes held with their input in place
	Sent    int64 `json:"sent"` // from rank to rank
	Unknown bool  `json:"peak_unknown,omitempty"`
}

// Ratio is input and peak over input and output.
func (m Memory) Ratio() float64 {
	return float64(m.Input+m.Peak) / float64(max(1, m.Input+m.Output))
}

// Bandwidth is what leaves ranks in a shuffle of the left side, and in an all-to-all of as many bytes.
type Bandwidth struct {
	Engine      string  `json:"engine"`
	ShuffleGBs  float64 `json:"shuffle_gb_s"`
	AllToAllGBs float64 `json:"alltoall_gb_s"`
}

// answers are the tables of times, memory and bandwidth.
func (r *race) answers() []report.Answer {
	for _, l := range r.lines {
		l.OfLocal = map[string]float64{}
		for name, s := range l.MinS {
			if local, ok := l.MinS[oursName]; ok && r.ranksOf(name) > 0 && s > 0 {
				l.OfLocal[name] = local / s
			}
		}
		l.OfBest = r.ofBest(l)
	}
	answers := []report.Answer{{Suite: "distributed", Value: map[string]any{"rows": r.Rows, "threads": r.Threads, "operations": r.lines}, Grid: r.times()}}
	answers = append(answers, report.Answer{Suite: "distributed", Value: r.memoryValue(), Grid: r.memoryGrid()})
	if g := r.bandwidthGrid(); len(g.Rows) > 0 {
		answers = append(answers, report.Answer{Suite: "distributed", Value: r.lines[slices.IndexFunc(r.lines, func(l *Line) bool { return len(l.Bandwidth) > 0 })].Bandwidth, Grid: g})
	}
	return answers
}

// ofBest is the time of the fastest of the engines that schedule tasks over that of our first number of ranks.
func (r *race) ofBest(l *Line) float64 {
	if len(r.Ranks) == 0 {
		return 0
	}
	own, best := l.MinS[fmt.Sprintf("%s-%d", oursName, r.Ranks[0])], 0.0
	for _, name := range []string{"dask", "ray", "modin"} {
		if s, ok := l.MinS[name]; ok && (best == 0 || s < best) {
			best = s
		}
	}
	if own == 0 {
		return 0
	}
	return best / own
}

func (r *race) times() *report.Grid {
	var names []string
	for _, e := range r.engines {
		names = append(names, e.name())
	}
	g := &report.Grid{Title: fmt.Sprintf("Tables on ranks, %s rows a side: fastest runs", report.Count(r.Rows)), Header: append([]string{"op"}, names...), Left: []bool{true}}
	for _, n := range r.Ranks {
		g.Header = append(g.Header, fmt.Sprintf("local/%d ranks", n))
	}
	if len(r.Peers) > 0 {
		g.Header = append(g.Header, fmt.Sprintf("best of Dask, Ray, Modin/%d ranks", r.Ranks[0]))
	}
	for _, l := range r.lines {
		row := []string{l.Op}
		for _, name := range names {
			cell := "–"
			if s, ok := l.MinS[name]; ok {
				cell = report.Seconds(s)
			}
			row = append(row, cell)
		}
		for _, n := range r.Ranks {
			row = append(row, ratio(l.OfLocal[fmt.Sprintf("%s-%d", oursName, n)]))
		}
		if len(r.Peers) > 0 {
			row = append(row, ratio(l.OfBest))
		}
		if l.Unsteady > 0 {
			row[0] += "*"
		}
		g.Add(row...)
	}
	g.Note = fmt.Sprintf("Ranks have a thread each, the local operators and each peer %d. A ratio above 1 says that ranks are faster.", r.Threads)
	for _, n := range r.notes {
		g.Note += "\n" + n
	}
	return g
}

func ratio(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", x)
}

func (r *race) memoryValue() any {
	value := map[string]map[string]Memory{}
	for _, l := range r.lines {
		value[l.Op] = l.Memory
	}
	return map[string]any{"memory": value}
}

func (r *race) memoryGrid() *report.Grid {
	g := &report.Grid{
		Title: "Memory, of all ranks together", Header: []string{"op", "engine", "input", "output", "peak above the start", "of input + output", "sent"}, Left: []bool{true, true},
		Note: "The peak is that of the processes' resident memory while the operation runs, above what they held with the input in place; its share counts the input too.",
	}
	for _, l := range r.lines {
		for _, e := range r.engines {
			m, ok := l.Memory[e.name()]
			if !ok {
				continue
			}
			peak, share := report.Bytes(m.Peak), fmt.Sprintf("%.2f", m.Ratio())
			if m.Unknown {
				peak, share = "–", "–"
			}
			g.Add(l.Op, e.name(), report.Bytes(m.Input), report.Bytes(m.Output), peak, share, report.Bytes(m.Sent))
		}
	}
	return g
}

func (r *race) bandwidthGrid() *report.Grid {
	g := &report.Grid{
		Title: "Shuffle by hash beside the transport", Header: []string{"engine", "shuffle GB/s", "all-to-all GB/s", "share"}, Left: []bool{true},
		Note: "Bytes that leave ranks, of all ranks together, over the fastest run; the all-to-all moves as many of them and does nothing else.",
	}
	for _, l := range r.lines {
		for _, b := range l.Bandwidth {
			g.Add(b.Engine, fmt.Sprintf("%.2f", b.ShuffleGBs), fmt.Sprintf("%.2f", b.AllToAllGBs), fmt.Sprintf("%.0f %%", 100*b.ShuffleGBs/b.AllToAllGBs))
		}
	}
	return g
}
