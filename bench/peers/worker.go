package peers

import (
	"context"
	"embed"

	"github.com/volley-go/volley/bench/worker"
)

// programs are those of the peers' processes.
//
//go:embed python/*.py
var programs embed.FS

// Names lists the peers.
func Names() []string {
	return []string{"duckdb", "polars", "pyarrow", "datafusion", "pandas", "numpy"}
}

// Worker is the process of one peer.
type Worker struct{ *worker.Worker }

// call sends a command and waits for its answer.
func (w *Worker) call(ctx context.Context, c command) (a answer, err error) {
	return a, w.Ask(ctx, c.Do, c, &a)
}
