package distributed

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Distinct keeps the first of rows, over all ranks, that are equal in the named columns, in
// all if none is named. Nulls are equal, and NaNs.
//
// The rows that are kept stay on their ranks, in their order: only keys move, of each
// rank's distinct rows or, where those would be hardly fewer, of all, and the numbers of the rows that are kept come back.
func (d *Table) Distinct(ctx context.Context, columns ...string) (*Table, error) {
	s := &selection{op: d.start(ctx, "Distinct", "on "+strings.Join(columns, ", ")), d: d, columns: columns}
	if len(columns) == 0 {
		s.columns = names(d.Schema())
	}
	s.do(func() error {
		_, err := d.part.Query().Distinct(columns...).Explain(ctx)
		return err
	})
	if s.meet() != nil {
		return nil, s.ended
	}
	if d.NumColumns() == 0 {
		return s.anyRow()
	}
	if d.by.Together(s.columns...) || s.comm.Size() == 1 {
		made := s.table(func() (*table.Table, error) { return d.part.Query().Distinct(columns...).Collect(ctx) })
		defer made.Release()
		return s.finish(made, d.by)
	}
	return s.kept(nil, table.Inner)
}

// Intersect is the distinct rows of the table that other has too, as table.Query.Intersect gives
// them: where they first come, in their order. Other must have the columns of d, in any order.
func (d *Table) Intersect(ctx context.Context, other *Table) (*Table, error) {
	return d.set(ctx, "Intersect", other, table.Semi)
}

// Except is the distinct rows of the table that other has not, as Intersect has those
// that it has.
func (d *Table) Except(ctx context.Context, other *Table) (*Table, error) {
	return d.set(ctx, "Except", other, table.Anti)
}

// set is Intersect or Except.
func (d *Table) set(ctx context.Context, call string, other *Table, kind table.Kind) (*Table, error) {
	s := &selection{op: d.start(ctx, call, ""), d: d, columns: names(d.Schema())}
	s.do(func() error {
		if other == nil {
			return fmt.Errorf("%w: no table given", device.ErrMismatch)
		}
		if other.comm != d.comm {
			return fmt.Errorf("%w: the other table is on another Comm", device.ErrMismatch)
		}
		q := d.part.Query().Intersect(other.part)
		_, err := q.Explain(ctx)
		return err
	})
	if s.meet() != nil {
		return nil, s.ended
	}
	if d.by.Scheme == Replicated && other.by.Scheme == Replicated || s.comm.Size() == 1 || d.by.beside(other.by, s.columns) {
		made := s.table(func() (*table.Table, error) {
			if kind == table.Semi {
				return d.part.Query().Intersect(other.part).Collect(ctx)
			}
			return d.part.Query().Except(other.part).Collect(ctx)
		})
		defer made.Release()
		return s.finish(made, d.by)
	}
	return s.kept(other, kind)
}

// selection is an operation that keeps rows where they are: the first of those that are equal in columns,
// and of these the ones that another table has, or has not.
type selection struct {
	*op
	d       *Table
	columns []string
}

// anyRow is the first row of a table without columns: its rows are all equal.
func (s *selection) anyRow() (*Table, error) {
	made := s.table(func() (*table.Table, error) {
		n := min(1, s.d.part.NumRows())
		if s.d.by.Scheme != Replicated && s.d.before() > 0 {
			n = 0
		}
		return sliced(s.d.part, 0, n)
	})
	defer made.Release()
	return s.finish(made, s.d.by)
}

// kept finds the rows that are kept and leaves out the others.
func (s *selection) kept(other *Table, kind table.Kind) (*Table, error) {
	by := s.d.by
	part := s.once(s.d)
	defer part.Release()
	if by.Scheme == Replicated {
		by = Partitioning{}
	}
	row := freeName(s.d.Schema(), "row")
	reduces := s.reduces(part)
	first := s.table(func() (*table.Table, error) {
		numbered, err := part.WithRowNumber(s.ctx, row, s.d.before())
		if err != nil {
			return nil, err
		}
		defer numbered.Release()
		q := numbered.Query()
		if reduces {
			q = q.Distinct(s.columns...)
		}
		return q.Select(append(toAny(s.columns), row)...).Collect(s.ctx)
	})
	keys := s.schemaWith(row)
	types, err := keyTypes(keys, s.columns)
	if err != nil {
		s.fail(err)
	}
	got, spread := s.hashShuffle(first, keys, s.columns, types, nil)
	got = s.inOne(got)
	others := s.others(other, types, spread)
	winners := s.table(func() (*table.Table, error) {
		q := got.Query().Distinct(s.columns...)
		if other != nil {
			q = q.Join(others, kind, table.On(s.columns...), table.NullsEqual())
		}
		return q.Select(row).Collect(s.ctx)
	})
	got.Release()
	others.Release()
	mine := s.home(winners, row)
	winners.Release()
	defer mine.Release()
	made := s.table(func() (*table.Table, error) { return s.filtered(part, mine) })
	defer made.Release()
	return s.finish(made, by)
}

// reduces reports whether the distinct rows of each rank are to be found before they move: unless samples of all ranks show that there would be hardly fewer of them.
func (s *selection) reduces(part *table.Table) bool {
	var rows, found int64
	s.do(func() error {
		if rows = part.NumRows() / 8; part.NumRows() <= groupLimits.sample {
			rows = 0 // they are few, and not worth a sample
		}
		head, err := sliced(part, 0, rows)
		if err != nil {
			return err
		}
		defer head.Release()
		made, err := head.Query().Select(toAny(s.columns)...).Distinct().Collect(s.ctx)
		if err != nil {
			return err
		}
		defer made.Release()
		found = made.NumRows()
		return nil
	})
	said := s.words([]int64{rows, found})
	rows, found = 0, 0
	for _, row := range said {
		rows, found = rows+row[0], found+row[1]
	}
	return float64(found) <= groupLimits.giveUp*float64(rows) || rows == 0
}

// schemaWith is the schema of the columns and the number of a row.
func (s *selection) schemaWith(row string) *arrow.Schema {
	var fields []arrow.Field
	for _, c := range s.columns {
		fields = append(fields, s.d.Schema().Field(s.d.Schema().FieldIndices(c)[0]))
	}
	return arrow.NewSchema(append(fields, arrow.Field{Name: row, Type: arrow.PrimitiveTypes.Int64, Nullable: true}), nil)
}

// others is the distinct rows of the other table that are on this rank by their hash, nil where there is
// no other table.
func (s *selection) others(other *Table, types []arrow.DataType, by Partitioning) *table.Table {
	if other == nil {
		return nil
	}
	part := s.once(other)
	defer part.Release()
	few := s.table(func() (*table.Table, error) {
		return part.Query().Select(toAny(s.columns)...).Distinct().Collect(s.ctx)
	})
	var fields []arrow.Field
	for _, c := range s.columns {
		fields = append(fields, other.Schema().Field(other.Schema().FieldIndices(c)[0]))
	}
	got, _ := s.hashShuffle(few, arrow.NewSchema(fields, nil), s.columns, types, by.Buckets)
	return got
}

// home gives every rank the numbers of its own rows.
func (s *selection) home(winners *table.Table, row string) *table.Table {
	size := s.comm.Size()
	lists := make(pieces, size)
	defer func() { lists.release() }()
	schema := arrow.NewSchema([]arrow.Field{{Name: row, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	s.do(func() error {
		bounds, err := table.New(s.backend, table.Column(row, s.d.starts()[1:size]))
		if err != nil {
			return err
		}
		defer bounds.Release()
		parts, err := winners.PartitionByRange(s.ctx, bounds, table.Asc(row))
		if err != nil {
			return err
		}
		defer release(parts)
		for r, p := range parts {
			for _, b := range p.Chunks() {
				lists[r] = append(lists[r], b.Retain())
			}
		}
		return nil
	})
	return s.deal(schema, lists)
}

// filtered is the rows of this rank's part whose numbers are given.
func (s *selection) filtered(part, numbers *table.Table) (*table.Table, error) {
	stream, err := s.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	first, keep := s.d.before(), make([]bool, part.NumRows())
	for _, b := range numbers.Chunks() {
		here, err := s.backend.OnHost(s.ctx, stream, b.Column(0))
		if err != nil {
			return nil, err
		}
		for _, n := range memory.Values[int64](here) {
			keep[n-first] = true
		}
		here.Release()
	}
	mark := freeName(part.Schema(), "keep")
	meta := part.Schema().Metadata()
	schema := arrow.NewSchema(append(part.Schema().Fields(), arrow.Field{Name: mark, Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), &meta)
	var chunks []*table.Batch
	for _, b := range part.Chunks() {
		marks, err := table.New(s.backend, table.Column(mark, keep[:b.Len()]))
		if err != nil {
			pieces{chunks}.release()
			return nil, err
		}
		keep = keep[b.Len():]
		var columns []*memory.Column
		for _, c := range append(b.Columns()[:b.NumColumns():b.NumColumns()], marks.Chunks()[0].Column(0)) {
			columns = append(columns, c.Retain())
		}
		marks.Release()
		marked, err := table.NewBatch(schema, b.Len(), columns)
		if err != nil {
			pieces{chunks}.release()
			return nil, err
		}
		chunks = append(chunks, marked)
	}
	marked, err := table.NewTable(s.backend, schema, chunks)
	if err != nil {
		return nil, err
	}
	defer marked.Release()
	return marked.Query().Filter(expr.Col(mark)).Drop(mark).Collect(s.ctx)
}

// starts are the numbers of the ranks' first rows, counted as once gives them, and at the end that
// of all rows.
func (d *Table) starts() []int64 {
	starts := make([]int64, len(d.counts)+1)
	for r, n := range d.counts {
		starts[r+1] = starts[r] + n
		if d.by.Scheme == Replicated {
			starts[r+1] = d.counts[0] * int64(r+1) / int64(len(d.counts))
		}
	}
	return starts
}

// freeName is a name that no column has.
func freeName(s *arrow.Schema, name string) string {
	for slices.Contains(names(s), name) {
		name += "_"
	}
	return name
}
