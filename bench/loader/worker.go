package loader

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
	"strings"
	"time"
)

// programs are those of the engines' processes.
//
//go:embed python/*.py
var programs embed.FS

// Engines lists the engines, ours first.
func Engines() []string {
	return []string{"volley", "torch-loader-0", "torch-loader-2", "torch-batch", "torch-gather", "torchdata", "tfdata", "pyarrow"}
}

// command is a line to a worker; python/worker.py says what each does.
type command struct {
	Do      string `json:"do"`
	Folder  string `json:"folder,omitempty"`
	Op      string `json:"op,omitempty"`
	Data    string `json:"data,omitempty"`
	Rows    int64  `json:"rows,omitempty"`
	Columns int64  `json:"columns,omitempty"`
	Batch   int64  `json:"batch,omitempty"`
}

// answer is a line from a worker. Which fields it has depends on the command.
type answer struct {
	Error   string  `json:"error"`
	Version string  `json:"version"`
	Lacks   string  `json:"lacks"`
	Wrong   string  `json:"wrong"`
	Rows    int64   `json:"rows"`
	Columns int64   `json:"columns"`
	Seconds float64 `json:"seconds"`
	Growth  int64   `json:"growth"`
}

// failure is what an engine could not do; its process goes on.
type failure struct{ engine, do, text string }

func (f *failure) Error() string { return fmt.Sprintf("loader: %s: %s: %s", f.engine, f.do, f.text) }

// worker is the process of an engine. It takes one command at a time.
type worker struct {
	name, version string
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	stderr        *os.File
	done          func()
}

// unpack writes the programs into a folder.
func unpack(dir string) error {
	files, err := programs.ReadDir("python")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := programs.ReadFile("python/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// start begins the process of an engine in a folder that has the programs. It
// ends with ctx.
func start(ctx context.Context, dir, python, name string, threads int) (*worker, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &worker{name: name, done: cancel}
	w.cmd = exec.CommandContext(ctx, python, filepath.Join(dir, "worker.py"), name, strconv.Itoa(threads))
	w.cmd.WaitDelay = time.Second
	err := func() (err error) {
		if w.stderr, err = os.Create(filepath.Join(dir, name+".log")); err != nil {
			return err
		}
		w.cmd.Stderr = w.stderr
		if w.in, err = w.cmd.StdinPipe(); err != nil {
			return err
		}
		out, err := w.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		w.out = bufio.NewReader(out)
		return w.cmd.Start()
	}()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("loader: %s: %w", name, err)
	}
	a, err := w.answer(ctx, "start")
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.version = a.Version
	return w, nil
}

// call sends a command and waits for its answer.
func (w *worker) call(ctx context.Context, c command) (answer, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return answer{}, err
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return answer{}, w.died(ctx, c.Do, err)
	}
	return w.answer(ctx, c.Do)
}

func (w *worker) answer(ctx context.Context, do string) (a answer, err error) {
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return a, w.died(ctx, do, err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("loader: %s: the answer to %s is no line of JSON: %w", w.name, do, err)
	}
	if a.Error != "" {
		return a, &failure{w.name, do, a.Error}
	}
	return a, nil
}

// died is the error of a process that is gone: the end of ctx where that is why.
func (w *worker) died(ctx context.Context, do string, err error) error {
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), context.Cause(ctx))
	}
	text, rerr := os.ReadFile(w.stderr.Name())
	said := strings.Join(strings.Fields(string(text)), " ")
	if len(said) > 2000 {
		said = said[len(said)-2000:]
	}
	return errors.Join(fmt.Errorf("loader: the process of %s ended during %s (%w): %s", w.name, do, err, said), rerr)
}

// close ends the process and waits for it.
func (w *worker) close() error {
	err := w.in.Close()
	stopped := time.AfterFunc(5*time.Second, w.done)
	if werr := w.cmd.Wait(); err == nil && w.cmd.ProcessState == nil {
		err = werr
	}
	stopped.Stop()
	w.done()
	return errors.Join(err, w.stderr.Close())
}
