package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/tier"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// CSVSource is the rows of one or more CSV files of the same columns, in the
// order of the files. It is a table.Source. Files are read in blocks of about a
// megabyte that several workers parse, and of each record only the columns
// asked for.
type CSVSource struct {
	paths   []string
	options CSVOptions
	hive    *hive
	err     error
}

// CSV is the source of files and globs. What is wrong with them or the options
// is returned by the first use.
func CSV(o CSVOptions, paths ...string) *CSVSource {
	s := &CSVSource{options: o}
	var within []string
	s.paths, within, s.err = expandWithin(paths)
	if s.err == nil {
		s.err = inFile(s.paths[0], "options", o.check(), nil)
	}
	if s.err == nil {
		s.hive, s.err = hiveOf(s.paths, o.HiveFrom.or(within), o.NoHive)
	}
	return s
}

// Name is the file's path, or the first one and how many more there are.
func (s *CSVSource) Name() string { return nameOf(s.paths) }

// Schema is the columns, by the names in the first file's header or in the
// options, and by the types in the options or guessed from the first rows:
// bool, int64, float64, date32, timestamp (in microseconds, or nanoseconds
// where there are such; with an offset in UTC) or utf8. Behind them are those of the
// folders that the files are in where these are named key=value: whole numbers, dates
// or texts.
func (s *CSVSource) Schema(ctx context.Context) (*arrow.Schema, error) {
	inFiles, err := s.inFiles(ctx)
	if err != nil {
		return nil, err
	}
	return s.hive.schema(inFiles), nil
}

// bare is the source, or some files of it, with the given types of all columns and
// without those of folders.
func (s *CSVSource) bare(paths []string, inFiles *arrow.Schema) *CSVSource {
	o := s.options
	o.Types = map[string]arrow.DataType{}
	for _, f := range inFiles.Fields() {
		o.Types[f.Name] = f.Type
	}
	return &CSVSource{paths: paths, options: o, err: s.err}
}

// inFiles is the columns of the first file.
func (s *CSVSource) inFiles(ctx context.Context) (*arrow.Schema, error) {
	if s.err != nil {
		return nil, s.err
	}
	f, err := s.open(ctx, s.paths[0], nil)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return f.guess(&s.options)
}

// Scan begins to read.
func (s *CSVSource) Scan(ctx context.Context, b *kernels.Backend, o table.ScanOptions) (table.BatchReader, error) {
	schema, err := s.inFiles(ctx)
	if err != nil {
		return nil, err
	}
	if s.hive != nil {
		return s.hive.scan(ctx, b, o, s.Name(), schema, func(paths []string) table.Source { return s.bare(paths, schema) })
	}
	want, err := project(s.Name(), schema, o.Columns)
	if err != nil {
		return nil, err
	}
	scan := &csvScanner{source: s, backend: b, paths: s.paths, want: want}
	for i, f := range schema.Fields() {
		scan.names = append(scan.names, f.Name)
		scan.slots = append(scan.slots, -1)
		if len(want.FieldIndices(f.Name)) == 0 {
			continue
		}
		scan.slots[i] = len(scan.columns)
		p, err := parserOf(f.Type)
		if err != nil {
			return nil, inFile(s.Name(), "", err, nil)
		}
		_, given := s.options.Types[f.Name]
		scan.columns = append(scan.columns, csvColumn{name: f.Name, number: i + 1, typ: f.Type, parser: p, given: given})
	}
	return finishScan(b, newOrdered(ctx, s.Name(), scan.next, scan.close))
}

// csvFile is an open file behind its header.
type csvFile struct {
	*input
	split *csvSplitter
	names []string
	first csvBlock // what follows the header in its block
	more  bool     // first is yet to be taken
}

// open opens a file and reads its header. want, if not nil, are the names that
// it must have.
func (s *CSVSource) open(ctx context.Context, path string, want []string) (*csvFile, error) {
	if err := canceled(ctx, path); err != nil {
		return nil, err
	}
	if err := tier.Refused(); err != nil {
		return nil, &Error{Path: path, Kind: device.ErrUnavailable, Cause: err}
	}
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	f := &csvFile{input: in, split: &csvSplitter{r: &until{ctx: ctx, in: in}, delim: s.options.delimiter(), most: s.options.maxRecord()}}
	if err := f.readHeader(&s.options); err != nil {
		in.close()
		return nil, err
	}
	for i := range want {
		if len(f.names) != len(want) || f.names[i] != want[i] {
			in.close()
			return nil, &Error{Path: path, Kind: device.ErrMismatch, Text: fmt.Sprintf("its columns are %q, those of the first file %q", f.names, want)}
		}
	}
	return f, nil
}

func (f *csvFile) readHeader(o *CSVOptions) error {
	b, err := f.next()
	if errors.Is(err, io.EOF) {
		return damaged(f.path, "", "the file is empty")
	}
	if err != nil {
		return err
	}
	t := &csvTokens{path: f.path, delim: o.delimiter()}
	names, rest, err := t.header(b)
	if err != nil {
		return err
	}
	if o.NoHeader {
		for i := range names {
			names[i] = fmt.Sprintf("f%d", i)
		}
		rest = b
	}
	if o.Names != nil {
		if len(o.Names) != len(names) {
			return &Error{Path: f.path, Line: b.line, Kind: device.ErrMismatch, Text: fmt.Sprintf("%d columns where CSVOptions.Names names %d", len(names), len(o.Names))}
		}
		names = o.Names
	}
	f.names, f.first, f.more = names, rest, true
	return nil
}

// next is the next block of the file.
func (f *csvFile) next() (csvBlock, error) {
	if f.more {
		f.more = false
		return f.first, nil
	}
	b, err := f.split.next()
	var own *Error
	if errors.As(err, &own) && own.Path == "" {
		own.Path = f.path
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = inFile(f.path, "", err, device.ErrUnavailable)
	}
	return b, err
}

// guess is the schema, by the first rows where types are not given.
func (f *csvFile) guess(o *CSVOptions) (*arrow.Schema, error) {
	t := &csvTokens{path: f.path, delim: o.delimiter(), names: f.names, bad: func(e *Error) error {
		if o.Lenient {
			return nil // counted when the rows are read
		}
		return e
	}}
	for i := range f.names {
		t.slots = append(t.slots, i)
	}
	guesses, err := f.sample(t, o)
	if err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for k, name := range f.names {
		typ, given := o.Types[name]
		if !given {
			typ = guesses[k].dataType()
		}
		fields = append(fields, arrow.Field{Name: name, Type: typ, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	for name := range o.Types {
		if len(schema.FieldIndices(name)) == 0 {
			return nil, &Error{Path: f.path, Name: name, Kind: device.ErrMismatch, Text: "a type is given for a column that is not there" + nearest(name, schema)}
		}
	}
	return schema, distinctNames(f.path, schema)
}

// sampleBytes is how much text is read for a guess where nobody says how many rows.
const sampleBytes = 16 << 20

// sample guesses the types of all columns, from as many blocks as it takes.
func (f *csvFile) sample(t *csvTokens, o *CSVOptions) ([]guess, error) {
	b := csvBuilder{nulls: o.nulls(), longest: o.longestNull()}
	guesses := make([]guess, len(f.names))
	for k := range guesses {
		guesses[k] = newGuess()
	}
	size := 0
	for rows := 0; rows < o.sampleRows() && (rows == 0 || o.SampleRows > 0 || size < sampleBytes); {
		block, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		size += len(block.text)
		r, err := t.records(block, o.sampleRows()-rows)
		if err != nil {
			return nil, err
		}
		for k := range guesses {
			for row := range r.rows() {
				if field, quoted := r.field(row, k); !b.isNull(field, quoted, false) {
					guesses[k].add(field)
				}
			}
		}
		rows += r.rows()
		r.release()
		block.release()
	}
	return guesses, nil
}

// csvScanner gives a job for each block.
type csvScanner struct {
	source  *CSVSource
	backend *kernels.Backend
	paths   []string // yet to open
	want    *arrow.Schema
	names   []string
	slots   []int
	columns []csvColumn
	file    *csvFile
}

func (s *csvScanner) next(ctx context.Context) (job, error) {
	for {
		if s.file == nil {
			if len(s.paths) == 0 {
				return nil, io.EOF
			}
			f, err := s.source.open(ctx, s.paths[0], s.names)
			if err != nil {
				return nil, err
			}
			s.file, s.paths = f, s.paths[1:]
		}
		b, err := s.file.next()
		if errors.Is(err, io.EOF) {
			s.close()
			continue
		}
		if err != nil {
			return nil, err
		}
		path := s.file.path
		return func(_ context.Context, emit func(*table.Batch) error) error { return s.parse(path, b, emit) }, nil
	}
}

func (s *csvScanner) close() {
	if s.file != nil {
		s.file.close()
		s.file = nil
	}
}

// bad is what becomes of a record that is wrong.
func (s *csvScanner) bad(e *Error) error {
	if s.source.options.Lenient {
		s.source.options.Report.add(e)
		return nil
	}
	return e
}

// parse makes the batch of a block.
func (s *csvScanner) parse(path string, b csvBlock, emit func(*table.Batch) error) error {
	defer b.release()
	o := &s.source.options
	builder := &csvBuilder{path: path, columns: s.columns, nulls: o.nulls(), longest: o.longestNull(), from: hostMemory(s.backend), bad: s.bad}
	columns, rows, err := s.columnsOf(path, b, builder)
	if err != nil {
		return err
	}
	if rows == 0 {
		for _, c := range columns {
			c.Release()
		}
		return nil
	}
	batch, err := table.NewBatch(s.want, int64(rows), columns)
	if err != nil {
		return inFile(path, "", err, nil)
	}
	return emit(batch)
}

// columnsOf cuts a block and builds its columns: by the grid where it is one, else record by record.
func (s *csvScanner) columnsOf(path string, b csvBlock, builder *csvBuilder) ([]*memory.Column, int, error) {
	delim := s.source.options.delimiter()
	where := func(err error) error { return inFile(path, fmt.Sprintf("lines from %d", b.line), err, nil) }
	if g := gridOf(b.text, delim, len(s.names)); g != nil {
		defer g.release()
		columns, ok, err := builder.grid(g)
		if err != nil {
			return nil, 0, where(err)
		}
		if ok {
			return columns, g.rows, nil
		}
	}
	t := &csvTokens{path: path, delim: delim, names: s.names, slots: s.slots, bad: s.bad}
	r, err := t.records(b, 0)
	if err != nil {
		return nil, 0, err
	}
	defer r.release()
	columns, err := builder.build(r)
	if err != nil {
		return nil, 0, where(err)
	}
	return columns, r.rows(), nil
}
