package loader

import (
	"context"
	"embed"

	"github.com/volley-go/volley/bench/worker"
)

// programs are those of the engines' processes.
//
//go:embed python/*.py
var programs embed.FS

// Engines lists the engines, ours first.
func Engines() []string {
	return []string{"volley", "volley-default", "torch-loader-0", "torch-loader-2", "torch-batch", "torch-gather", "torchdata", "tfdata", "pyarrow"}
}

// Ops lists what is raced at: shuffled batches from memory, of a Parquet file in its
// order, and of one shuffled.
func Ops() []string { return []string{"memory", "parquet", "parquet-shuffled"} }

// command is a line to a worker; python/worker.py says what each does.
type command struct {
	Do      string `json:"do"`
	Folder  string `json:"folder,omitempty"`
	Op      string `json:"op,omitempty"`
	Data    string `json:"data,omitempty"`
	Flights string `json:"flights,omitempty"`
	Rows    int64  `json:"rows,omitempty"`
	Columns int64  `json:"columns,omitempty"`
	Batch   int64  `json:"batch,omitempty"`
}

// answer is a line from a worker. Which fields it has depends on the command.
type answer struct {
	Lacks   string  `json:"lacks"`
	Wrong   string  `json:"wrong"`
	Rows    int64   `json:"rows"`
	Columns int64   `json:"columns"`
	Seconds float64 `json:"seconds"`
	Growth  int64   `json:"growth"`
}

// engine is the process of one.
type engine struct {
	*worker.Worker // nil where it could not start
	name           string
	why            string // there is no process any more, "" where there is
}

// call sends a command and waits for its answer.
func (w *engine) call(ctx context.Context, c command) (a answer, err error) {
	return a, w.Ask(ctx, c.Do, c, &a)
}
