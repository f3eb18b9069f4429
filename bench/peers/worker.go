package peers

import (
	"bufio"
	"bytes"
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
	"strings"
	"sync"
	"time"
)

// workers are the programs of the peers' processes.
//
//go:embed python/*.py
var workers embed.FS

// Names lists the peers.
func Names() []string {
	return []string{"duckdb", "polars", "pyarrow", "datafusion", "pandas", "numpy"}
}

// Worker is the process of one peer. It takes one command at a time.
type Worker struct {
	name, version string
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	stderr        *tail
	done          func() // ends the context that the process lives in
}

// unpack writes the workers' programs into a folder.
func unpack(dir string) error {
	files, err := workers.ReadDir("python")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := workers.ReadFile("python/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// start begins the process of a peer: argv with the peer's name and the number
// of threads after it. It ends with ctx.
func start(ctx context.Context, argv []string, name string, threads int) (*Worker, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &Worker{name: name, stderr: &tail{}, done: cancel}
	w.cmd = exec.CommandContext(ctx, argv[0], append(argv[1:], name, strconv.Itoa(threads))...)
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
		return nil, fmt.Errorf("peers: %s: %w", name, err)
	}
	a, err := w.answer(ctx, "start")
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.version = a.Version
	return w, nil
}

// call sends a command and waits for its answer.
func (w *Worker) call(ctx context.Context, c command) (answer, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return answer{}, fmt.Errorf("peers: %s: %w", w.name, err)
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return answer{}, w.died(ctx, c.Do, err)
	}
	return w.answer(ctx, c.Do)
}

func (w *Worker) answer(ctx context.Context, do string) (a answer, err error) {
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return a, w.died(ctx, do, err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("peers: %s: the answer to %s is no line of JSON: %w", w.name, do, err)
	}
	if a.Error != "" {
		return a, &Failure{Peer: w.name, Do: do, Text: a.Error}
	}
	return a, nil
}

// died is the error of a process that is gone: the end of ctx where that is why.
func (w *Worker) died(ctx context.Context, do string, err error) error {
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), context.Cause(ctx))
	}
	_ = w.cmd.Wait() // so that all it wrote is here; how it ended is in the state
	return fmt.Errorf("peers: the process of %s ended during %s (%v, %w): %s", w.name, do, w.cmd.ProcessState, err, w.stderr)
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

// Failure is an operation that a peer failed at; its process goes on.
type Failure struct{ Peer, Do, Text string }

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("peers: %s: %s: %s", f.Peer, f.Do, f.Text) }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 2000
	t.text = append(t.text, p...)
	if n := len(t.text) - most; n > 0 {
		t.text = bytes.Clone(t.text[n:])
	}
	return len(p), nil
}

// String is what was kept, on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
