package main

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/collective/timeline"
)

func newTimeline() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "timeline -o merged.json trace.0.json trace.1.json...",
		Short: "Put the timelines of all ranks on one clock",
		Long: `timeline reads the files that the ranks of a program write if VOLLEY_TIMELINE=trace is set,
sets their clocks by the messages between them, and writes one file in Chrome's trace
format, which https://ui.perfetto.dev and chrome://tracing show. It prints how far each
rank's clock was moved, and how exactly that is known.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || out == "" {
				return usagef("timeline needs -o and the ranks' files: volley timeline -o merged.json trace.*.json")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return mergeTimelines(cmd.OutOrStdout(), out, args) },
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write")
	return cmd
}

func mergeTimelines(stdout io.Writer, out string, paths []string) (err error) {
	var traces []io.Reader
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		traces = append(traces, named{f})
	}
	to, err := os.Create(out)
	if err != nil {
		return err
	}
	offsets, err := timeline.Merge(to, traces...)
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	for _, o := range offsets {
		if math.IsInf(o.Within, 1) {
			fmt.Fprintf(stdout, "rank %d: clock as it was: no messages to and fro\n", o.Rank)
			continue
		}
		fmt.Fprintf(stdout, "rank %d: clock moved by %.1f µs, within %.1f µs\n", o.Rank, o.Added, o.Within)
	}
	return nil
}

// named puts a file's name before what goes wrong with it.
type named struct{ *os.File }

func (n named) Read(p []byte) (int, error) {
	k, err := n.File.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: %w", n.Name(), err)
	}
	return k, err
}
