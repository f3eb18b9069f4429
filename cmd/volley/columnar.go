package main

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

func newColumnar(d deps, f *benchFlags) *cobra.Command {
	rows, ops := rowCounts{defaultRows}, []string(nil)
	var versus peerFlags
	var memory bool
	cmd := &cobra.Command{
		Use:   "columnar",
		Short: "Single operations over columns, with time and peak memory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := versus.beside(cmd); err != nil {
				return err
			}
			if err := rows.check(); err != nil {
				return err
			}
			known, run := d.columnar.ops, d.columnar.run
			usual := known
			switch {
			case memory && !versus.on:
				return usagef("--memory: what operations need beside other libraries: --peers goes with it")
			case len(rows) > 1 && !versus.on:
				if err := checkGrowth(d.columnar.growth, f); err != nil {
					return err
				}
				known, usual = d.columnar.growth.ops, d.columnar.growth.usual
				run = func(ctx context.Context, o columnarOptions, to report.Sink, p progress.Progress) error {
					return d.columnar.growth.run(ctx, o, rows.sizes(), to, p)
				}
			case versus.on:
				if err := versus.check(f, d.columnar.peers.names); err != nil {
					return err
				}
				known, usual = d.columnar.peers.ops, d.columnar.peers.ops
				race := d.columnar.peers.run
				if memory {
					race = d.columnar.peers.memory
				}
				run = func(ctx context.Context, o columnarOptions, to report.Sink, p progress.Progress) error {
					return eachSize(rows, func(n int64) error {
						o.Rows = n
						return race(ctx, peerOptions{o, versus.python, versus.against}, to, p)
					})
				}
			}
			for _, op := range ops {
				if slices.Contains(known, op) {
					continue
				}
				hint := ""
				if s := d.columnar.peers; s != nil && !versus.on && slices.Contains(s.ops, op) {
					hint = "; it is raced with --peers"
				}
				return usagef("--ops: unknown operation %q, known are %s%s", op, strings.Join(known, ", "), hint)
			}
			ops = once(ops)
			if len(ops) == 0 {
				ops = usual
			}
			return bench(cmd, d, f, "columnar", func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error {
				return run(ctx, columnarOptions{o, int64(rows[0]), ops}, to, p)
			})
		},
	}
	cmd.Flags().Var(&rows, "rows", "rows of each input, such as 1000000, 1_000_000 or 1e6; several, such as 1e6,1e7,1e8, tell how the time a row of groupings and joins grows, on the CPU; with --peers a race each")
	usage := "`operations`, all when not given: " + strings.Join(d.columnar.ops, ", ")
	if d.columnar.peers != nil {
		usage += "; with --peers: " + strings.Join(d.columnar.peers.ops, ", ")
		versus.add(cmd, d.columnar.peers.names)
		cmd.Flags().BoolVar(&memory, "memory", false, "with --peers: what resident memory each needs, every operation in new processes of its own, instead of times")
		cmd.AddCommand(newServe(d.columnar.peers.serve))
	}
	cmd.Flags().StringSliceVar(&ops, "ops", nil, usage)
	return cmd
}

// newServe is the command that becomes a worker of ours.
func newServe(serve func(ctx context.Context, engine string, threads int, in io.Reader, out io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use: "serve ENGINE THREADS", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var threads rowCount
			if err := threads.Set(args[1]); err != nil {
				return err
			}
			return serve(cmd.Context(), args[0], int(threads), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// checkGrowth finds what is wrong with the flags where there are several sizes.
func checkGrowth(g *growthSuite, f *benchFlags) error {
	if g == nil {
		return usagef("--rows: nothing here runs several sizes")
	}
	for _, d := range f.devices {
		if d != "cpu" {
			return usagef("--device %s: several sizes are run on the CPU", d)
		}
	}
	return nil
}

// rowCounts is a flag for one number of rows or several.
type rowCounts []rowCount

// String implements pflag.Value.
func (r *rowCounts) String() string {
	names := make([]string, len(*r))
	for i := range *r {
		names[i] = (*r)[i].String()
	}
	return strings.Join(names, ",")
}

// Type implements pflag.Value.
func (r *rowCounts) Type() string { return "n" }

// Set implements pflag.Value: numbers as [rowCount] takes them, with commas between.
func (r *rowCounts) Set(s string) error {
	parts := strings.Split(s, ",")
	all := make(rowCounts, len(parts))
	for i, part := range parts {
		if err := all[i].Set(part); err != nil {
			return err
		}
	}
	*r = all
	return nil
}

// check finds sizes that no operation takes: rows have numbers of 31 bits.
func (r rowCounts) check() error {
	for _, n := range r {
		if n > math.MaxInt32 {
			return usagef("--rows %d: at most %d are possible", n, math.MaxInt32)
		}
	}
	return nil
}

// eachSize runs a race at each size. One that lacks some of what it was to measure
// does not keep the next from its turn.
func eachSize(rows rowCounts, race func(n int64) error) error {
	var lacking []error
	for _, n := range rows {
		err := race(int64(n))
		var part *report.Incomplete
		if err != nil && !errors.As(err, &part) {
			return errors.Join(append(lacking, err)...)
		}
		lacking = append(lacking, err)
	}
	return errors.Join(lacking...)
}

// once is the names without those that come again.
func once(names []string) (all []string) {
	for _, name := range names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

func (r rowCounts) sizes() []int64 {
	all := make([]int64, len(r))
	for i, n := range r {
		all[i] = int64(n)
	}
	return all
}

// defaultRows is the size of the suites that make their own data.
const defaultRows = rowCount(10_000_000)

// rowCount is a flag for a number of rows above zero.
type rowCount int64

// String implements pflag.Value.
func (r *rowCount) String() string { return strconv.FormatInt(int64(*r), 10) }

// Type implements pflag.Value.
func (r *rowCount) Type() string { return "n" }

// Set implements pflag.Value. It takes whole numbers, with underscores between
// digits or with an exponent.
func (r *rowCount) Set(s string) error {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		v, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return usagef("%q is not a whole number", s)
		}
		n = int64(v)
	}
	if n < 1 {
		return usagef("%s rows, at least 1 is needed", s)
	}
	*r = rowCount(n)
	return nil
}
