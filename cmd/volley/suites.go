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

// squareRows lets the race at products have all its sizes.
const squareRows = rowCount(4096 * 4096)

func newGEMM(d deps, f *benchFlags) *cobra.Command {
	rows := defaultRows
	var versus peerFlags
	cmd := &cobra.Command{
		Use:   "gemm",
		Short: "Products of square matrices by our kernel and by the vendor's library",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := versus.beside(cmd); err != nil {
				return err
			}
			if versus.on {
				if !cmd.Flags().Changed("rows") {
					rows = squareRows
				}
				return raceProducts(cmd, d, f, &versus, rows)
			}
			return runSuites(cmd, d, f, []string{"gemm"}, rows, 0)
		},
	}
	cmd.Flags().Var(&rows, "rows", "elements that a matrix has at most: orders of 1024, 4096 and 8192 as far as they fit; with --peers 128 to 4096 (all of them when not given), tall and long ones")
	if d.gemmPeers != nil {
		versus.add(cmd, d.gemmPeers.names)
	}
	return cmd
}

// raceProducts runs the race at products of matrices.
func raceProducts(cmd *cobra.Command, d deps, f *benchFlags, versus *peerFlags, rows rowCount) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := versus.check(f, d.gemmPeers.names); err != nil {
		return err
	}
	return bench(cmd, d, f, "gemm", func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error {
		return d.gemmPeers.run(ctx, gemmPeerOptions{gemmOptions{o, int64(rows)}, versus.python, versus.against}, to, p)
	})
}

func newTransfer(d deps, f *benchFlags) *cobra.Command {
	rows, link := defaultRows, 0.0
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Copies inside a device, and between it and pageable and pinned host memory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSuites(cmd, d, f, []string{"transfer"}, rows, link)
		},
	}
	cmd.Flags().Var(&rows, "rows", "values of eight bytes that each copy moves")
	linkFlag(cmd, &link)
	return cmd
}

func linkFlag(cmd *cobra.Command, link *float64) {
	cmd.Flags().Float64Var(link, "link", 0, "`GB/s` that the link to the device carries one way; transfers then show their share of it")
}

// severalSuites makes the bench command itself take a list of suites.
func severalSuites(cmd *cobra.Command, d deps, f *benchFlags) {
	rows, link := defaultRows, 0.0
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return needSubcommand(cmd, args)
		}
		names := strings.Split(args[0], ",")
		for i, name := range names {
			if len(names) == 1 && suiteNamed(d, name, 1, 0) == nil {
				return usagef("unknown command %q for %q", name, cmd.CommandPath())
			}
			if suiteNamed(d, name, 1, 0) == nil || slices.Contains(names[:i], name) {
				return usagef("unknown or repeated suite %q in %q: a list may have columnar, gemm and transfer", name, args[0])
			}
		}
		return runSuites(cmd, d, f, names, rows, link)
	}
	cmd.Flags().Var(&rows, "rows", "rows of each input, for a list of suites")
	linkFlag(cmd, &link)
}

// runSuites runs suites one after another as one.
func runSuites(cmd *cobra.Command, d deps, f *benchFlags, names []string, rows rowCount, link float64) error {
	if err := f.check(); err != nil {
		return err
	}
	if link < 0 || math.IsNaN(link) || math.IsInf(link, 0) {
		return usagef("--link is %v GB/s, 0 or more is needed", link)
	}
	return bench(cmd, d, f, strings.Join(names, "-"), func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error {
		for _, name := range names {
			if err := suiteNamed(d, name, int64(rows), link)(ctx, o, to, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// suiteNamed is a suite that makes its own data, nil where there is none of the
// name.
func suiteNamed(d deps, name string, rows int64, link float64) suite {
	switch {
	case name == "columnar" && d.columnar != nil:
		return func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error {
			return d.columnar.run(ctx, columnarOptions{o, rows, d.columnar.ops}, to, p)
		}
	case name == "gemm" && d.gemm != nil:
		return func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error {
			return d.gemm(ctx, gemmOptions{o, rows}, to, p)
		}
	case name == "transfer" && d.transfer != nil:
		return func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error {
			return d.transfer(ctx, transferOptions{o, rows, link}, to, p)
		}
	}
	return nil
}
