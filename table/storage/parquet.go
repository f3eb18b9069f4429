package storage

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// ParquetSource is the rows of one or more Parquet files of the same columns,
// in the order of the files. It is a flow.SplitSource: nothing is read before it
// is scanned, and then only the columns asked for, and not those row groups
// whose statistics say that no row of theirs passes the predicate. Struct
// columns, also inside of lists, are ErrUnsupported where they are asked for.
type ParquetSource struct {
	paths   []string
	options ParquetReadOptions
	within  []string // folders that the paths were given by
	hive    *hive
	err     error
}

// ParquetReadOptions say how Parquet is read.
type ParquetReadOptions struct {
	// Int96 is the unit of timestamps that the file has as 96 bits, a form of
	// Spark, Hive and Impala: "ns", "us" or "ms"; "" is nanoseconds, which reach
	// from 1677 to 2262. A time that its unit does not reach is an ErrValue that
	// names the column. What is finer than the unit is cut off.
	Int96 string
	// NoHive leaves out the columns of folders, and HiveFrom is the folder below
	// which they are read; see HiveFolder.
	NoHive   bool
	HiveFrom HiveFolder
}

// int96Units are the units by their names.
var int96Units = map[string]arrow.TimeUnit{"": arrow.Nanosecond, "ns": arrow.Nanosecond, "us": arrow.Microsecond, "ms": arrow.Millisecond}

// With is the same files, read with other options.
func (s *ParquetSource) With(o ParquetReadOptions) *ParquetSource {
	other := *s
	other.options = o
	if other.err == nil {
		other.hive, other.err = hiveOf(s.paths, o.HiveFrom.or(s.within), o.NoHive)
	}
	if _, known := int96Units[o.Int96]; !known && other.err == nil {
		other.err = &Error{Path: nameOf(s.paths), Part: "options", Kind: device.ErrMismatch, Text: fmt.Sprintf("Int96 is %q, and can be ns, us or ms", o.Int96)}
	}
	return &other
}

// with is the file read with options.
func (p *parquetFile) with(o ParquetReadOptions) *parquetFile {
	fields := p.schema.Fields()
	for i := range fields {
		if t, is := fields[i].Type.(*arrow.TimestampType); is && p.is96(i) {
			fields[i].Type = &arrow.TimestampType{Unit: int96Units[o.Int96], TimeZone: t.TimeZone}
		}
	}
	if o.Int96 != "" {
		p.schema = arrow.NewSchema(fields, nil)
	}
	return p
}

// Parquet is the source of files, folders and globs. What is wrong with them is
// returned by the first use.
func Parquet(paths ...string) *ParquetSource {
	s := &ParquetSource{}
	if s.paths, s.within, s.err = expandWithin(paths); s.err == nil {
		s.hive, s.err = hiveOf(s.paths, s.within, false)
	}
	return s
}

// Name is the file's path, or the first one and how many more there are.
func (s *ParquetSource) Name() string { return nameOf(s.paths) }

// Schema is the columns of the first file, and those of the folders that the files are
// in where these are named key=value: whole numbers, dates or texts.
func (s *ParquetSource) Schema(ctx context.Context) (*arrow.Schema, error) {
	inFiles, err := s.inFiles(ctx)
	if err != nil {
		return nil, err
	}
	return s.hive.schema(inFiles), nil
}

// bare is the source, or some files of it, without the columns of folders.
func (s *ParquetSource) bare(paths []string) *ParquetSource {
	return &ParquetSource{paths: paths, options: s.options, err: s.err}
}

// inFiles is the columns of the first file.
func (s *ParquetSource) inFiles(ctx context.Context) (*arrow.Schema, error) {
	if s.err != nil {
		return nil, s.err
	}
	if err := canceled(ctx, s.paths[0]); err != nil {
		return nil, err
	}
	f, err := openParquet(s.paths[0], s.options)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return f.schema, nil
}

// rangedFiles is how many files Ranges opens at most: the footers of many take longer to
// read than a better plan saves.
const rangedFiles = 64

// Ranges gives what the footers state of each row group; nothing where there are more than
// rangedFiles files.
func (s *ParquetSource) Ranges(ctx context.Context) ([]map[string]expr.Range, error) {
	if s.err != nil || len(s.paths) > rangedFiles {
		return nil, s.err
	}
	var all []map[string]expr.Range
	for _, path := range s.paths {
		if err := canceled(ctx, path); err != nil {
			return nil, err
		}
		f, err := openParquet(path, s.options)
		if err != nil {
			return nil, err
		}
		for g := range f.meta.NumRowGroups() {
			all = append(all, f.ranges(g))
		}
		f.close()
	}
	return all, nil
}

// Skipped says how many row groups of the files the predicate leaves unread,
// and how many there are. A nil predicate skips none.
func (s *ParquetSource) Skipped(ctx context.Context, predicate *expr.Expr) (skipped, total int, err error) {
	if s.err != nil {
		return 0, 0, s.err
	}
	if s.hive != nil {
		return s.skippedOfGroups(ctx, predicate)
	}
	for _, path := range s.paths {
		if err := canceled(ctx, path); err != nil {
			return 0, 0, err
		}
		f, err := openParquet(path, s.options)
		if err != nil {
			return 0, 0, err
		}
		may, err := pruner(path, f.schema, predicate)
		for g := 0; err == nil && g < f.meta.NumRowGroups(); g++ {
			total++
			if _, some := may(f, g); !some {
				skipped++
			}
		}
		f.close()
		if err != nil {
			return 0, 0, err
		}
	}
	return skipped, total, nil
}

// skippedOfGroups is Skipped of files in folders, of which a predicate may leave out
// whole ones.
func (s *ParquetSource) skippedOfGroups(ctx context.Context, predicate *expr.Expr) (skipped, total int, err error) {
	inFiles, err := s.inFiles(ctx)
	if err != nil {
		return 0, 0, err
	}
	var bound *expr.Bound
	within := predicate
	if predicate != nil {
		if bound, err = predicate.Bind(s.hive.schema(inFiles)); err != nil {
			return 0, 0, inFile(s.Name(), "predicate", err, device.ErrMismatch)
		}
		if _, err := predicate.Bind(inFiles); err != nil {
			within = nil
		}
	}
	for i := range s.hive.groups {
		g := &s.hive.groups[i]
		some, all, err := s.bare(g.paths).Skipped(ctx, within)
		if err != nil {
			return 0, 0, err
		}
		if !g.may(s.hive, bound) {
			some = all
		}
		skipped, total = skipped+some, total+all
	}
	return skipped, total, nil
}

// Scan begins to read. The reader's batches have about 64 Ki rows, fewer
// where rows are wide, and never rows of two row groups.
func (s *ParquetSource) Scan(ctx context.Context, b *kernels.Backend, o table.ScanOptions) (table.BatchReader, error) {
	splits, err := s.Splits(ctx, b, o)
	if err != nil {
		return nil, err
	}
	return finishScan(ctx, b, s.Name(), splits)
}

// hasStruct reports whether there are structs in a type. arrow-go reads their
// fields in goroutines of its own, whose panics over damaged pages would end
// the process.
func hasStruct(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StructType:
		return true
	case arrow.ListLikeType:
		return hasStruct(t.Elem())
	}
	return false
}

func rowGroup(g int) string { return fmt.Sprintf("row group %d", g) }
