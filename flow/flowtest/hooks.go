package flowtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/memory"
)

// schedule lets workers go on in a random order: those that come while others are held are held
// too, and which of them is next is drawn.
type schedule struct {
	lock sync.Mutex
	rand *rand.Rand
	held []chan struct{}
}

func newSchedule(seed uint64) *schedule {
	return &schedule{rand: rand.New(rand.NewPCG(seed, 3))}
}

// Shuffled is a context whose pipelines have so many workers, that go on in an order that a seed draws.
func Shuffled(ctx context.Context, workers int, seed uint64) context.Context {
	return exec.WithHooks(ctx, &exec.Hooks{Workers: workers, Turn: newSchedule(seed).turn})
}

// turn returns when the worker may go on.
func (s *schedule) turn(context.Context) {
	own := make(chan struct{})
	s.lock.Lock()
	s.held = append(s.held, own)
	waits := s.rand.IntN(4)
	s.lock.Unlock()
	for range waits { // others may come
		runtime.Gosched()
	}
	s.lock.Lock()
	at := s.rand.IntN(len(s.held))
	next := s.held[at]
	s.held = append(s.held[:at], s.held[at+1:]...)
	s.lock.Unlock()
	close(next)
	<-own // each that comes lets one go, so that none is held for ever
}

// checker looks at every batch between two steps.
type checker struct {
	host    bool
	lock    sync.Mutex
	schemas map[any]*arrow.Schema // of what comes before a step
	seen    atomic.Int64          // batches
	at      int64                 // the batch before which act is called; 0 for none
	act     func() error
}

func (c *checker) check(step any, b *flow.Batch) error {
	if c.seen.Add(1) == c.at {
		if err := c.act(); err != nil {
			return err
		}
	}
	if b.Len() == 0 {
		return errors.New("a batch of no rows")
	}
	if _, same := step.(exec.Keep); step != nil && !same { // of which there are many that are one
		schema := b.Schema()
		if exec.Mask(b) != nil { // a filter decides batch by batch whether it gives one
			schema = arrow.NewSchema(schema.Fields()[:schema.NumFields()-1], nil)
		}
		c.lock.Lock()
		before := c.schemas[step]
		if before == nil {
			c.schemas[step] = schema
		}
		c.lock.Unlock()
		if before != nil && !before.Equal(schema) {
			return fmt.Errorf("batches of %s and of %s", before, schema)
		}
	}
	if b.Schema().NumFields() != b.NumColumns() {
		return fmt.Errorf("%d columns of %s", b.NumColumns(), b.Schema())
	}
	for i, col := range b.Columns() {
		f := b.Schema().Field(i)
		if err := c.column(f, b.Len(), col); err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return nil
}

func (c *checker) column(f arrow.Field, rows int64, col *memory.Column) error {
	if !arrow.TypeEqual(f.Type, col.Type()) {
		return fmt.Errorf("type %s under %s", col.Type(), f.Type)
	}
	if col.Len() != rows {
		return fmt.Errorf("%d rows of %d", col.Len(), rows)
	}
	if !c.host {
		return nil
	}
	if err := col.Validate(); err != nil {
		return err
	}
	nulls := int64(0)
	for i := range rows {
		if col.IsNull(i) {
			nulls++
		}
	}
	if nulls != col.NullCount() {
		return fmt.Errorf("%d nulls, and not %d", nulls, col.NullCount())
	}
	return nil
}

// reread is a state as it is after it was written and read, of the same sink. What it says of itself must be
// what is written.
func reread(ctx context.Context, s exec.Sink, made exec.SinkState) (exec.SinkState, error) {
	written, err := made.Write(ctx)
	if err != nil {
		return made, err
	}
	rows, size := exec.RowsOf(written), exec.SizeOf(written)
	if made.Rows() != rows || made.Size() != size {
		exec.ReleaseAll(written)
		return made, fmt.Errorf("%T of %d rows and %d bytes writes %d rows and %d bytes", made, made.Rows(), made.Size(), rows, size)
	}
	fresh, err := s.Make(ctx)
	if err != nil {
		exec.ReleaseAll(written)
		return made, err
	}
	made.Close() // what is read must not lean on it
	if fresh.Rows() != 0 || fresh.Size() != 0 {
		exec.ReleaseAll(written)
		return fresh, fmt.Errorf("a new %T holds %d rows and %d bytes", fresh, fresh.Rows(), fresh.Size())
	}
	if err := fresh.Read(ctx, written); err != nil {
		return fresh, err
	}
	if fresh.Rows() != rows || fresh.Size() != size {
		return fresh, fmt.Errorf("%T of %d rows and %d bytes reads as %d rows and %d bytes", fresh, rows, size, fresh.Rows(), fresh.Size())
	}
	return fresh, nil
}
