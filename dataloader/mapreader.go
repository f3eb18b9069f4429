package dataloader

import (
	"context"
	"errors"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// mapReader has a function make tables of rows, and gathers them.
type mapReader struct {
	rowTables
	of    *mapped
	parts []Part
	spent total // in the function
}

// stages are those of what is read, and the function.
func (r *mapReader) stages() (s stages) {
	if of, ok := r.rowTables.(staged); ok {
		s = of.stages()
	}
	s.transform += r.spent.get()
	return s
}

// Check looks whether the data is what it was.
func (r *mapReader) Check(ctx context.Context) error {
	if c, ok := r.rowTables.(checker); ok {
		return c.Check(ctx)
	}
	return nil
}

// Read makes tensors of rows, as many as are asked for.
func (r *mapReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	return bothSteps(ctx, r, -1, rows, to)
}

// gather reads the rows' table.
func (r *mapReader) gather(ctx context.Context, ticket int64, rows []int64, _ []Tensor) (gathered, error) {
	given, err := firstStepOfTable(ctx, r.rowTables, ticket, rows)
	if err != nil {
		return nil, err
	}
	return &givenTable{r, given}, nil
}

// givenTable is what the function is given of a batch.
type givenTable struct {
	of    *mapReader
	given gatheredTable
}

func (g *givenTable) drop() { g.given.drop() }

// evaluate calls the function, and gathers what it makes.
func (g *givenTable) evaluate(ctx context.Context, room func(n int64) []Tensor) (int64, error) {
	r := g.of
	made, err := r.made(ctx, g.given)
	if err != nil {
		return 0, err
	}
	defer made.Release()
	host, err := addressable(ctx, made)
	if err != nil {
		return 0, err
	}
	defer host.Release()
	from, err := newTableReader(ctx, host, memory.Heap, r.parts, 0, nil)
	if err != nil {
		return 0, r.wrong(err)
	}
	n := host.NumRows()
	all := alignedNumbers(n)
	for i := range all {
		all[i] = int64(i)
	}
	return n, errors.Join(r.wrong(from.Read(ctx, all, room(n))), from.Close())
}

// wrong is an error about what the function made: where that has other rows than those
// asked for no row of these is bad.
func (r *mapReader) wrong(err error) error {
	if err == nil {
		return nil
	}
	if bad := badOf(err); bad != nil && r.of.mostRows() > 0 {
		var of *BadRows
		errors.As(err, &of)
		err = of.Err
	}
	return &mapError{r.of.by.Name, err}
}

// made is what the function makes of rows.
func (r *mapReader) made(ctx context.Context, of gatheredTable) (*table.Table, error) {
	given, err := of.table(ctx)
	if err != nil {
		return nil, err
	}
	defer given.Release()
	defer r.spent.since(time.Now())
	there, err := given.To(ctx, r.of.backend)
	if err != nil {
		return nil, err
	}
	defer there.Release()
	return r.of.call(ctx, there)
}

// mapRows gives what the function makes as tables.
type mapRows struct {
	*mapReader
	columns []int
}

func (r *mapRows) table(ctx context.Context, ticket int64, rows []int64) (*table.Table, error) {
	return bothStepsOfTable(ctx, r, ticket, rows)
}

func (r *mapRows) gatherTable(ctx context.Context, ticket int64, rows []int64) (gatheredTable, error) {
	given, err := firstStepOfTable(ctx, r.rowTables, ticket, rows)
	if err != nil {
		return nil, err
	}
	return &mappedTable{r, given}, nil
}

// mappedTable is what the function of mapRows is given of a batch.
type mappedTable struct {
	of    *mapRows
	given gatheredTable
}

func (g *mappedTable) drop() { g.given.drop() }

func (g *mappedTable) table(ctx context.Context) (*table.Table, error) {
	made, err := g.of.made(ctx, g.given)
	if err != nil {
		return nil, err
	}
	defer made.Release()
	return narrowed(made, g.of.columns)
}

// narrowed is some columns of a table, as a reference of its own.
func narrowed(t *table.Table, columns []int) (*table.Table, error) {
	schema := fieldsOf(t.Schema(), columns)
	var chunks []*table.Batch
	for _, b := range t.Chunks() {
		var own []*memory.Column
		for _, c := range columns {
			own = append(own, b.Column(c).Retain())
		}
		one, err := table.NewBatch(schema, b.Len(), own)
		if err != nil {
			releaseAll(chunks)
			return nil, err
		}
		chunks = append(chunks, one)
	}
	return table.NewTable(t.Backend(), schema, chunks)
}

// spread makes a slot's tensors those of so many rows.
func (l *Loader) spread(s *slot, rows int64) {
	for i := range l.plan.parts {
		if l.there != nil {
			s.tensors[i] = l.plan.parts[i].shaped(rows)
			continue
		}
		s.tensors[i] = l.plan.parts[i].over(rows, s.data[i], s.valid[i], s.offsets[i])
	}
}

// height is how many rows the tensors of the largest batch have.
func (l *Loader) height() int64 {
	if most := mostRows(l.source); most > 0 {
		return most
	}
	return l.sampler.most()
}

// checkResizing is an error for windows of batches whose rows are others than the source's.
func checkResizing(s Source, what string) error {
	if mostRows(s) == 0 {
		return nil
	}
	return device.Errorf(device.ErrUnsupported, "", "dataloader", "the function of MapBatches changes the number of rows: %s are made of rows that stay", what)
}
