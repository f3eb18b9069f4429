package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/device"
)

// Options are the calls to simulate: each algorithm of each operation, with each
// number of ranks and each size.
type Options struct {
	Shape         Shape
	Ops           []algorithm.Op
	Algorithms    []string // none: all that the operation has
	Ranks         []int
	Sizes         []int64 // bytes of the whole vector
	Root          int
	Chunk         int64
	Deterministic bool
	Stragglers    []simulate.Straggler
	Failure       *simulate.Failure
	Memory        int64 // bytes that a simulation may take; 0 is 4 GiB
}

// Row is one call. Refused says why it was not simulated.
type Row struct {
	Op        string                    `json:"op"`
	Topology  string                    `json:"topology"`
	Algorithm string                    `json:"algorithm"`
	Ranks     int                       `json:"ranks"`
	Bytes     int64                     `json:"bytes"`
	Seconds   float64                   `json:"seconds,omitempty"`
	Rounds    int                       `json:"rounds,omitempty"`
	Messages  int64                     `json:"messages,omitempty"`
	PerRank   float64                   `json:"bytes_per_rank,omitempty"` // sent, mean
	MostBytes int64                     `json:"most_bytes,omitempty"`     // sent by the rank that sent most
	Links     map[string]simulate.Usage `json:"links,omitempty"`
	Checked   int64                     `json:"checked,omitempty"` // positions of results
	Verdict   *simulate.Verdict         `json:"verdict,omitempty"`
	Refused   string                    `json:"refused,omitempty"`
}

// Run simulates the calls, in order, and gives each to found. A call whose schedules
// do not fit into memory is a Row that says so.
func Run(ctx context.Context, o Options, found func(Row) error, p progress.Progress) error {
	for _, op := range o.Ops {
		names := o.Algorithms
		if len(names) == 0 {
			for _, a := range algorithm.For(op) {
				names = append(names, a.Name)
			}
		}
		p.Start("simulate "+op.String(), int64(len(names)*len(o.Ranks)*len(o.Sizes)))
		for _, ranks := range o.Ranks {
			n, err := o.Shape.Network(ranks)
			if err != nil {
				return err
			}
			for _, size := range o.Sizes {
				for _, name := range names {
					row, err := o.one(ctx, n, op, name, ranks, size)
					if err == nil {
						err = found(row)
					}
					if err != nil {
						p.Done()
						return err
					}
					p.Add(1)
				}
			}
		}
		p.Done()
	}
	return nil
}

func (o *Options) one(ctx context.Context, n *simulate.Network, op algorithm.Op, name string, ranks int, size int64) (Row, error) {
	row := Row{Op: op.String(), Topology: n.Name, Algorithm: name, Ranks: ranks, Bytes: size}
	r, err := simulate.Run(ctx, simulate.Config{Network: n, Op: op, Algorithm: name, Ranks: ranks, Bytes: size, Root: o.Root, Chunk: o.Chunk,
		Deterministic: o.Deterministic, Stragglers: o.Stragglers, Failure: o.Failure, Memory: o.Memory, Options: collective.Options{}})
	if errors.Is(err, device.ErrOutOfMemory) {
		row.Refused = err.Error()
		return row, nil
	}
	if err != nil {
		return row, err
	}
	row.Seconds, row.Rounds, row.Messages, row.MostBytes, row.Checked, row.Verdict = r.Seconds, r.Rounds, r.Messages, r.MostBytes, r.Checked, r.Verdict
	row.PerRank = float64(r.Bytes) / float64(ranks)
	for _, u := range r.Links {
		if row.Links == nil {
			row.Links = map[string]simulate.Usage{}
		}
		row.Links[u.Kind] = u
	}
	return row, nil
}

// Table is what was simulated, a line a call; a star marks the fastest of a size.
func Table(title string, rows []Row) report.Grid {
	g := report.Grid{Title: title, Left: []bool{true, false, false, true, true},
		Header: []string{"op", "ranks", "size", "", "algorithm", "time", "rounds", "messages", "sent a rank", "at most", "busiest links", "checked"},
		Note:   "Times are simulated. *: the fastest of this size. Busiest links: the kind with the highest share of the time that one of its links carried bytes."}
	best := map[string]float64{}
	key := func(r *Row) string { return fmt.Sprint(r.Op, r.Ranks, r.Bytes) }
	for i := range rows {
		r := &rows[i]
		if b, seen := best[key(r)]; r.Refused == "" && (!seen || r.Seconds < b) {
			best[key(r)] = r.Seconds
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.Refused != "" {
			g.Add(r.Op, report.Count(int64(r.Ranks)), report.Bytes(r.Bytes), "", r.Algorithm, "too big")
			continue
		}
		star := ""
		if r.Seconds == best[key(r)] {
			star = "*"
		}
		g.Add(r.Op, report.Count(int64(r.Ranks)), report.Bytes(r.Bytes), star, r.Algorithm, report.Seconds(r.Seconds), fmt.Sprint(r.Rounds), report.Count(r.Messages),
			report.Bytes(int64(r.PerRank)), report.Bytes(r.MostBytes), busiest(r.Links), report.Count(r.Checked))
	}
	return g
}

func busiest(links map[string]simulate.Usage) string {
	kind := ""
	for k, u := range links {
		if kind == "" || u.Most > links[kind].Most || u.Most == links[kind].Most && k < kind {
			kind = k
		}
	}
	if kind == "" {
		return ""
	}
	return fmt.Sprintf("%s %.0f %%", kind, 100*links[kind].Most)
}

// Verdicts is what the survivors of a failure learn, a line a call.
func Verdicts(rows []Row) report.Grid {
	g := report.Grid{Title: "What the survivors learn", Left: []bool{true, false, false, true},
		Header: []string{"op", "ranks", "size", "algorithm", "died", "noticed", "decided", "all know", "witnesses", "done before", "fault"}}
	for i := range rows {
		r := &rows[i]
		v := r.Verdict
		if v == nil {
			g.Add(r.Op, report.Count(int64(r.Ranks)), report.Bytes(r.Bytes), r.Algorithm, "", "", "", "", "", "", "the schedule ends before that round")
			continue
		}
		text := "none: nobody needed it any more"
		if v.Fault != nil {
			text = v.Fault.Error()
		}
		g.Add(r.Op, report.Count(int64(r.Ranks)), report.Bytes(r.Bytes), r.Algorithm, report.Seconds(v.Died), report.Seconds(v.Noticed), report.Seconds(v.Decided),
			report.Seconds(v.Complete), report.Count(int64(len(v.Witnesses))), report.Count(int64(v.Ended)), text)
	}
	g.Left = append(g.Left, make([]bool, 6)...)
	g.Left = append(g.Left, true)
	return g
}

// Curves draws time and bytes a rank against size where there are several, and
// against ranks where there are several, for each operation.
func Curves(rows []Row) []report.Curves {
	var all []report.Curves
	type view struct {
		against string
		x       func(*Row) float64
		fixed   func(*Row) int64
		print   func(float64) string
		name    func(int64) string
	}
	ranks := func(r *Row) int64 { return int64(r.Ranks) }
	size := func(r *Row) int64 { return r.Bytes }
	bytes := func(v float64) string { return report.Bytes(int64(v)) }
	count := func(v float64) string { return report.Count(int64(v)) }
	for _, v := range []view{
		{"size", func(r *Row) float64 { return float64(r.Bytes) }, ranks, bytes, func(n int64) string { return fmt.Sprintf("%d ranks", n) }},
		{"ranks", func(r *Row) float64 { return float64(r.Ranks) }, size, count, report.Bytes},
	} {
		for _, y := range []struct {
			what, unit string
			of         func(*Row) float64
			print      func(float64) string
		}{
			{"time", "seconds", func(r *Row) float64 { return r.Seconds }, report.Seconds},
			{"bytes", "bytes that the busiest rank sends", func(r *Row) float64 { return float64(r.MostBytes) }, bytes},
		} {
			groups := map[string]*report.Curves{}
			var order []string
			for i := range rows {
				r := &rows[i]
				if r.Refused != "" || !(v.x(r) > 0) || !(y.of(r) > 0) {
					continue
				}
				key := fmt.Sprintf("%s-%s-%s-%d", r.Op, y.what, v.against, v.fixed(r))
				c := groups[key]
				if c == nil {
					c = &report.Curves{Name: strings.ToLower("simulate-" + key), Title: fmt.Sprintf("%s on %s, %s: %s against %s", r.Op, r.Topology, v.name(v.fixed(r)), y.what, v.against),
						X: v.against, Y: y.unit, PrintX: v.print, PrintY: y.print}
					groups[key] = c
					order = append(order, key)
				}
				i := slices.IndexFunc(c.Lines, func(l report.Line) bool { return l.Name == r.Algorithm })
				if i < 0 {
					i = len(c.Lines)
					c.Lines = append(c.Lines, report.Line{Name: r.Algorithm})
				}
				c.Lines[i].Points = append(c.Lines[i].Points, report.XY{X: v.x(r), Y: y.of(r)})
			}
			for _, key := range order {
				if len(groups[key].Lines[0].Points) > 1 {
					all = append(all, *groups[key])
				}
			}
		}
	}
	return all
}
