package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Compression is how the values of a file are compressed.
type Compression int

// The compressions. Parquet takes all but LZ4, IPC none, LZ4 and Zstandard; the
// default is Snappy for Parquet and none for IPC.
const (
	CompressionDefault Compression = iota
	CompressionNone
	CompressionSnappy
	CompressionZstd
	CompressionLZ4
)

// String is the name of the compression.
func (c Compression) String() string {
	names := []string{"default", "none", "snappy", "zstd", "lz4"}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("compression %d", int(c))
	}
	return names[c]
}

// sink writes records of one schema in a format.
type sink interface {
	write(rec arrow.RecordBatch) error
	// close writes what is held back and the end of the file.
	close() error
	// stop ends what still runs, after close too. Nothing of the arena or of the
	// records is used after it.
	stop()
}

// sinkOf begins a file on w. Its path is for errors.
type sinkOf func(ctx context.Context, w io.Writer, path string, schema *arrow.Schema, a *arena) (sink, error)

// Write writes a table to a file in the format of its extension, as Open knows
// them, with the format's default options.
func Write(ctx context.Context, t *table.Table, path string) error {
	f, err := FormatOf(path)
	if err != nil {
		return err
	}
	switch f {
	case FormatParquet:
		return WriteParquet(ctx, t, path, ParquetOptions{})
	case FormatCSV:
		return WriteCSV(ctx, t, path, CSVWriteOptions{Delimiter: csvByExtension(path).Delimiter})
	default:
		return WriteIPC(ctx, t, path, IPCOptions{Stream: f == FormatIPCStream})
	}
}

// Convert writes all rows of a source to a file in the format to, or in that
// of the path's extension where to is empty, without holding them in memory at once, and returns how many they
// were. An Arrow IPC file (not a stream) with a dictionary column whose
// dictionary changes on the way cannot be written so: that is an error.
func Convert(ctx context.Context, b *kernels.Backend, from table.Source, path string, to Format) (rows int64, err error) {
	open, err := sinkFor(path, to)
	if err != nil {
		return 0, err
	}
	schema, err := from.Schema(ctx)
	if err != nil {
		return 0, err
	}
	r, err := from.Scan(ctx, b, table.ScanOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return rows, writeFile(ctx, path, func(w io.Writer) error {
		return writeTo(ctx, b, w, path, schema, open, func() (*table.Batch, error) {
			batch, err := r.Next(ctx)
			if err == nil {
				rows += batch.Len()
			}
			return batch, err
		})
	})
}

func sinkFor(path string, f Format) (sinkOf, error) {
	if f == "" {
		var err error
		if f, err = FormatOf(path); err != nil {
			return nil, err
		}
	}
	switch f {
	case FormatParquet:
		return ParquetOptions{}.sink, nil
	case FormatCSV:
		return CSVWriteOptions{Delimiter: csvByExtension(path).Delimiter}.sink, nil
	case FormatIPC:
		return IPCOptions{}.sink, nil
	case FormatIPCStream:
		return IPCOptions{Stream: true}.sink, nil
	default:
		return nil, unsupported(path, "", "the format %q", string(f))
	}
}

// writeTable writes a table to w or, where that is nil, to a file.
func writeTable(ctx context.Context, t *table.Table, path string, w io.Writer, open sinkOf) error {
	to := func(w io.Writer) error {
		chunks := t.Chunks()
		return writeTo(ctx, t.Backend(), w, path, t.Schema(), open, func() (*table.Batch, error) {
			if len(chunks) == 0 {
				return nil, io.EOF
			}
			b := chunks[0].Retain()
			chunks = chunks[1:]
			return b, nil
		})
	}
	if w == nil {
		return writeFile(ctx, path, to)
	}
	return to(w)
}

// writeFile lets to write a new file beside the target and renames it when all
// went well. Otherwise the target stays as it was.
func writeFile(ctx context.Context, path string, to func(io.Writer) error) (err error) {
	if err := canceled(ctx, path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return &Error{Path: path, Kind: device.ErrUnavailable, Cause: err}
	}
	defer func() {
		if err != nil {
			f.Close()
			removeSoon(f.Name())
		}
	}()
	// A temporary file is for its owner alone; this one becomes an ordinary file.
	mode := os.FileMode(0o644)
	if old, e := os.Stat(path); e == nil {
		mode = old.Mode().Perm()
	}
	buf := bufio.NewWriterSize(&steady{file: f}, 1<<18)
	if err = to(buf); err != nil {
		return err
	}
	if err = canceled(ctx, path); err != nil {
		return err
	}
	for _, step := range []func() error{buf.Flush, func() error { return f.Chmod(mode) }, f.Sync, f.Close, func() error { return os.Rename(f.Name(), path) }} {
		if err = step(); err != nil {
			return &Error{Path: path, Kind: device.ErrUnavailable, Cause: err}
		}
	}
	return nil
}

// removeSoon removes a file and waits for it, but no longer than half of the
// time in which a call has to stop: for hundreds of MB a file system takes
// longer. It then has the order, which it fulfils even if the process ends.
func removeSoon(path string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		os.Remove(path)
	}()
	select {
	case <-done:
	case <-time.After(50 * time.Millisecond):
	}
}

// syncEvery is how many bytes are written between two calls of Sync.
const syncEvery = 8 << 20

// steady writes to a file and has the system take what was written to the disk
// now and then. All of it at the end would be one long call that nothing can
// stop.
type steady struct {
	file  *os.File
	since int // bytes written since the last Sync
}

// Write implements io.Writer.
func (s *steady) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err // of the file beside the target, whose path nobody gave
	}
	if s.since += n; err == nil && s.since >= syncEvery {
		s.since = 0
		err = s.file.Sync()
	}
	return n, err
}

// writeTo writes batches, defaultRows rows at a time, until next gives io.EOF.
func writeTo(ctx context.Context, b *kernels.Backend, w io.Writer, path string, schema *arrow.Schema, open sinkOf, next func() (*table.Batch, error)) (err error) {
	a := newArena(hostMemory(b), 1<<40)
	defer a.close()
	defer guardWrite(path, &err)
	s, err := open(ctx, &watched{ctx: ctx, w: w, path: path}, path, schema, a)
	if err != nil {
		return writeError(path, err)
	}
	defer s.stop()
	size := batchRows(0, schema.NumFields())
	for {
		if err := canceled(ctx, path); err != nil {
			return err
		}
		batch, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		rows := int64(0)
		if err == nil {
			rows = batch.Len()
			err = writeBatch(ctx, b, s, path, schema, batch, size)
		}
		if err != nil {
			return writeError(path, err)
		}
		device.ProgressOf(ctx).Made(rows)
	}
	return writeError(path, s.close())
}

// writeBatch writes the rows of a batch, and releases it.
func writeBatch(ctx context.Context, b *kernels.Backend, s sink, path string, schema *arrow.Schema, batch *table.Batch, size int64) error {
	defer batch.Release()
	if !onHost(batch) {
		host, err := download(ctx, b, batch)
		if err != nil {
			return err
		}
		defer host.Release()
		batch = host
	}
	for at := int64(0); at < batch.Len(); at += size {
		if err := canceled(ctx, path); err != nil {
			return err
		}
		rec, err := recordOf(schema, batch, at, min(size, batch.Len()-at))
		if err != nil {
			return err
		}
		err = s.write(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// onHost tells whether a batch is where it can be written from.
func onHost(b *table.Batch) bool {
	for i := range b.NumColumns() {
		if !b.Column(i).Place().HostAccessible() {
			return false
		}
	}
	return true
}

// download copies a batch to the host.
func download(ctx context.Context, b *kernels.Backend, batch *table.Batch) (host *table.Batch, err error) {
	stream, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	m := mover{stream, b.Device.Pinned()}
	host, err = m.batch(ctx, batch)
	if e := stream.Close(); err == nil && e != nil {
		host.Release()
		return nil, e
	}
	return host, err
}

// recordOf is n rows of a batch as an arrow-go record, without a copy.
func recordOf(schema *arrow.Schema, batch *table.Batch, at, n int64) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, batch.NumColumns())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i := range batch.NumColumns() {
		part, err := batch.Column(i).Slice(at, n)
		if err != nil {
			return nil, err
		}
		c, err := memory.ToArrow(part)
		part.Release()
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return array.NewRecordBatch(schema, columns, n), nil
}

// watched fails once its context has ended, so that encoders stop inside of a
// record too.
type watched struct {
	ctx  context.Context
	w    io.Writer
	path string
}

// Write writes p.
func (w *watched) Write(p []byte) (int, error) {
	if err := canceled(w.ctx, w.path); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

// writeError names the file on an error that has none.
func writeError(path string, err error) error { return inFile(path, "", err, nil) }

// guardWrite turns a panic of an encoder into an error.
func guardWrite(path string, err *error) {
	switch p := recover().(type) {
	case nil:
	case allocationFailed:
		*err = inFile(path, "", p.err, nil)
	default:
		*err = &Error{Path: path, Kind: device.ErrUnsupported, Text: "the format's encoder does not take these values"}
	}
}
