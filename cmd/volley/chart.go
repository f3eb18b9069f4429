package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/report"
)

// newChart is the command that draws results which were written before.
func newChart() *cobra.Command {
	var out, title string
	var ops, engines []string
	cmd := &cobra.Command{
		Use:   "chart RESULTS.jsonl...",
		Short: "Draw results of a race as a chart, one for light pages and one for dark ones",
		Long: `chart reads lines that --json or --out wrote, and draws how many times as long as
volley the other engines took, by shortest times, into PREFIX-light.png and
PREFIX-dark.png. The operation "mean" is the geometric mean over those that all
have run. Nothing is measured.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || out == "" || len(ops) == 0 || len(engines) == 0 {
				return usagef("chart needs results, --ops, --engines and --out: volley bench chart columnar.jsonl --ops sort,join_1e5 --engines duckdb,polars --out chart")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return drawRelative(cmd.OutOrStdout(), args, title, out, engines, ops)
		},
	}
	cmd.Flags().StringSliceVar(&ops, "ops", nil, "`operations` to draw, from top to bottom")
	cmd.Flags().StringSliceVar(&engines, "engines", nil, "`engines` to draw below volley")
	cmd.Flags().StringVar(&title, "title", "Time of an operation, shorter is better", "`text` above the chart")
	// The folder of the other suites has no use here.
	cmd.Flags().StringVar(&out, "out", "", "`prefix` of the two files")
	return cmd
}

func drawRelative(stdout io.Writer, paths []string, title, out string, engines, ops []string) error {
	var records []report.Record
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		read, err := report.ReadRecords(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		records = append(records, read...)
	}
	chart, err := report.Relative(records, "volley", engines, ops)
	if err != nil {
		return err
	}
	chart.Title = title
	for _, picture := range []struct {
		name  string
		theme report.Theme
	}{{"light", report.Light()}, {"dark", report.Dark()}} {
		path := out + "-" + picture.name + ".png"
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		err = chart.WriteThemedPNG(f, picture.theme)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintln(stdout, path)
	}
	return nil
}
