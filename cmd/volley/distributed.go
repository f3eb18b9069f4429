package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// distributedPython is where scripts/distributed_peers.sh puts the interpreter that has the peers.
var distributedPython = filepath.Join("out", "venv", "distributed", "bin", "python")

// distributedFlags are the flags of the suite "distributed".
type distributedFlags struct {
	ops, against, ranks []string
	peers, rank         bool
	python              string
	rows                rowCount
}

func newDistributed(d deps, f *benchFlags) *cobra.Command {
	c := distributedFlags{rows: 5_000_000}
	cmd := &cobra.Command{
		Use:   "distributed",
		Short: "Tables on ranks: join, group-by, sort, distinct and shuffle",
		Long: `distributed runs operators on tables whose rows are on ranks, processes of this
machine with a thread each, in turns with the local operators on --threads threads.
It shows the peak of memory, and a shuffle's bandwidth beside that of an all-to-all
of the transport. With --peers DuckDB in one process, Dask, Ray Data, Modin and
pyspark take turns too, on as many threads: bash scripts/distributed_peers.sh
installs those. Answers are held against the local operators'.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.rank {
				return d.distributed.rank(cmd.Context())
			}
			o, err := c.options(cmd, d.distributed, f)
			if err != nil {
				return err
			}
			return bench(cmd, d, f, "distributed", func(ctx context.Context, b benchOptions, to report.Sink, p progress.Progress) error {
				o.benchOptions = b
				return d.distributed.run(ctx, o, to, p)
			})
		},
	}
	s := d.distributed
	p := cmd.Flags()
	p.Var(&c.rows, "rows", "rows of each of the two tables, which have two columns of int64")
	p.StringSliceVar(&c.ops, "ops", s.ops, "`operations`")
	p.StringSliceVar(&c.ranks, "ranks", []string{"2", "4"}, "`numbers` of ranks")
	p.BoolVar(&c.peers, "peers", false, "race against other engines: bash scripts/distributed_peers.sh installs them")
	p.StringSliceVar(&c.against, "against", s.peers, "`engines` to race against")
	p.StringVar(&c.python, "python", distributedPython, "`interpreter` that has the engines")
	p.BoolVar(&c.rank, "rank", false, "become a rank of a race")
	if err := p.MarkHidden("rank"); err != nil {
		cmd.Long += "\n" + err.Error() // the flag is there
	}
	return cmd
}

// options are the flags, taken apart.
func (c *distributedFlags) options(cmd *cobra.Command, s *distributedSuite, f *benchFlags) (o distributedOptions, err error) {
	if err := f.check(); err != nil {
		return o, err
	}
	for _, d := range f.devices {
		if d != "cpu" {
			return o, usagef("--device %s: the suite runs on the CPU", d)
		}
	}
	o = distributedOptions{Rows: int64(c.rows), Ops: c.ops, Python: c.python}
	if c.peers {
		o.Peers = c.against
		if len(o.Peers) == 0 {
			return o, usagef("--against has no engine, known are %s", strings.Join(s.peers, ", "))
		}
		if _, err := exec.LookPath(c.python); err != nil {
			return o, usagef("--python %s: there is no such interpreter: make it with bash scripts/distributed_peers.sh, which installs the engines, or name another", c.python)
		}
	}
	for _, name := range []string{"against", "python"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && !c.peers {
			return o, usagef("--%s: of a race against other engines: --peers goes with it", name)
		}
	}
	for _, list := range []struct {
		flag         string
		given, known []string
	}{{"--ops", o.Ops, s.ops}, {"--against", o.Peers, s.peers}} {
		for i, name := range list.given {
			if !slices.Contains(list.known, name) || slices.Contains(list.given[:i], name) {
				return o, usagef("%s: unknown or repeated name %q, known are %s", list.flag, name, strings.Join(list.known, ", "))
			}
		}
	}
	for _, text := range c.ranks {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 64 || slices.Contains(o.Ranks, n) {
			return o, usagef("--ranks: %q is not a number of ranks from 1 to 64, or given twice", fmt.Sprint(text))
		}
		o.Ranks = append(o.Ranks, n)
	}
	if len(o.Ops) == 0 || len(o.Ranks) == 0 {
		return o, usagef("--ops and --ranks: one of each is needed")
	}
	return o, nil
}
