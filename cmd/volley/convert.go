package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/table/storage"
)

func newConvert(d deps) *cobra.Command {
	var o convertOptions
	var asJSON bool
	known := strings.Join(d.convert.formats, ", ")
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a file of columns into another format",
		Long: `convert reads the file IN and writes its columns and rows to the file OUT, which
is replaced if it is there. The ending of a name says its format: .parquet, .pq;
.csv, .txt, .tsv; .arrow, .feather, .ipc for the Arrow IPC file format; .arrows
for the stream format.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.In, o.Out = args[0], args[1]
			if err := o.settle(d.convert.formats); err != nil {
				return err
			}
			p := progress.New(cmd.ErrOrStderr())
			res, err := d.convert.run(cmd.Context(), o, p)
			p.Done()
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(res)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s rows to %s, skipped %s\n", report.Count(res.Rows), o.Out, report.Count(res.Skipped))
			return nil
		},
	}
	cmd.Flags().StringVar(&o.From, "from", "", "`format` of IN: "+known)
	cmd.Flags().StringVar(&o.To, "to", "", "`format` of OUT: "+known)
	cmd.Flags().BoolVar(&o.Lenient, "lenient", false, "count and skip rows that cannot be read")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object with the number of rows")
	return cmd
}

// settle fills in the formats and refuses what cannot be meant.
func (o *convertOptions) settle(known []string) error {
	for _, f := range []struct {
		flag, path string
		format     *string
	}{{"--from", o.In, &o.From}, {"--to", o.Out, &o.To}} {
		if *f.format == "" {
			ending, err := storage.FormatOf(f.path)
			if err != nil {
				return usagef("%s: the ending tells no format, name it with %s", f.path, f.flag)
			}
			*f.format = string(ending)
		}
		if !slices.Contains(known, *f.format) {
			return usagef("%s: unknown format %q, known are %s", f.flag, *f.format, strings.Join(known, ", "))
		}
	}
	in, err := os.Stat(o.In)
	if err != nil {
		return err
	}
	if out, err := os.Stat(o.Out); err == nil && os.SameFile(in, out) {
		return usagef("IN and OUT are the same file, %s", o.In)
	}
	return nil
}
