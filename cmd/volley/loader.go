package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// loaderPython is where scripts/loader_peers.sh puts the interpreter that has the
// loaders.
var loaderPython = filepath.Join("out", "venv", "loader", "bin", "python")

func newLoader(d deps, f *benchFlags) *cobra.Command {
	o, rows := loaderOptions{}, rowCount(1_000_000)
	var peers bool
	var against []string
	cmd := &cobra.Command{
		Use:   "loader",
		Short: "Epochs of shuffled training batches as PyTorch tensors, by the Python package",
		Long: `loader times epochs of shuffled batches as contiguous tensors, from memory and
from a Parquet file. With --peers it races PyTorch's DataLoader, gathers by hand,
torchdata, tf.data and pyarrow: bash scripts/loader_peers.sh installs those, and
this package.

Sets of data are "made", --rows of --columns float32; "flights", those of the
repository joined with the places of their airports, of mixed types; and files or
folders of Parquet, CSV or Arrow IPC, whose numbers are taken.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if o.Batch < 1 || o.Columns < 1 || rows >= 1<<24 {
				return usagef("--batch %d, --columns %d, --rows %d: at least 1 of each, and fewer than 16777216 rows, which float32 tells apart", o.Batch, o.Columns, rows)
			}
			known := d.loader.engines
			o.Engines = known[:1]
			if peers {
				o.Engines = append(slices.Clone(known[:1]), against...)
			}
			for i, name := range o.Engines {
				if !slices.Contains(known, name) || slices.Contains(o.Engines[:i], name) {
					return usagef("--against: unknown or repeated engine %q, known are %s", name, strings.Join(known[1:], ", "))
				}
			}
			for i, op := range o.Ops {
				if !slices.Contains(d.loader.ops, op) || slices.Contains(o.Ops[:i], op) {
					return usagef("--ops: unknown or repeated operation %q, known are %s", op, strings.Join(d.loader.ops, ", "))
				}
			}
			for i, name := range o.Data {
				if name == "" || slices.Contains(o.Data[:i], name) {
					return usagef("--data: an empty or repeated set %q", name)
				}
				look := name
				switch {
				case !slices.Contains(d.loader.data, name):
				case name == "flights":
					look = filepath.Join(o.Flights, filepath.Base(defaultFlights))
				default:
					continue
				}
				if _, err := os.Stat(look); err != nil {
					return usagef("--data %s: %v", name, err)
				}
			}
			if _, err := exec.LookPath(o.Python); err != nil {
				return usagef("--python %s: there is no such interpreter: make it with bash scripts/loader_peers.sh, or name another", o.Python)
			}
			return bench(cmd, d, f, "loader", func(ctx context.Context, b benchOptions, to report.Sink, p progress.Progress) error {
				o.benchOptions, o.Rows = b, int64(rows)
				return d.loader.run(ctx, o, to, p)
			})
		},
	}
	p := cmd.Flags()
	p.Var(&rows, "rows", "rows of the data that is made")
	p.Int64Var(&o.Columns, "columns", 32, "`columns` of the data that is made")
	p.Int64Var(&o.Batch, "batch", 4096, "`rows` of a batch")
	p.StringSliceVar(&o.Data, "data", d.loader.data, "`sets` of data: made, flights, files or folders")
	p.StringVar(&o.Flights, "flights", filepath.Dir(defaultFlights), "`folder` of flights-1m.parquet and airports.csv")
	p.StringVar(&o.Python, "python", loaderPython, "`interpreter` that has volley and the engines")
	p.BoolVar(&peers, "peers", false, "race against other loaders: bash scripts/loader_peers.sh installs them")
	p.StringSliceVar(&o.Ops, "ops", d.loader.ops, "`operations` to race at")
	p.StringSliceVar(&against, "against", d.loader.engines[1:], "`engines` to race against")
	return cmd
}
