package main

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

func newTPCH(d deps, f *benchFlags) *cobra.Command {
	var o tpchOptions
	var versus peerFlags
	from, memory := "memory", false
	cmd := &cobra.Command{
		Use:   "tpch",
		Short: "The 22 queries of TPC-H, whole queries over several tables",
		Long: `tpch runs the queries of TPC-H with the parameters of its validation run, from
tables in memory or from Parquet files. Data is made by tpchgen-cli (pip install
tpchgen-cli) once for each scale, in the user's cache folder. With --peers DuckDB
and Polars run them in turns with volley on the CPU, on the same number of threads,
and the answers are held against DuckDB's. Where the folder of the data has answers
they are held against those, else those of other devices against the CPU's. It is
no TPC benchmark. With --memory it tells
what memory each query needs, beside that of --peers.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := o.check(d.tpch, from); err != nil {
				return err
			}
			if err := versus.beside(cmd); err != nil {
				return err
			}
			if versus.on {
				if err := versus.check(f, d.tpch.peers); err != nil {
					return err
				}
				o.Peers = versus.against
			}
			o.Python, o.Files = versus.python, from == "files"
			run := d.tpch.run
			if memory {
				if err := onCPU(f); err != nil {
					return err
				}
				run = d.tpch.memory
			}
			return bench(cmd, d, f, "tpch", func(ctx context.Context, b benchOptions, to report.Sink, p progress.Progress) error {
				o.benchOptions = b
				return run(ctx, o, to, p)
			})
		},
	}
	cmd.Flags().Float64Var(&o.Scale, "scale", 1, "scale `factor` of the data: 1 is 6,000,000 lines of orders")
	cmd.Flags().StringVar(&o.Data, "data", "", "`folder` of the Parquet files, such as testdata/tpch, in place of data that is made")
	cmd.Flags().StringVar(&from, "from", from, "where the tables are: `memory` or files")
	cmd.Flags().StringSliceVar(&o.Queries, "queries", d.tpch.queries, "`names` of queries")
	cmd.Flags().BoolVar(&memory, "memory", false, "what resident memory each query needs beyond its tables, in new processes of its own, instead of times")
	versus.add(cmd, d.tpch.peers)
	cmd.AddCommand(newServe(d.tpch.serve))
	return cmd
}

// onCPU finds a device whose memory is not that of the process.
func onCPU(f *benchFlags) error {
	for _, d := range f.devices {
		if d != "cpu" {
			return usagef("--device %s: memory is measured on the CPU", d)
		}
	}
	return nil
}

// check finds what is wrong with the flags before any work begins.
func (o *tpchOptions) check(s *tpchSuite, from string) error {
	if !(o.Scale > 0) || math.IsInf(o.Scale, 0) {
		return usagef("--scale is %v, a number above 0 is needed", o.Scale)
	}
	if from != "memory" && from != "files" {
		return usagef("--from is %q, memory or files", from)
	}
	if len(o.Queries) == 0 {
		return usagef("--queries has no query, known are %s", strings.Join(s.queries, ", "))
	}
	for i, name := range o.Queries {
		if !slices.Contains(s.queries, name) || slices.Contains(o.Queries[:i], name) {
			return usagef("--queries: unknown or repeated query %q, known are %s", name, strings.Join(s.queries, ", "))
		}
	}
	return nil
}
