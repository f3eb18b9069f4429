package collective

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/volley-go/volley/bench/pin"
)

// meetTime is how long the ranks of a world may take to come.
const meetTime = time.Minute

// world is the ranks of one engine over one transport.
type world struct {
	engine  *engine
	version string
	ranks   []*bufio.ReadWriter // by rank
	conns   []net.Conn
	procs   []*exec.Cmd
	said    *tail // what they wrote
	end     context.CancelFunc
}

// start begins an engine's processes and waits until all ranks have said hello. They
// end with ctx.
func start(ctx context.Context, e *engine, ranks int, dir string) (w *world, err error) {
	ctx, cancel := context.WithCancel(ctx)
	w = &world{engine: e, ranks: make([]*bufio.ReadWriter, ranks), said: &tail{}, end: cancel}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("collective: %s over %s with %d ranks: %w: %s", e.name, e.device, ranks, err, w.said), w.close())
			w = nil
		}
	}()
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%d", e.name, e.device, ranks))
	ln, err := net.Listen("unix", path)
	if err != nil {
		return w, err
	}
	defer ln.Close()
	commands, err := e.commands(ranks, path)
	if err != nil {
		return w, err
	}
	for i, argv := range commands {
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Stdout, c.Stderr, c.WaitDelay = w.said, w.said, 2*time.Second
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // MPI's launchers end their ranks then
		turn := i
		if e.together {
			turn = pin.Everywhere
		}
		if err := pin.Start(c, turn); err != nil {
			return w, err
		}
		w.procs = append(w.procs, c)
	}
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	for range ranks {
		err := ln.(*net.UnixListener).SetDeadline(time.Now().Add(meetTime))
		var conn net.Conn
		if err == nil {
			conn, err = ln.Accept()
		}
		if ctx.Err() != nil { // which closes the socket at any time
			err = errors.Join(ctx.Err(), context.Cause(ctx))
			if conn != nil {
				err = errors.Join(err, conn.Close())
			}
		}
		if err != nil {
			return w, fmt.Errorf("ranks did not come: %w", err)
		}
		w.conns = append(w.conns, conn)
		if err := w.hello(conn); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w *world) hello(conn net.Conn) error {
	rw := bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
	line, err := rw.ReadString('\n')
	if err != nil {
		return err
	}
	var rank int
	if _, err := fmt.Sscanf(line, "hello %d", &rank); err != nil || rank < 0 || rank >= len(w.ranks) || w.ranks[rank] != nil {
		return fmt.Errorf("a rank says %q", line)
	}
	w.ranks[rank] = rw
	w.version = strings.TrimSpace(strings.TrimPrefix(line, fmt.Sprintf("hello %d", rank)))
	return nil
}

// call gives all ranks a command and reads their answers.
func (w *world) call(ctx context.Context, c command) (all []float64, err error) {
	stop := context.AfterFunc(ctx, func() {
		for _, conn := range w.conns {
			_ = conn.SetDeadline(time.Unix(1, 0)) // fails only where it is closed
		}
	})
	defer stop()
	for r, rw := range w.ranks {
		if _, err := rw.WriteString(c.String() + "\n"); err != nil {
			return nil, w.died(ctx, r, c, err)
		}
		if err := rw.Flush(); err != nil {
			return nil, w.died(ctx, r, c, err)
		}
	}
	for r, rw := range w.ranks {
		line, rerr := rw.ReadString('\n')
		if rerr != nil {
			return nil, w.died(ctx, r, c, rerr)
		}
		v, perr := parseAnswer(line)
		if perr != nil && err == nil {
			err = fmt.Errorf("%s over %s, %s, rank %d: %w", w.engine.name, w.engine.device, c, r, perr)
		}
		all = append(all, v)
	}
	return all, err
}

func (w *world) died(ctx context.Context, rank int, c command, err error) error {
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), context.Cause(ctx))
	}
	return fmt.Errorf("collective: rank %d of %s over %s is gone during %s: %w: %s", rank, w.engine.name, w.engine.device, c, err, w.said)
}

// close lets the ranks end, and ends those that do not.
func (w *world) close() error {
	for _, c := range w.conns {
		// The ranks see the end of their commands. Closing both ways would reset the
		// connection of one whose answer was not read, which is an error there.
		_ = c.(*net.UnixConn).CloseWrite()
	}
	late := time.AfterFunc(5*time.Second, w.end)
	var errs []error
	for _, c := range w.procs {
		if err := c.Wait(); err != nil && len(w.conns) == len(w.ranks) {
			errs = append(errs, fmt.Errorf("collective: %s over %s ended badly: %w: %s", w.engine.name, w.engine.device, err, w.said))
		}
	}
	late.Stop()
	w.end()
	for _, c := range w.conns {
		_ = c.Close() // nobody is at the other end
	}
	return errors.Join(errs...)
}

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
