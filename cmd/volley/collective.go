package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// collectiveFlags are the flags of the suite "collective".
type collectiveFlags struct {
	ops, transports, against []string
	sizes, ranks             []string
	peers                    bool
	mpich, python            string
	rank, tune               string
}

func newCollective(d deps, f *benchFlags) *cobra.Command {
	c := collectiveFlags{}
	cmd := &cobra.Command{
		Use:   "collective",
		Short: "Collective operations between processes of this machine",
		Long: `collective times the operations between ranks, with nccl-tests' columns, in and
out of place, over every transport. With --peers it races them against Open MPI,
MPICH and Gloo: bash scripts/collective_peers.sh installs those.

With --tune FILE it measures instead, for two minutes each, up to eight where a virtual
machine's host moves the processors, what messages cost over the
transports and which algorithm of each operation is fastest on 2 and on 4 ranks, prints
that table and saves it; with VOLLEY_COLLECTIVE_TUNING=FILE every Comm goes by it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.rank != "" {
				return d.collective.rank(cmd.Context(), c.rank)
			}
			if c.tune != "" {
				return c.tuneTo(cmd, d, f)
			}
			o, err := c.options(d.collective)
			if err == nil {
				err = f.check()
			}
			if err != nil {
				return err
			}
			return bench(cmd, d, f, "collective", func(ctx context.Context, b benchOptions, to report.Sink, p progress.Progress) error {
				o.benchOptions = b
				return d.collective.run(ctx, o, to, p)
			})
		},
	}
	s := d.collective
	p := cmd.Flags()
	p.StringSliceVar(&c.ops, "ops", s.ops, "`operations`")
	p.StringSliceVar(&c.transports, "transports", s.devices, "our `transports`; "+strings.Join(s.launched, ", ")+" by Open MPI's launcher, where asked for")
	p.StringSliceVar(&c.sizes, "sizes", strings.Split("8,64,512,4K,32K,64K,256K,1M,4M,16M,64M", ","), "`bytes`, with K, M or G for powers of 1024")
	p.StringSliceVar(&c.ranks, "ranks", []string{"2", "4"}, "`numbers` of ranks")
	p.BoolVar(&c.peers, "peers", false, "race against other libraries: bash scripts/collective_peers.sh installs them")
	p.StringSliceVar(&c.against, "against", s.peers, "`libraries` to race against")
	p.StringVar(&c.mpich, "mpich", filepath.Join("out", "venv", "mpich", "bin"), "`folder` with MPICH's mpicc and mpiexec")
	p.StringVar(&c.python, "python", "/usr/bin/python3", "`interpreter` that has PyTorch")
	p.StringVar(&c.tune, "tune", "", "`file` for a tuning table, which is measured")
	p.StringVar(&c.rank, "rank", "", "become a rank of a race")
	if err := p.MarkHidden("rank"); err != nil {
		cmd.Long += "\n" + err.Error() // the flag is there
	}
	return cmd
}

// options are the flags, taken apart.
func (c *collectiveFlags) options(s *collectiveSuite) (o collectiveOptions, err error) {
	o = collectiveOptions{Ops: c.ops, Transports: c.transports, MPICH: c.mpich, Python: c.python}
	if c.peers {
		o.Peers = c.against
	}
	for _, list := range []struct {
		flag         string
		given, known []string
	}{{"--ops", o.Ops, s.ops}, {"--transports", o.Transports, slices.Concat(s.devices, s.launched)}, {"--against", o.Peers, s.peers}} {
		for i, name := range list.given {
			if !slices.Contains(list.known, name) || slices.Contains(list.given[:i], name) {
				return o, usagef("%s: unknown or repeated name %q, known are %s", list.flag, name, strings.Join(list.known, ", "))
			}
		}
	}
	for _, text := range c.sizes {
		n, err := byteCount(text)
		if err != nil {
			return o, err
		}
		o.Sizes = append(o.Sizes, n)
	}
	for _, text := range c.ranks {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 64 || slices.Contains(o.Ranks, n) {
			return o, usagef("--ranks: %q is not a number of ranks from 1 to 64, or given twice", text)
		}
		o.Ranks = append(o.Ranks, n)
	}
	return o, nil
}

// byteCount is a size such as 8, 64K or 1M, at most 1 GiB.
func byteCount(text string) (int64, error) {
	digits, shift := text, 0
	for i, unit := range []string{"K", "M", "G"} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(text), unit); ok {
			digits, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 1 || n<<shift > 1<<30 {
		return 0, usagef("--sizes: %q is not a number of bytes from 1 to 1G", fmt.Sprint(text))
	}
	return n << shift, nil
}
