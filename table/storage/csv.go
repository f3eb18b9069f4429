package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/internal/tier"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage/internal/csv"
)

// CSVSource is the rows of one or more CSV files of the same columns, in the
// order of the files. It is a flow.SplitSource. Files are read in blocks of about a
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
	splits, err := s.Splits(ctx, b, o)
	if err != nil {
		return nil, err
	}
	return finishScan(ctx, b, s.Name(), splits)
}

// Filters is false: rows are parsed whole.
func (s *CSVSource) Filters(*expr.Expr) bool { return false }

// Splits begins a scan in blocks of text.
func (s *CSVSource) Splits(ctx context.Context, b *kernels.Backend, o table.ScanOptions) (flow.Splits, error) {
	schema, err := s.inFiles(ctx)
	if err != nil {
		return nil, err
	}
	if s.hive != nil {
		return s.hive.scan(b, o, s.Name(), schema, func(paths []string) flow.SplitSource { return s.bare(paths, schema) })
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
		p, err := csv.ParserOf(f.Type)
		if err != nil {
			return nil, inFile(s.Name(), "", err, nil)
		}
		_, given := s.options.Types[f.Name]
		scan.columns = append(scan.columns, csv.Column{Name: f.Name, Number: i + 1, Type: f.Type, Parser: p, Given: given})
	}
	return scan, nil
}

// csvFile is an open file behind its header.
type csvFile struct {
	*input
	split *csv.Splitter
	names []string
	first csv.Block // what follows the header in its block
	more  bool      // first is yet to be taken
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
	f := &csvFile{input: in, split: csv.NewSplitter(&until{ctx: ctx, in: in}, s.options.delimiter(), s.options.maxRecord())}
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
	t := &csv.Tokens{Delimiter: o.delimiter()}
	names, rest, fault := t.Header(b)
	if fault != nil {
		return wrongText(f.path, fault)
	}
	if o.NoHeader {
		for i := range names {
			names[i] = fmt.Sprintf("f%d", i)
		}
		rest = b
	}
	if o.Names != nil {
		if len(o.Names) != len(names) {
			return &Error{Path: f.path, Line: b.Line, Kind: device.ErrMismatch, Text: fmt.Sprintf("%d columns where CSVOptions.Names names %d", len(names), len(o.Names))}
		}
		names = o.Names
	}
	f.names, f.first, f.more = names, rest, true
	return nil
}

// next is the next block of the file.
func (f *csvFile) next() (csv.Block, error) {
	if f.more {
		f.more = false
		return f.first, nil
	}
	b, err := f.split.Next()
	var fault *csv.Fault
	if errors.As(err, &fault) {
		return b, wrongText(f.path, fault)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = inFile(f.path, "", err, device.ErrUnavailable)
	}
	return b, err
}

// guess is the schema, by the first rows where types are not given.
func (f *csvFile) guess(o *CSVOptions) (*arrow.Schema, error) {
	t := &csv.Tokens{Delimiter: o.delimiter(), Names: f.names, Bad: func(fault *csv.Fault) error {
		if o.Lenient {
			return nil // counted when the rows are read
		}
		return wrongText(f.path, fault)
	}}
	for i := range f.names {
		t.Slots = append(t.Slots, i)
	}
	guesses, err := f.sample(t, o)
	if err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for k, name := range f.names {
		typ, given := o.Types[name]
		if !given {
			typ = guesses[k].DataType()
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
func (f *csvFile) sample(t *csv.Tokens, o *CSVOptions) ([]csv.Guess, error) {
	b := csv.Builder{Nulls: o.nulls(), LongestNull: o.longestNull()}
	guesses := make([]csv.Guess, len(f.names))
	for k := range guesses {
		guesses[k] = csv.NewGuess()
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
		size += len(block.Text)
		r, err := t.Records(block, o.sampleRows()-rows)
		if err != nil {
			return nil, err
		}
		for k := range guesses {
			for row := range r.Rows() {
				if field, quoted := r.Field(row, k); !b.IsNull(field, quoted, false) {
					guesses[k].Add(field)
				}
			}
		}
		rows += r.Rows()
		r.Release()
		block.Release()
	}
	return guesses, nil
}

// csvScanner gives a split for each block.
type csvScanner struct {
	source  *CSVSource
	backend *kernels.Backend
	paths   []string // yet to open
	want    *arrow.Schema
	names   []string
	slots   []int
	columns []csv.Column
	file    *csvFile
}

// Next finds the records of the next block.
func (s *csvScanner) Next(ctx context.Context) (flow.Split, error) {
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
			_ = s.Close()
			continue
		}
		if err != nil {
			return nil, err
		}
		path := s.file.path
		return &once{path: path, part: fmt.Sprintf("lines from %d", b.Line), free: b.Release,
			read: func(context.Context) (*table.Batch, error) { return s.parse(path, b) }}, nil
	}
}

// Close closes the file. Blocks are in memory.
func (s *csvScanner) Close() error {
	if s.file != nil {
		s.file.close()
		s.file = nil
	}
	return nil
}

// bad is what becomes of a record of a file that is wrong.
func (s *csvScanner) bad(path string) func(*csv.Fault) error {
	return func(fault *csv.Fault) error {
		err := wrongText(path, fault)
		if s.source.options.Lenient {
			s.source.options.Report.add(err)
			return nil
		}
		return err
	}
}

// wrongText is the error of a file whose text is wrong.
func wrongText(path string, f *csv.Fault) *Error {
	return &Error{Path: path, Line: f.Line, Column: f.Column, Name: f.Name, Value: f.Value, Text: f.Text, Kind: ErrFormat}
}

// parse makes the batch of a block; nil where it has no rows.
func (s *csvScanner) parse(path string, b csv.Block) (*table.Batch, error) {
	defer b.Release()
	o := &s.source.options
	builder := &csv.Builder{Columns: s.columns, Nulls: o.nulls(), LongestNull: o.longestNull(), Memory: hostMemory(s.backend), Bad: s.bad(path)}
	columns, rows, err := s.columnsOf(path, b, builder)
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		for _, c := range columns {
			c.Release()
		}
		return nil, nil
	}
	batch, err := table.NewBatch(s.want, int64(rows), columns)
	return batch, inFile(path, "", err, nil)
}

// columnsOf cuts a block and builds its columns: by the grid where it is one, else record by record.
func (s *csvScanner) columnsOf(path string, b csv.Block, builder *csv.Builder) ([]*memory.Column, int, error) {
	delim := s.source.options.delimiter()
	where := func(err error) error { return inFile(path, fmt.Sprintf("lines from %d", b.Line), err, nil) }
	if g := csv.GridOf(b.Text, delim, len(s.names)); g != nil {
		defer g.Release()
		columns, ok, err := builder.Grid(g)
		if err != nil {
			return nil, 0, where(err)
		}
		if ok {
			return columns, g.Rows, nil
		}
	}
	t := &csv.Tokens{Delimiter: delim, Names: s.names, Slots: s.slots, Bad: builder.Bad}
	r, err := t.Records(b, 0)
	if err != nil {
		return nil, 0, err
	}
	defer r.Release()
	columns, err := builder.Build(r)
	if err != nil {
		return nil, 0, where(err)
	}
	return columns, r.Rows(), nil
}
