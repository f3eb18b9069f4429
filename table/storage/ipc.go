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
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// IPCSource is the rows of one or more Arrow IPC files or streams of the same
// columns, in the order of the files. It is a table.Source. Files are read in
// parallel by record batch; streams, and files with dictionary columns, are
// decoded one batch after the other. Buffers that are not compressed are used
// as they were read; a batch is read whole, whatever columns are asked for,
// since its body is one block.
type IPCSource struct {
	paths   []string
	options IPCReadOptions
	within  []string // folders that the paths were given by
	hive    *hive
	wide    bool // dictionaries are read as those of several files are
	err     error
}

// IPCReadOptions say how Arrow IPC is read.
type IPCReadOptions struct {
	// MaxUnpacked is the most bytes that the compressed buffers of one record
	// batch may become; 0 is 256 MiB, or 1,024 times what they take compressed,
	// whichever is more. A batch that announces more is an ErrOutOfMemory that
	// says both sizes, before anything is allocated for it. Memory grows with
	// what is decoded and not with what is announced.
	MaxUnpacked int64
	// NoHive leaves out the columns of folders, and HiveFrom is the folder below
	// which they are read; see HiveFolder.
	NoHive   bool
	HiveFrom HiveFolder
}

// With is the same files, read with other options.
func (s *IPCSource) With(o IPCReadOptions) *IPCSource {
	other := *s
	other.options = o
	if other.err == nil {
		other.hive, other.err = hiveOf(s.paths, o.HiveFrom.or(s.within), o.NoHive)
	}
	if other.err == nil && o.MaxUnpacked < 0 {
		other.err = &Error{Path: s.paths[0], Part: "options", Kind: device.ErrMismatch, Text: fmt.Sprintf("MaxUnpacked is %d", o.MaxUnpacked)}
	}
	return &other
}

// IPC is the source of files and globs. Whether one is a file or a stream is
// seen from how it begins. What is wrong with them is returned by the first use.
func IPC(paths ...string) *IPCSource {
	s := &IPCSource{}
	if s.paths, s.within, s.err = expandWithin(paths); s.err == nil {
		s.hive, s.err = hiveOf(s.paths, s.within, false)
	}
	s.wide = len(s.paths) > 1
	return s
}

// Name is the file's path, or the first one and how many more there are.
func (s *IPCSource) Name() string { return nameOf(s.paths) }

// Schema is the columns of the first file, and those of the folders that the files are
// in where these are named key=value: whole numbers, dates or texts. Dictionaries of several files, and those
// of a stream, which may change in it, have indices of 32 bits at least: together
// they may have more values than narrower ones number.
func (s *IPCSource) Schema(ctx context.Context) (*arrow.Schema, error) {
	inFiles, err := s.inFiles(ctx)
	if err != nil {
		return nil, err
	}
	return s.hive.schema(inFiles), nil
}

// bare is the source, or some files of it, without the columns of folders.
func (s *IPCSource) bare(paths []string) *IPCSource {
	return &IPCSource{paths: paths, options: s.options, wide: s.wide, err: s.err}
}

// inFiles is the columns of the first file.
func (s *IPCSource) inFiles(ctx context.Context) (*arrow.Schema, error) {
	if s.err != nil {
		return nil, s.err
	}
	f, err := openIPC(ctx, s.paths[0], memory.Heap, s.options)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return s.columns(f), nil
}

// columns is the schema that an open file of the source is read with.
func (s *IPCSource) columns(f ipcInput) *arrow.Schema {
	if _, stream := f.(*ipcStream); stream || s.wide {
		return wideSchema(f.columns())
	}
	return f.columns()
}

// Scan begins to read. The reader's batches are the file's record batches.
func (s *IPCSource) Scan(ctx context.Context, b *kernels.Backend, o table.ScanOptions) (table.BatchReader, error) {
	splits, err := s.Splits(ctx, b, o)
	if err != nil {
		return nil, err
	}
	return finishScan(ctx, b, s.Name(), splits)
}

// Filters is false: record batches are read whole.
func (s *IPCSource) Filters(*expr.Expr) bool { return false }

// Splits begins a scan by record batch. Those of a stream, and of a file with
// dictionaries, are decoded one after the other.
func (s *IPCSource) Splits(ctx context.Context, b *kernels.Backend, o table.ScanOptions) (flow.Splits, error) {
	first, err := s.inFiles(ctx)
	if err != nil {
		return nil, err
	}
	if s.hive != nil {
		return s.hive.scan(b, o, s.Name(), first, func(paths []string) flow.SplitSource { return s.bare(paths) })
	}
	want, err := project(s.Name(), first, o.Columns)
	if err != nil {
		return nil, err
	}
	return &ipcScan{backend: b, source: s, paths: s.paths, first: first, want: want, all: o.Columns == nil}, nil
}

// ipcInput is an open file or stream.
type ipcInput interface {
	columns() *arrow.Schema
	close()
}

func (f *ipcFile) columns() *arrow.Schema   { return f.schema }
func (s *ipcStream) columns() *arrow.Schema { return s.schema }

// openIPC opens a file as what it begins as.
func openIPC(ctx context.Context, path string, from memory.Allocator, o IPCReadOptions) (ipcInput, error) {
	if err := canceled(ctx, path); err != nil {
		return nil, err
	}
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	f, err := openIPCInput(ctx, in, from, o)
	if err != nil {
		in.close()
		return nil, err
	}
	return f, nil
}

func openIPCInput(ctx context.Context, in *input, from memory.Allocator, o IPCReadOptions) (ipcInput, error) {
	if in.size == 0 {
		return nil, damaged(in.path, "", "the file is empty")
	}
	head := make([]byte, len(ipcMagic))
	if _, err := in.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, inFile(in.path, "", err, device.ErrUnavailable)
	}
	if string(head) == ipcMagic {
		f, err := openIPCFile(ctx, in, from, o)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	s, err := openIPCStream(ctx, in, from, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ipcScan gives a split for each record batch.
type ipcScan struct {
	backend *kernels.Backend
	source  *IPCSource
	paths   []string // yet to open
	first   *arrow.Schema
	want    *arrow.Schema
	all     bool // columns

	file   *ipcFile
	stream *ipcStream
	batch  int
	opened []ipcInput
}

// Next is the next record batch; that of a stream is decoded here.
func (s *ipcScan) Next(ctx context.Context) (flow.Split, error) {
	for {
		switch i := s.batch; {
		case s.file != nil && i < len(s.file.batches):
			f := s.file
			s.batch++
			return &once{path: f.path, part: recordBatch(i), read: func(context.Context) (*table.Batch, error) {
				rec, err := f.record(i)
				if err != nil {
					return nil, err
				}
				defer rec.Release()
				return s.wanted(f.path, i, f.arena, rec)
			}}, nil
		case s.stream != nil:
			s.batch++
			b, err := s.next(ctx, s.stream, i)
			if err == io.EOF {
				s.stream = nil
				continue
			}
			if err != nil {
				return nil, err
			}
			return &once{path: s.stream.path, free: b.Release, read: func(context.Context) (*table.Batch, error) { return b, nil }}, nil
		case len(s.paths) == 0:
			return nil, io.EOF
		}
		if err := s.open(ctx, s.paths[0]); err != nil {
			return nil, err
		}
		s.paths = s.paths[1:]
	}
}

func (s *ipcScan) open(ctx context.Context, path string) error {
	in, err := openIPC(ctx, path, hostMemory(s.backend), s.source.options)
	if err != nil {
		return err
	}
	s.opened = append(s.opened, in)
	if err := sameColumns(path, s.first, s.source.columns(in), s.all); err != nil {
		return err
	}
	s.batch = 0
	s.file, _ = in.(*ipcFile)
	s.stream, _ = in.(*ipcStream)
	return nil
}

// next is the next batch of a stream.
func (s *ipcScan) next(ctx context.Context, in *ipcStream, i int) (*table.Batch, error) {
	if err := canceled(ctx, in.path); err != nil {
		return nil, err
	}
	rec, err := in.record(i)
	if err != nil {
		return nil, err
	}
	return s.wanted(in.path, i, in.arena, rec)
}

// wanted is the wanted columns of a record.
func (s *ipcScan) wanted(path string, i int, a *arena, rec arrow.RecordBatch) (b *table.Batch, err error) {
	defer guard(path, recordBatch(i), &err)
	for _, f := range s.want.Fields() {
		if err := supported(path, f); err != nil {
			return nil, err
		}
	}
	b, err = batchOf(a, s.want, rec)
	return b, inFile(path, recordBatch(i), err, ErrFormat)
}

// Close closes the files.
func (s *ipcScan) Close() error {
	for _, f := range s.opened {
		f.close()
	}
	s.opened = nil
	return nil
}
