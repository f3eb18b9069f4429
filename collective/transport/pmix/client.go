package pmix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

// Unknown is a LocalRank or LocalSize that the server did not say.
const Unknown = -1

// Client is this process as the PMIx server that started it knows it. It is used by one
// goroutine.
type Client struct {
	Rank, Size           int
	LocalRank, LocalSize int    // among the ranks of this machine, or Unknown
	Namespace            string // the job's, the same on all ranks

	d      *driver
	self   *proc
	server string     // which one it is, "" where that is not known
	stuck  error      // a call that did not come back in time
	under  chan int32 // that call's end
	closed bool
}

// Started says whether a PMIx server started this process, by its variables.
func Started(getenv func(string) string) bool { return getenv(variables[0]) != "" }

// Open connects with the server, which must be the one that getenv's variables, those of
// this process's environment, tell of. The error names these variables, and what the library
// waited for if ctx has ended. Close has to be called: some launchers end a job one of whose
// processes ended as a client.
func Open(ctx context.Context, getenv func(string) string) (*Client, error) {
	c, err := open(ctx, getenv)
	if err != nil {
		return nil, fmt.Errorf("PMIx (%s): %w", seen(getenv), err)
	}
	return c, nil
}

func open(ctx context.Context, getenv func(string) string) (*Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := load(getenv)
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, d, getenv(variables[0]))
	if err == nil {
		c.server = serverOf(getenv)
	}
	return c, err
}

// connect makes a client of a library that is loaded.
func connect(ctx context.Context, d *driver, rank string) (*Client, error) {
	if d.once && d.left.Load() {
		return nil, fmt.Errorf("%s (%s) was left by this process, which can enter it once only: make one Comm through it and others of that, by Split, or set VOLLEY_ADDRESS", d.path, d.version)
	}
	c := &Client{d: d, self: &proc{}}
	if err := c.call(ctx, "PMIx_Init", "the server's answer", func() int32 { return d.initialize(c.self) }); err != nil {
		return nil, err
	}
	err := c.learn(ctx, rank)
	if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

// learn asks who this process is.
func (c *Client) learn(ctx context.Context, rank string) (err error) {
	c.Rank = int(c.self.rank)
	name, _, _ := bytes.Cut(c.self.namespace[:], []byte{0})
	c.Namespace = string(name)
	if own, err := strconv.ParseUint(rank, 10, 32); err != nil || own != uint64(c.self.rank) {
		return fmt.Errorf("PMIX_RANK is %q, and the library says rank %d of %s: its environment is another one", rank, c.self.rank, c.Namespace)
	}
	job := &proc{namespace: c.self.namespace, rank: rankWildcard}
	if c.Size, err = c.number(ctx, job, keyJobSize, false); err != nil {
		return err
	}
	if c.LocalRank, err = c.number(ctx, c.self, keyLocalRank, true); err != nil {
		return err
	}
	if c.LocalSize, err = c.number(ctx, job, keyLocalSize, true); err != nil {
		return err
	}
	if c.Size < 1 || c.Rank >= c.Size {
		return fmt.Errorf("rank %d of %d", c.Rank, c.Size)
	}
	return nil
}

// number gets a number that the server has, Unknown where it has none and may.
func (c *Client) number(ctx context.Context, of *proc, key string, may bool) (n int, err error) {
	v, _, err := c.ask(ctx, of, key, key, nil)
	switch {
	case may && isCode(err, errNotFound):
		return Unknown, nil
	case err != nil:
		return 0, err
	}
	if n, err = v.number(); err != nil {
		return 0, fmt.Errorf("%s is %w", key, err)
	}
	return n, nil
}

// ask gets a value, and the bytes of one that has some; what says which one it is.
func (c *Client) ask(ctx context.Context, of *proc, key, what string, with []info) (value, []byte, error) {
	type answer struct {
		v     value
		bytes []byte
	}
	var got atomic.Pointer[answer] // a call that is given up may still answer
	err := c.call(ctx, "PMIx_Get", what, func() int32 {
		v, bytes, code := c.d.get(of, key, append(limits(ctx), with...))
		got.Store(&answer{v, bytes})
		return code
	})
	if err != nil {
		return value{}, nil, err
	}
	a := got.Load()
	return a.v, a.bytes, nil
}

// Close leaves the server, after a call that did not come back in time has: what it waits
// with cannot be taken from it. When ctx ends first the library is left alone, and Close may
// be called again. Once it has left, it does nothing.
func (c *Client) Close(ctx context.Context) error {
	if c.closed {
		return nil
	}
	if c.stuck != nil {
		select {
		case <-c.under:
			c.stuck = nil
		case <-ctx.Done():
			return fmt.Errorf("PMIx_Finalize waited for the end of a call: %w", c.stuck)
		}
	}
	c.closed = true
	c.d.left.Store(true)
	return c.call(ctx, finalize, "the server's answer", c.d.finalize)
}

const finalize = "PMIx_Finalize"

// limits tells the server when ctx ends.
func limits(ctx context.Context) []info {
	end, has := ctx.Deadline()
	if !has {
		return nil
	}
	left := min(max(1, math.Ceil(time.Until(end).Seconds())), math.MaxInt32)
	return []info{seconds(keyTimeout, int32(left))}
}

func waited(name, what string, cause error) error {
	return fmt.Errorf("%s waited for %s: %w", name, what, cause)
}

// call makes a call of the library beside this goroutine and waits for it until ctx ends;
// what says what the call waits for.
func (c *Client) call(ctx context.Context, name, what string, f func() int32) error {
	switch {
	case c.stuck != nil:
		return c.stuck
	case c.closed && name != finalize:
		return fmt.Errorf("%s: the client has left the server", name)
	}
	done := make(chan int32, 1)
	go func() { done <- f() }()
	var code int32
	select {
	case code = <-done:
	case <-ctx.Done():
		select {
		case code = <-done:
		default:
			c.under = done
			c.stuck = waited(name, what, context.Cause(ctx))
			return c.stuck
		}
	}
	switch {
	case code == success:
		return nil
	case code == errTimeout:
		cause := error(context.DeadlineExceeded)
		if ctx.Err() != nil {
			cause = context.Cause(ctx)
		}
		return waited(name, what, cause)
	}
	return &Error{Call: name, Code: int(code), Text: c.d.text(code), What: what}
}
