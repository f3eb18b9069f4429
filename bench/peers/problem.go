package peers

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// problem is an operation that engines race at.
type problem struct {
	name string
	// inputs makes the tables for n rows: "t", or "l" and "r".
	inputs func(n int64) map[string]arrow.RecordBatch
	// file is the kind of file that the table "t" is written to and read from:
	// snappy, zstd, csv, or nothing where the table itself is the input.
	file string
	// columns of the result. The first `order` exact ones are at their places,
	// and so are floats where places is set.
	columns []kind
	order   int
	places  bool
	// anyOrder says that peers promise no order, so that ours runs with and
	// without one.
	anyOrder bool
	// read is the bytes of n rows of input that have to be read; nil for all.
	read func(n int64) int64
	// ours makes the operation over the inputs, as the ways that there are.
	ours func(o *onOurs) ([]ourWay, error)
}

// inOrder reports whether the result's rows have places.
func (p *problem) inOrder() bool { return p.order > 0 || p.places }

// onOurs is what our side of a problem works on.
type onOurs struct {
	backend  *kernels.Backend
	tables   map[string]*table.Table
	stream   device.Stream // that kernels were given, if any
	path     string        // of the file to read
	anyOrder bool
}

// ourWay is one way to do the operation here.
type ourWay struct {
	name string
	run  func(ctx context.Context) (outcome, error)
}

// outcome is a result of ours.
type outcome interface {
	// batches gives the result as Arrow, on the host.
	batches() ([]arrow.RecordBatch, error)
	Release()
}

// tableOutcome is a table.
type tableOutcome struct{ *table.Table }

func (t tableOutcome) batches() ([]arrow.RecordBatch, error) { return t.ToRecords() }

// query is the way that collects a query.
func query(q *table.Query) []ourWay {
	return []ourWay{{"query", func(ctx context.Context) (outcome, error) {
		t, err := q.Collect(ctx)
		if err != nil {
			return nil, err
		}
		return tableOutcome{t}, nil
	}}}
}

// columnsOutcome are columns of one length on the host.
type columnsOutcome []*memory.Column

// Release implements outcome.
func (c columnsOutcome) Release() {
	for _, col := range c {
		col.Release()
	}
}

func (c columnsOutcome) batches() ([]arrow.RecordBatch, error) {
	columns := make([]column, len(c))
	for i, col := range c {
		a, err := memory.ToArrow(col)
		if err != nil {
			return nil, err
		}
		columns[i] = column{"", a}
	}
	return []arrow.RecordBatch{record(columns...)}, nil
}

// problems lists the operations in the order in which they run.
var problems = func() (all []problem) {
	for _, part := range [][]problem{scans, groupings, joins, orders, files} {
		all = append(all, part...)
	}
	return all
}()

// Operations lists the names of the operations in the order in which they run.
func Operations() []string {
	names := make([]string, len(problems))
	for i, p := range problems {
		names[i] = p.name
	}
	return names
}
