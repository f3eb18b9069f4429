package peers

import (
	"context"
	"embed"
	"errors"

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
type Worker struct {
	*worker.Worker
	start func(ctx context.Context) (*worker.Worker, error)
	gone  bool // it ended without being asked to
}

// call sends a command and waits for its answer.
func (w *Worker) call(ctx context.Context, c command) (a answer, err error) {
	err = w.Ask(ctx, c.Do, c, &a)
	var d *worker.Died
	w.gone = w.gone || errors.As(err, &d)
	return a, err
}

// revive starts the process again where it is gone.
func (w *Worker) revive(ctx context.Context) error {
	if !w.gone {
		return nil
	}
	again, err := w.start(ctx)
	if err != nil {
		return err
	}
	err = w.Close()
	w.Worker, w.gone = again, false
	return err
}
