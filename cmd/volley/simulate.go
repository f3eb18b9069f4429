package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	benchsim "github.com/volley-go/volley/bench/simulate"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/collective/tune"
)

// simulateFlags are the flags of "volley simulate".
type simulateFlags struct {
	ops, algorithms, ranks, sizes []string
	topology, chunk, fail         string
	late                          []string
	perNode, down, up, width      int
	rails, root, memory           int
	gbs                           float64
	latency                       time.Duration
	deterministic, silent, asJSON bool
	out, figures                  string

	calibrate              bool
	transports, recordings []string
	rounds                 int
	save, tuning, who      string
}

func newSimulate(d deps) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run collective operations on networks that are not there",
		Long: `simulate runs the schedules of collective operations, the code that moves real
bytes, over simulated networks in virtual time, up to 16,384 ranks, and checks that
every rank's result holds every contribution once.

  volley simulate --op allreduce --ranks 16,1024,16384 --sizes 8,64K,64M
  volley simulate --op broadcast --topology dragonfly --ranks 4096 --out folder
  volley simulate --ranks 64 --algorithms ring --fail 7:3 --silent

With --calibrate it measures messages between processes of this machine, predicts
collective operations from that, times them, and prints how far off it was; --figures
takes what --save kept, --tuning writes a table for VOLLEY_COLLECTIVE_TUNING.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.who != "":
				return benchsim.Rank(cmd.Context(), f.who, cmd.OutOrStdout())
			case f.calibrate:
				return f.measure(cmd, d)
			}
			return f.sweep(cmd, d)
		},
	}
	s, p := benchsim.DefaultShape("fat-tree"), cmd.Flags()
	p.StringSliceVar(&f.ops, "op", []string{"allreduce"}, "`operations`: broadcast, reduce, allreduce, reducescatter, allgather, gather, scatter, alltoall, barrier")
	p.StringSliceVar(&f.algorithms, "algorithms", nil, "`names`; all that the operation has when not given")
	p.StringSliceVar(&f.ranks, "ranks", []string{"16", "256"}, "`numbers` of ranks")
	p.StringSliceVar(&f.sizes, "sizes", []string{"8", "64K", "16M"}, "`bytes` of the whole vector, with K, M or G for powers of 1024")
	p.StringVar(&f.topology, "topology", s.Topology, "`network`: "+strings.Join(benchsim.Topologies(), ", "))
	p.IntVar(&f.perNode, "per-node", s.PerNode, "ranks of a node")
	p.IntVar(&f.down, "down", s.Down, "fat tree: nodes below a leaf switch")
	p.IntVar(&f.up, "up", s.Up, "fat tree: spine switches")
	p.IntVar(&f.width, "width", s.Width, "dragonfly: nodes on a router, and links to other groups")
	p.IntVar(&f.rails, "rails", s.Rails, "multi-rail: links of a node")
	p.Float64Var(&f.gbs, "link", s.Link.GBs, "`GB/s` of a link, each way")
	p.DurationVar(&f.latency, "latency", time.Duration(s.Link.Latency*1e9), "`time` of a link with its switch")
	p.IntVar(&f.root, "root", 0, "`rank` of the root")
	p.StringVar(&f.chunk, "chunk", "256K", "`bytes` of a pipeline's piece")
	p.BoolVar(&f.deterministic, "deterministic", false, "combine in the canonical order")
	p.StringSliceVar(&f.late, "straggler", nil, "slow ranks: `rank:slow:late`, such as 5:2:1ms for twice the time and 1 ms late")
	p.StringVar(&f.fail, "fail", "", "a rank that dies: `rank:round`")
	p.BoolVar(&f.silent, "silent", false, "the rank that dies closes no connections")
	p.IntVar(&f.memory, "memory", 4096, "`MiB` that a simulation may take")
	p.BoolVar(&f.asJSON, "json", false, "print one JSON object a line")
	p.StringVar(&f.out, "out", "", "`folder` to write JSON lines, PNG charts and an HTML page to")
	p.StringVar(&f.figures, "figures", "", "`file` of figures, that the topology node is made from")
	p.BoolVar(&f.calibrate, "calibrate", false, "measure this machine's transports and hold predictions against times")
	p.StringSliceVar(&f.transports, "transports", []string{"shm", "tcp"}, "--calibrate: shm, tcp, inproc")
	p.IntVar(&f.rounds, "rounds", tune.Rounds, "--calibrate: how often everything is measured; the middle counts")
	p.StringSliceVar(&f.recordings, "recordings", nil, "--calibrate: `files` of --save, whose middle figures and times are taken; nothing is measured")
	p.StringVar(&f.save, "save", "", "--calibrate: `file` for figures and times")
	p.StringVar(&f.tuning, "tuning", "", "--calibrate: `file` for the tuning table")
	p.StringVar(&f.who, "rank", "", "become a rank of --calibrate")
	if err := p.MarkHidden("rank"); err != nil {
		cmd.Long += "\n" + err.Error() // the flag is there
	}
	return cmd
}

// options are the flags, taken apart.
func (f *simulateFlags) options() (o benchsim.Options, err error) {
	o = benchsim.Options{Root: f.root, Deterministic: f.deterministic, Algorithms: f.algorithms, Memory: int64(f.memory) << 20}
	o.Shape = benchsim.DefaultShape(f.topology)
	o.Shape.PerNode, o.Shape.Down, o.Shape.Up, o.Shape.Width, o.Shape.Rails = f.perNode, f.down, f.up, f.width, f.rails
	o.Shape.Link = simulate.Wire{GBs: f.gbs, Latency: f.latency.Seconds()}
	if !slices.Contains(benchsim.Topologies(), f.topology) {
		return o, usagef("--topology: no network %q, there are %s", f.topology, strings.Join(benchsim.Topologies(), ", "))
	}
	for _, name := range f.ops {
		op, err := algorithm.ParseOp(name)
		if err != nil {
			return o, usagef("--op: %v", err)
		}
		for _, a := range f.algorithms {
			if _, err := algorithm.Named(a, op); err != nil {
				return o, usagef("--algorithms: %v", err)
			}
		}
		o.Ops = append(o.Ops, op)
	}
	for _, text := range f.ranks {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1<<16 {
			return o, usagef("--ranks: %q is not a number of ranks from 1 to 65536", text)
		}
		o.Ranks = append(o.Ranks, n)
	}
	for _, text := range f.sizes {
		n, err := byteCount(text)
		if err != nil {
			return o, err
		}
		o.Sizes = append(o.Sizes, n)
	}
	if o.Chunk, err = byteCount(f.chunk); err != nil {
		return o, usagef("--chunk: %q is not a number of bytes", f.chunk)
	}
	if f.memory < 1 {
		return o, usagef("--memory is %d MiB", f.memory)
	}
	for _, text := range f.late {
		s, err := straggler(text)
		if err != nil {
			return o, err
		}
		o.Stragglers = append(o.Stragglers, s)
	}
	if f.fail != "" {
		o.Failure = &simulate.Failure{Silent: f.silent}
		if n, err := fmt.Sscanf(f.fail, "%d:%d", &o.Failure.Rank, &o.Failure.Step); n != 2 || err != nil {
			return o, usagef("--fail: %q is not rank:round", f.fail)
		}
	}
	return o, f.machine(&o)
}

// machine reads the figures of --figures.
func (f *simulateFlags) machine(o *benchsim.Options) error {
	if f.figures == "" {
		return nil
	}
	all, err := readMachines(f.figures)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Figures != nil && m.Figures.Complete() && m.Figures.Transport == f.transports[0] {
			o.Shape.Figures, o.Shape.Topology = m.Figures, "node"
			return nil
		}
	}
	return fmt.Errorf("%s has no figures of %s", f.figures, f.transports[0])
}

// readMachines reads a file of --save.
func readMachines(file string) (all []*tune.Machine, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

func straggler(text string) (s simulate.Straggler, err error) {
	words := strings.Split(text, ":")
	if len(words) != 3 {
		return s, usagef("--straggler: %q is not rank:slow:late", text)
	}
	var err1, err2, err3 error
	s.Rank, err1 = strconv.Atoi(words[0])
	s.Slow, err2 = strconv.ParseFloat(words[1], 64)
	s.Late, err3 = time.ParseDuration(words[2])
	if err1 != nil || err2 != nil || err3 != nil {
		return s, usagef("--straggler: %q is not rank:slow:late", text)
	}
	return s, nil
}

// sweep simulates and shows what was found.
func (f *simulateFlags) sweep(cmd *cobra.Command, d deps) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o777); err != nil {
			return err
		}
	}
	start := time.Now()
	lines := json.NewEncoder(cmd.OutOrStdout())
	var rows []benchsim.Row
	if err := benchsim.Run(cmd.Context(), o, func(r benchsim.Row) error {
		rows = append(rows, r)
		if f.asJSON {
			return lines.Encode(r)
		}
		return nil
	}, progress.New(cmd.ErrOrStderr())); err != nil {
		return err
	}
	grids := []report.Grid{benchsim.Table("Collective operations on "+rows[0].Topology, rows)}
	if o.Failure != nil {
		grids = append(grids, benchsim.Verdicts(rows))
	}
	if !f.asJSON {
		if err := writeGrids(cmd.OutOrStdout(), grids); err != nil {
			return err
		}
	}
	if f.out == "" {
		return nil
	}
	page := &report.Page{Title: "volley simulate", When: start, Machine: d.machine(), Curves: benchsim.Curves(rows)}
	for i := range grids {
		page.Answers = append(page.Answers, report.Answer{Suite: "simulate", Value: grids[i].Rows, Grid: &grids[i]})
	}
	files, err := writeSimulation(f.out, rows, page)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s\n", strings.Join(files, ", "))
	return nil
}

func writeGrids(w io.Writer, grids []report.Grid) error {
	for i := range grids {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := grids[i].WriteText(w); err != nil {
			return err
		}
	}
	return nil
}

// writeSimulation writes the files of a sweep and returns their paths.
func writeSimulation(dir string, rows []benchsim.Row, page *report.Page) (paths []string, err error) {
	write := func(name string, fn func(io.Writer) error) {
		if err == nil {
			path := filepath.Join(dir, name)
			if err = writeFile(path, fn); err == nil {
				paths = append(paths, path)
			}
		}
	}
	write("simulate.jsonl", func(w io.Writer) error {
		lines := json.NewEncoder(w)
		for _, r := range rows {
			if err := lines.Encode(r); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range page.Curves {
		write(page.Curves[i].Name+".png", page.Curves[i].WritePNG)
	}
	write("simulate.html", page.WriteHTML)
	return paths, err
}
