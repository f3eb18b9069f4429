package worker

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Worker is the process of one engine. It takes one command at a time.
type Worker struct {
	Name, Version string

	suite  string // for errors
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
	done   func() // ends the context that the process lives in
}

// Failure is what an engine could not do; its process goes on.
type Failure struct{ Suite, Engine, Do, Text string }

// Error implements error.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %s: %s: %s", f.Suite, f.Engine, f.Do, f.Text)
}

// Died is the end of an engine's process that nobody here asked for: a crash, or a
// system short of memory.
type Died struct {
	Suite, Engine, Do string
	State             string // how it ended
	Text              string // the end of what it wrote to standard error
	err               error
}

// Error implements error.
func (d *Died) Error() string {
	return fmt.Sprintf("%s: the process of %s ended during %s (%s, %v): %s", d.Suite, d.Engine, d.Do, d.State, d.err, d.Text)
}

// Unwrap gives what reading from it or writing to it failed with.
func (d *Died) Unwrap() error { return d.err }

// Lacks is why an engine does not race on: what it failed at, or that its process ended. Any other error is given back.
func Lacks(err error) (string, error) {
	var f *Failure
	var d *Died
	if !errors.As(err, &f) && !errors.As(err, &d) {
		return "", err
	}
	return err.Error(), nil
}

// shared is what all programs import.
//
//go:embed python/*.py
var shared embed.FS

// Unpack writes the programs of a folder named python, and what all programs share, into another.
func Unpack(programs embed.FS, dir string) error {
	for _, from := range []embed.FS{shared, programs} {
		files, err := from.ReadDir("python")
		if err != nil {
			return err
		}
		for _, f := range files {
			text, err := from.ReadFile("python/" + f.Name())
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// Start begins the process of an engine: argv with the engine's name and the number
// of threads after it. It ends with ctx. An engine that cannot start is a Failure.
func Start(ctx context.Context, suite string, argv []string, name string, threads int) (*Worker, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &Worker{Name: name, suite: suite, stderr: &tail{}, done: cancel}
	w.cmd = exec.CommandContext(ctx, argv[0], append(argv[1:len(argv):len(argv)], name, strconv.Itoa(threads))...)
	w.cmd.WaitDelay = time.Second
	w.cmd.Stderr = w.stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err == nil {
		var out io.ReadCloser
		if out, err = w.cmd.StdoutPipe(); err == nil {
			w.out = bufio.NewReader(out)
			err = w.cmd.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%s: %s: %w", suite, name, err)
	}
	var began struct{ Version string }
	if err := w.answer(ctx, "start", &began); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.Version = began.Version
	return w, nil
}

// Ask sends a command, what is done by it named for errors, and waits for its
// answer.
func (w *Worker) Ask(ctx context.Context, do string, command, answer any) error {
	line, err := json.Marshal(command)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", w.suite, w.Name, err)
	}
	if ctx.Err() != nil { // the process may still answer before it is ended
		return errors.Join(ctx.Err(), context.Cause(ctx))
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return w.died(ctx, do, err)
	}
	return w.answer(ctx, do, answer)
}

func (w *Worker) answer(ctx context.Context, do string, to any) error {
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return w.died(ctx, do, err)
	}
	var failed struct{ Error string }
	if err = json.Unmarshal(line, &failed); err == nil {
		err = json.Unmarshal(line, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: the answer to %s is no line of JSON: %w", w.suite, w.Name, do, err)
	}
	if failed.Error != "" {
		return &Failure{w.suite, w.Name, do, failed.Error}
	}
	return nil
}

// died is the error of a process that is gone, a Died; the end of ctx where that is why.
func (w *Worker) died(ctx context.Context, do string, err error) error {
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), context.Cause(ctx))
	}
	_ = w.cmd.Wait() // so that all it wrote is here; how it ended is in the state
	return &Died{w.suite, w.Name, do, fmt.Sprint(w.cmd.ProcessState), w.stderr.String(), err}
}

// Close ends the process and waits for it.
func (w *Worker) Close() error {
	err := w.in.Close()
	if w.cmd.ProcessState != nil { // died has waited for it
		w.done()
		return nil
	}
	stopped := time.AfterFunc(5*time.Second, w.done)
	if werr := w.cmd.Wait(); err == nil && w.cmd.ProcessState == nil {
		err = werr
	}
	stopped.Stop()
	w.done()
	return err
}
