// Command volley shows the devices of a machine, measures what volley reaches
// on them, and converts files of columns.
//
// Results go to standard output, as tables or, with --json, as one JSON object
// a line; progress and messages go to standard error. The exit status is 0 on
// success, 1 on failure (a wrong answer is one), 2 when the command line is
// wrong, and 130 after an interrupt.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(untilSignal(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}))
}

// untilSignal calls fn with a context that ends at the first SIGINT or
// SIGTERM. A second one ends the process at once.
func untilSignal(fn func(context.Context) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return fn(ctx)
}
