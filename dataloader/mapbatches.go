package dataloader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// BatchMap is a function that makes a table of the table of a batch's rows.
type BatchMap struct {
	// Name tells the function apart from others and from its own earlier versions:
	// it stands for it in State.Plan, so that a state which was taken with another
	// name is refused. It must not be empty. Values that the function uses, of a table
	// that it joins say, are not looked at: put into the name what tells of them.
	Name string
	// Columns are those of the source that the function is given; nil means all.
	Columns []string
	// Do makes the table. What it is given is the loader's and goes when Do is done;
	// what it gives goes over to the loader, and may be what it was given. It is called
	// by several goroutines at a time, as many as there are workers and beside these. An error or a
	// panic of it is that of its batch. It has to return when its context ends: Close waits for it,
	// and so does the Next of a loader without workers, since nothing ends a function of Go from outside.
	Do func(ctx context.Context, batch *table.Table) (*table.Table, error)
	// Schema is that of the tables that Do makes. nil means that MapBatches asks Do
	// for it, with a table without rows.
	Schema *arrow.Schema
	// MaxRows is how many rows the table of a batch may have at most, where Do
	// changes their number: 0 means that it has as many as it was given, row i made of
	// row i. A filter has at most Options.Batch; a join may have more.
	MaxRows int64
}

// MapBatches is a source whose columns a function makes of those of another, batch
// by batch, with whatever operators of tables: a join with a small table, a grouping
// in a batch, text functions. The function is given a batch's rows in their order, on
// the backend b: the rows of a table in that device's memory are taken there, those of
// other sources are copied there. What it gives is gathered into the tensors by way of the
// host. It allocates its result for each batch, which only the ring's memory is spared.
//
// Rows of a table, of files and of streams have columns of any type. Other sources, those of
// TakeTable and Derive among them, give numbers.
//
// Where the function changes the number of rows the numbers of batches and ranks' steps
// stay as the rows of s make them: a batch is shorter or longer, or without rows.
// Batch.Rows, Info.Padded and State are about the rows of s then. Such a source has
// no windows, and nothing is derived of it.
//
// A table of other columns than those of the schema, or of another number of rows, is an
// ErrMismatch of its batch.
func MapBatches(ctx context.Context, b *kernels.Backend, s Source, m BatchMap) (Source, error) {
	const call = "dataloader.MapBatches"
	fail := func(format string, args ...any) (Source, error) {
		return nil, device.Errorf(device.ErrMismatch, "", call, format, args...)
	}
	switch {
	case b == nil || s == nil || m.Do == nil:
		return fail("there is no backend, no source or no function")
	case m.Name == "":
		return fail("the function has no name, by which a state knows whether it is the same")
	case m.MaxRows < 0:
		return fail("%q makes at most %d rows", m.Name, m.MaxRows)
	}
	d := &mapped{Source: s, backend: b, by: m, made: m.Schema}
	var fields []arrow.Field
	for _, name := range columnNames(s.Schema(), m.Columns) {
		at := s.Schema().FieldIndices(name)
		if len(at) != 1 {
			return fail("there is no column %q for %q", name, m.Name)
		}
		if slices.Contains(d.reads, at[0]) {
			return fail("column %q is named twice for %q", name, m.Name)
		}
		d.reads, fields = append(d.reads, at[0]), append(fields, s.Schema().Field(at[0]))
	}
	d.given = arrow.NewSchema(fields, nil)
	if _, ok := s.(tabled); !ok {
		if p := b.Device.Place(); !p.HostAccessible() {
			return nil, device.Errorf(device.ErrUnsupported, p.String(), call, "this source gives tables on the host")
		}
		for _, f := range fields {
			if numberOf(f.Type) == nil || f.Type.ID() == arrow.BOOL {
				return nil, device.Errorf(device.ErrUnsupported, "", call, "column %q is of type %v: this source gives tables of numbers", f.Name, f.Type)
			}
		}
	}
	if d.made == nil {
		if err := d.ask(ctx); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// columnNames are some columns, or all where none are named.
func columnNames(s *arrow.Schema, named []string) []string {
	if named != nil {
		return named
	}
	for _, f := range s.Fields() {
		named = append(named, f.Name)
	}
	return named
}

// mapped is a source by a function of tables.
type mapped struct {
	Source
	by      BatchMap
	backend *kernels.Backend
	reads   []int         // columns of the source
	given   *arrow.Schema // of these
	made    *arrow.Schema // of what the function makes
}

// resizing is a source whose batches may have another number of rows than are asked
// of it.
type resizing interface {
	// mostRows is how many rows a batch may have, 0 where it has as many as are asked for.
	mostRows() int64
}

func (d *mapped) mostRows() int64 {
	if d.by.MaxRows > 0 {
		return d.by.MaxRows
	}
	return mostRows(d.Source)
}

// mostRows is that of a source, 0 where it is not resizing.
func mostRows(s Source) int64 {
	if r, ok := s.(resizing); ok {
		return r.mostRows()
	}
	return 0
}

// ask has the function say its columns.
func (d *mapped) ask(ctx context.Context) error {
	empty, err := table.NewTable(d.backend, d.given, nil)
	if err != nil {
		return err
	}
	defer empty.Release()
	out, err := d.call(ctx, empty)
	if err != nil {
		return fmt.Errorf("a table without rows, to learn its columns: %w", err)
	}
	defer out.Release()
	d.made = out.Schema()
	return nil
}

// Schema is that of what the function makes.
func (d *mapped) Schema() *arrow.Schema { return d.made }

// Fingerprint is that of all columns that the function is given.
func (d *mapped) Fingerprint(ctx context.Context, _ []int) (uint32, error) {
	return d.Source.Fingerprint(ctx, d.reads)
}

// text is the function's name and its columns.
func (d *mapped) text() string {
	text := fmt.Sprintf("%q %d", d.by.Name, d.by.MaxRows)
	for _, f := range append(d.given.Fields(), d.made.Fields()...) {
		text += fmt.Sprintf(";%q %v", f.Name, f.Type)
	}
	return text
}

// mapError is the error of a function of tables.
type mapError struct {
	name string
	err  error
}

// Error says which function it is.
func (e *mapError) Error() string { return fmt.Sprintf("%q: %v", e.name, e.err) }

// Unwrap is what is wrong.
func (e *mapError) Unwrap() error { return e.err }

// isMapped reports whether an error is that of a function of tables.
func isMapped(err error) bool {
	var of *mapError
	return errors.As(err, &of)
}

// call is the function's table of another, as a reference of the caller's.
func (d *mapped) call(ctx context.Context, t *table.Table) (out *table.Table, err error) {
	defer func() {
		if p := recover(); p != nil {
			if of, is := p.(error); is {
				err = fmt.Errorf("panicked: %w", of)
			} else {
				err = fmt.Errorf("panicked: %v", p)
			}
		}
		if err != nil {
			out, err = nil, &mapError{d.by.Name, err}
		}
	}()
	out, err = d.by.Do(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case out == nil:
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "there is no table and no error")
	case out == t:
		out.Retain()
	}
	if err := d.check(t, out); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// check looks at what the function made of a table.
func (d *mapped) check(t, out *table.Table) error {
	fail := func(format string, args ...any) error {
		return device.Errorf(device.ErrMismatch, "", "dataloader", format, args...)
	}
	if d.made != nil {
		for _, f := range d.made.Fields() {
			at := out.Schema().FieldIndices(f.Name)
			if len(at) != 1 {
				return fail("the table has no column %q, which its schema has", f.Name)
			}
			if g := out.Schema().Field(at[0]); !arrow.TypeEqual(f.Type, g.Type) {
				return fail("column %q is of type %v, and of %v in its schema", f.Name, g.Type, f.Type)
			}
		}
		if !sameFields(d.made, out.Schema()) {
			return fail("the table has the columns %v, and its schema %v", columnNames(out.Schema(), nil), columnNames(d.made, nil))
		}
	}
	switch n := out.NumRows(); {
	case d.by.MaxRows == 0 && n != t.NumRows():
		return fail("%d rows were made of %d: set MaxRows where their number changes", n, t.NumRows())
	case d.by.MaxRows > 0 && n > d.by.MaxRows:
		return fail("%d rows were made of %d, more than MaxRows, %d", n, t.NumRows(), d.by.MaxRows)
	}
	return nil
}

// Open opens the columns that the function is given.
func (d *mapped) Open(ctx context.Context, m memory.Allocator, parts []Part, _ int64) (Reader, error) {
	return d.open(ctx, m, parts, nil)
}

// openAhead is Open for who knows what comes.
func (d *mapped) openAhead(ctx context.Context, m memory.Allocator, parts []Part, _ int64, c coming) (Reader, error) {
	return d.open(ctx, m, parts, &c)
}

func (d *mapped) open(ctx context.Context, m memory.Allocator, parts []Part, c *coming) (Reader, error) {
	rows, err := openRows(ctx, d.Source, d.backend, m, d.reads, c)
	if err != nil {
		return nil, err
	}
	return &mapReader{rowTables: rows, of: d, parts: parts}, nil
}

// openTables gives what the function makes to another one.
func (d *mapped) openTables(ctx context.Context, m memory.Allocator, columns []int, c *coming) (rowTables, error) {
	rows, err := openRows(ctx, d.Source, d.backend, m, d.reads, c)
	if err != nil {
		return nil, err
	}
	return &mapRows{&mapReader{rowTables: rows, of: d}, columns}, nil
}
