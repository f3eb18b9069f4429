package collective

import (
	"fmt"
	"math"
	"slices"

	"github.com/volley-go/volley/bench/report"
)

// Line is one engine's times of one operation at one size: nccl-tests' columns of one
// place.
type Line struct {
	Engine  string  `json:"engine"`
	Device  string  `json:"device"`
	Ranks   int     `json:"ranks"`
	Op      string  `json:"op"`
	Size    int64   `json:"size"`
	Count   int64   `json:"count"`
	Type    string  `json:"type"`
	RedOp   string  `json:"redop"`
	InPlace bool    `json:"in_place"`
	MedianS float64 `json:"median_s"`
	MinS    float64 `json:"min_s"`
	AlgBW   float64 `json:"algbw_gb_s"` // of the shortest time
	BusBW   float64 `json:"busbw_gb_s"`
	Wrong   int64   `json:"wrong"`
	// Copy is algbw over what memory permits, of 32 MiB and more: see limit.
	Copy float64 `json:"share_of_copy,omitempty"`
}

// Ratio is how much longer a peer takes than ours, as the geometric mean over sizes
// and places: above 1 ours is faster.
type Ratio struct {
	Op     string  `json:"op"`
	Ranks  int     `json:"ranks"`
	Device string  `json:"device"`
	Peer   string  `json:"peer"`
	Short  float64 `json:"below_64_kib,omitempty"`
	Long   float64 `json:"from_64_kib,omitempty"`
	All    float64 `json:"all"`
	Worst  float64 `json:"worst"`
	At     int64   `json:"worst_size"`
}

// long is the size from which operations count as long.
const long = 64 << 10

// summary gathers lines.
type summary struct {
	o     *Options
	lines []Line
	lacks []string
}

// add takes in a trial, and records it.
func (s *summary) add(t *trial, ranks int, to report.Sink) error {
	way := "out of place"
	if t.inPlace {
		way = "in place"
	}
	for _, r := range t.all {
		e := r.engine
		if r.lacks != "" {
			text := fmt.Sprintf("%s over %s has no %s %s.", e.name, e.device, t.op.name, way)
			if !slices.Contains(s.lacks, text) {
				s.lacks = append(s.lacks, text)
			}
			continue
		}
		size := t.op.bytes(t.count, ranks)
		l := Line{
			Engine: e.name, Device: e.device, Ranks: ranks, Op: t.op.name, Size: size, Count: t.count, Type: "float", RedOp: t.op.redop(),
			InPlace: t.inPlace, MedianS: r.Median(), MinS: r.Min(), Wrong: r.wrong,
		}
		if l.MinS > 0 {
			l.AlgBW = float64(size) / l.MinS / 1e9
			l.BusBW = l.AlgBW * t.op.factor(float64(ranks))
		}
		limit := s.limit(&l)
		if limit > 0 {
			l.Copy = l.AlgBW / limit
		}
		s.lines = append(s.lines, l)
		rec := report.Record{
			Suite: "collective", Op: t.op.name, Engine: e.name, Version: r.version, Device: e.device, Rows: report.Of(t.count), Ranks: ranks,
			Way: way, OK: report.Of(r.wrong == 0),
		}
		rec.SetTiming(r.Timing)
		rec.SetBytes(size, limit)
		if err := to.Record(rec); err != nil {
			return err
		}
	}
	return nil
}

// limit is the algbw that memory sets an operation, or 0 where the ranks' vectors may stay
// in caches: the bandwidth of copying, over the times that the vector is read or written.
func (s *summary) limit(l *Line) float64 {
	if l.Size < 32<<20 {
		return 0
	}
	return s.o.Limit.CopyGBs / passes(l.Op, float64(l.Ranks), l.InPlace)
}

// passes is how many times a vector's bytes are read or written by all p ranks together, where
// every rank has memory of its own and a message is read where it lies. A block that is copied
// counts 2, one that is combined into another 3. Of an all-reduce every rank combines p parts
// of its own block, reading p and writing one, and copies the others' blocks.
func passes(op string, p float64, inPlace bool) float64 {
	own := 2.0 // the own block, from one vector to the other
	if inPlace {
		own = 0
	}
	switch op {
	case "allreduce":
		return 3*p - 1
	case "broadcast":
		return 2 * (p - 1)
	case "reduce", "reducescatter":
		return 3 * (p - 1)
	case "gather", "scatter":
		return 2*(p-1)/p + own/p
	}
	return 2*(p-1) + own // allgather; alltoall, of whose vectors each has p blocks
}

// ratios hold our lines against every peer's over the same transport.
func (s *summary) ratios() []Ratio {
	var all []Ratio
	sums := map[int][3]float64{} // by place in all: of logarithms
	counts := map[int][3]float64{}
	for i := range s.lines {
		for j := range s.lines {
			we, peer := &s.lines[i], &s.lines[j]
			if we.Engine != "volley" || peer.Engine == "volley" || we.Device != peer.Device || we.Ranks != peer.Ranks || we.Op != peer.Op ||
				we.Size != peer.Size || we.InPlace != peer.InPlace || we.MinS <= 0 || peer.MinS <= 0 {
				continue
			}
			k := slices.IndexFunc(all, func(r Ratio) bool {
				return r.Op == we.Op && r.Ranks == we.Ranks && r.Device == we.Device && r.Peer == peer.Engine
			})
			if k < 0 {
				k = len(all)
				all = append(all, Ratio{Op: we.Op, Ranks: we.Ranks, Device: we.Device, Peer: peer.Engine, Worst: math.Inf(1)})
			}
			class := 0
			if we.Size >= long {
				class = 1
			}
			ratio := peer.MinS / we.MinS
			sum, count := sums[k], counts[k]
			for _, c := range []int{class, 2} {
				sum[c] += math.Log(ratio)
				count[c]++
			}
			sums[k], counts[k] = sum, count
			if ratio < all[k].Worst {
				all[k].Worst, all[k].At = ratio, we.Size
			}
		}
	}
	for k := range all {
		mean := func(c int) float64 {
			if counts[k][c] == 0 {
				return 0
			}
			return math.Exp(sums[k][c] / counts[k][c])
		}
		all[k].Short, all[k].Long, all[k].All = mean(0), mean(1), mean(2)
	}
	return all
}

// answers are nccl-tests' table and that of the ratios.
func (s *summary) answers() []report.Answer {
	ratios := s.ratios()
	answers := []report.Answer{{Suite: "collective", Value: map[string]any{"lines": s.lines}, Grid: s.table()}}
	if len(ratios) > 0 {
		answers = append(answers, report.Answer{Suite: "collective", Value: map[string]any{"ratios": ratios}, Grid: ratioTable(ratios)})
	}
	return answers
}

// table is one row for both places of an engine.
func (s *summary) table() *report.Grid {
	half := []string{"median", "min", "algbw", "busbw", "#wrong"}
	copies := slices.ContainsFunc(s.lines, func(l Line) bool { return l.Copy > 0 })
	if copies {
		half = append(half, "of copy")
	}
	g := &report.Grid{
		Title:  "Out of place, then in place; µs and GB/s",
		Header: append(append([]string{"op", "ranks", "engine", "device", "size", "count", "type", "redop"}, half...), half...),
		Left:   []bool{true, false, true, true, false, false, true, true},
	}
	done := make([]bool, len(s.lines))
	for i, l := range s.lines {
		if done[i] {
			continue
		}
		row := []string{l.Op, fmt.Sprint(l.Ranks), l.Engine, l.Device, fmt.Sprint(l.Size), fmt.Sprint(l.Count), l.Type, l.RedOp}
		for _, inPlace := range []bool{false, true} {
			k := slices.IndexFunc(s.lines, func(o Line) bool {
				return o.Engine == l.Engine && o.Device == l.Device && o.Ranks == l.Ranks && o.Op == l.Op && o.Size == l.Size && o.InPlace == inPlace
			})
			if k < 0 {
				for range half {
					row = append(row, "–")
				}
				continue
			}
			done[k] = true
			o := s.lines[k]
			row = append(row, micro(o.MedianS), micro(o.MinS), fmt.Sprintf("%.2f", o.AlgBW), fmt.Sprintf("%.2f", o.BusBW), fmt.Sprint(o.Wrong))
			switch {
			case o.Copy > 0:
				row = append(row, fmt.Sprintf("%.0f %%", 100*o.Copy))
			case copies:
				row = append(row, "–")
			}
		}
		g.Add(row...)
	}
	g.Note = "algbw and busbw are of the shortest time. An operation that a library has in one place only has – in the other."
	if copies {
		g.Note += fmt.Sprintf("\nof copy: algbw over the %.1f GB/s of a copy by the times that all ranks read or write the vector, from 32 MiB up.", s.o.Limit.CopyGBs)
	}
	for _, text := range s.lacks {
		g.Note += "\n" + text
	}
	return g
}

func micro(seconds float64) string { return fmt.Sprintf("%.2f", 1e6*seconds) }

func ratioTable(all []Ratio) *report.Grid {
	g := &report.Grid{
		Title:  "The peer's shortest time over ours, geometric mean over sizes: above 1 ours is faster",
		Header: []string{"op", "ranks", "device", "peer", "below 64 KiB", "from 64 KiB", "all", "worst", "at bytes"},
		Left:   []bool{true, false, true, true},
	}
	for _, r := range all {
		mean := func(v float64) string {
			if v == 0 {
				return "–"
			}
			return fmt.Sprintf("%.2f", v)
		}
		g.Add(r.Op, fmt.Sprint(r.Ranks), r.Device, r.Peer, mean(r.Short), mean(r.Long), mean(r.All), mean(r.Worst), fmt.Sprint(r.At))
	}
	return g
}
