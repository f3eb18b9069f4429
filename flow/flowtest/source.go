package flowtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// fault is what a source does in place of giving batch at.
type fault int

const (
	faultNone fault = iota
	faultFails
	faultPanics
	faultHangs // until its context ends
)

// errBroken is what a source fails with.
var errBroken = errors.New("a broken page")

// source gives batches, and does what it is told to.
type source struct {
	schema  *arrow.Schema
	batches []*flow.Batch
	parts   bool // workers read them
	fault   fault
	at      int
	hangs   func() // is called when it begins to

	lock         sync.Mutex
	open, closed int // readers
	met          bool
}

func (s *source) Schema(context.Context) (*arrow.Schema, error) { return s.schema, nil }
func (s *source) Name() string                                  { return "source.test" }

// Scan gives the batches from the first on.
func (s *source) Scan(_ context.Context, b *kernels.Backend, o flow.ScanOptions) (flow.BatchReader, error) {
	return s.reader(b, o, 0, len(s.batches)), nil
}

// reader reads batches of the source.
func (s *source) reader(b *kernels.Backend, o flow.ScanOptions, from, end int) *reader {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.open++
	return &reader{of: s, backend: b, columns: o.Columns, at: from, end: end}
}

// splitting is a source whose parts workers read.
type splitting struct{ *source }

// partBatches is how many batches are a part.
const partBatches = 5

// Filters says that nothing is left out.
func (s splitting) Filters(*expr.Expr) bool { return false }

// Splits gives the parts.
func (s splitting) Splits(_ context.Context, b *kernels.Backend, o flow.ScanOptions) (flow.Splits, error) {
	return &splits{reader: s.reader(b, o, 0, 0), options: o}, nil
}

type splits struct {
	*reader
	options flow.ScanOptions
	from    int
}

func (s *splits) Next(context.Context) (flow.Split, error) {
	if s.from >= len(s.of.batches) && s.from > 0 {
		return nil, io.EOF
	}
	from := s.from
	s.from += partBatches
	return split{s.of.reader(s.backend, s.options, from, min(s.from, len(s.of.batches)))}, nil
}

type split struct{ *reader }

func (s split) Close() { _ = s.reader.Close() }

type reader struct {
	of      *source
	backend *kernels.Backend
	columns []string // nil for all
	at, end int      // of its batches
	busy    sync.Mutex
	closed  bool
}

func (r *reader) Next(ctx context.Context) (*flow.Batch, error) {
	if !r.busy.TryLock() {
		return nil, errors.New("two goroutines read one source")
	}
	defer r.busy.Unlock()
	if r.closed {
		return nil, errors.New("a closed source is read")
	}
	if r.of.fault != faultNone && r.at == r.of.at {
		if err := r.of.meet(ctx); err != nil {
			return nil, err
		}
	}
	if r.at >= r.end {
		return nil, io.EOF
	}
	r.at++
	return r.batch(ctx, r.of.batches[r.at-1])
}

// meet does what the source is told to.
func (s *source) meet(ctx context.Context) error {
	s.lock.Lock()
	s.met = true
	s.lock.Unlock()
	switch s.fault {
	case faultPanics:
		panic(errBroken.Error())
	case faultHangs:
		s.hangs()
		<-ctx.Done()
		return ctx.Err()
	}
	return errBroken
}

// batch is the columns that are wanted, where the backend works, in memory that it counts.
func (r *reader) batch(ctx context.Context, b *flow.Batch) (_ *flow.Batch, err error) {
	schema := r.of.schema
	if r.columns != nil {
		var fields []arrow.Field
		for _, name := range r.columns {
			fields = append(fields, schema.Field(schema.FieldIndices(name)[0]))
		}
		schema = arrow.NewSchema(fields, nil)
	}
	s, err := r.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var columns []*memory.Column
	for _, f := range schema.Fields() {
		c, err := r.backend.OnDevice(ctx, s, b.ColumnNamed(f.Name))
		if err != nil {
			for _, c := range columns {
				c.Release()
			}
			return nil, err
		}
		columns = append(columns, c)
	}
	if err := s.Wait(ctx); err != nil {
		return nil, err
	}
	return flow.NewBatch(schema, b.Len(), columns)
}

func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.of.lock.Lock()
	defer r.of.lock.Unlock()
	r.of.closed++
	return nil
}

// ended says what is wrong with a source after a run.
func (s *source) ended() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.open != s.closed {
		return fmt.Errorf("%d readers were opened, %d closed", s.open, s.closed)
	}
	return nil
}

// Open is a source of a query as one of a pipeline: batches of no rows are left out.
func Open(ctx context.Context, in flow.Source, b *kernels.Backend) (exec.Source, error) {
	r, err := in.Scan(ctx, b, flow.ScanOptions{})
	if err != nil {
		return nil, err
	}
	return opened{r}, nil
}

type opened struct{ flow.BatchReader }

func (o opened) Next(ctx context.Context) (*flow.Batch, error) {
	for {
		b, err := o.BatchReader.Next(ctx)
		if err != nil || b.Len() > 0 {
			return b, err
		}
		b.Release()
	}
}

func (o opened) Close() { _ = o.BatchReader.Close() } // which says nothing
