package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit statuses of the command.
const (
	statusOK          = 0
	statusFailure     = 1
	statusUsage       = 2
	statusInterrupted = 130 // 128 + SIGINT, as shells count it
)

// usageError is an error in the command line, as opposed to one in the work.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the whole command but for the process: it reads and writes only what
// it is given and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runWith(ctx, wire(), args, stdin, stdout, stderr)
}

func runWith(ctx context.Context, d deps, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	working := false
	root := newRoot(d, &working)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var usage usageError
	var exit exitStatus
	switch {
	case err == nil:
		return statusOK
	case ctx.Err() != nil && working:
		fmt.Fprintln(stderr, "volley: interrupted")
		return statusInterrupted
	case errors.As(err, &usage) || !working: // cobra's own complaints come before the work
		fmt.Fprintf(stderr, "volley: %v\nRun '%s --help' for usage.\n", err, cmd.CommandPath())
		return statusUsage
	}
	fmt.Fprintf(stderr, "volley: %v\n", err)
	if errors.As(err, &exit) {
		return exit.status
	}
	return statusFailure
}

// newRoot builds the commands for which d has the functions. It sets *working
// once a command line was understood and its command begins.
func newRoot(d deps, working *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "volley",
		Short: "Columnar kernels for whatever processor is there",
		Long: `volley shows the devices of a machine, measures what the volley library
reaches on them, converts files of columns, starts the ranks of a program, shows
what they spent their time on, and simulates collective operations.

Results go to standard output, progress and messages to standard error.
Exit status: 0 success, 1 failure or a wrong answer, 2 wrong command line,
130 interrupted.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.NoArgs,
		PersistentPreRun:  func(*cobra.Command, []string) { *working = true },
		RunE:              needSubcommand,
		DisableAutoGenTag: true,
	}
	if d.devices != nil {
		root.AddCommand(newDevices(d))
	}
	if d.flights != nil || d.columnar != nil || d.gemm != nil || d.transfer != nil {
		root.AddCommand(newBench(d))
	}
	if d.convert != nil {
		root.AddCommand(newConvert(d))
	}
	root.AddCommand(newLaunch(), newGuard(), newSimulate(d), newTimeline(), newVersion(d))
	return root
}

// needSubcommand is the action of a command that only groups others.
func needSubcommand(cmd *cobra.Command, _ []string) error {
	names := ""
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			names += " " + c.Name()
		}
	}
	return usagef("%s needs a command, one of:%s", cmd.CommandPath(), names)
}
