package storage

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/volley-go/volley/table"
)

// IPCOptions say how Arrow IPC is written.
type IPCOptions struct {
	// Compression of the buffers: none by default. Those of Zstandard have checksums,
	// by which readers find damage; those of LZ4 have none.
	Compression Compression
	// Stream writes the streaming format, which has no footer: it can be read
	// while it is written, but not in parallel, and its dictionaries may change.
	Stream bool
}

// WriteIPC writes a table to an Arrow IPC file. It replaces the file when all
// is written. A dictionary column whose chunks have different dictionaries is
// written with the values of all.
func WriteIPC(ctx context.Context, t *table.Table, path string, o IPCOptions) error {
	return o.write(ctx, t, path, nil)
}

// WriteIPCTo writes a table as Arrow IPC to w.
func WriteIPCTo(ctx context.Context, t *table.Table, w io.Writer, o IPCOptions) error {
	return o.write(ctx, t, "arrow", w)
}

// write writes a table. In a file, unlike a stream, a column has one dictionary.
func (o IPCOptions) write(ctx context.Context, t *table.Table, path string, w io.Writer) error {
	if !o.Stream {
		one, release, err := oneDictionary(ctx, t, path)
		if err != nil {
			return err
		}
		defer release()
		t = one
	}
	return writeTable(ctx, t, path, w, o.sink)
}

func (o IPCOptions) sink(_ context.Context, w io.Writer, path string, schema *arrow.Schema, a *arena) (sink, error) {
	options := []ipc.Option{ipc.WithSchema(schema), ipc.WithAllocator(a)}
	switch o.Compression {
	case CompressionDefault, CompressionNone:
	case CompressionLZ4:
		options = append(options, ipc.WithLZ4())
	case CompressionZstd:
		options = append(options, ipc.WithZstd())
	default:
		return nil, unsupported(path, "", "compression %s in Arrow IPC", o.Compression)
	}
	if o.Stream {
		return &ipcSink{ipc.NewWriter(w, options...)}, nil
	}
	f, err := ipc.NewFileWriter(w, options...)
	if err != nil {
		return nil, err
	}
	return &ipcSink{f}, nil
}

// ipcWriter is what the writers of both formats have.
type ipcWriter interface {
	Write(arrow.RecordBatch) error
	Close() error
}

type ipcSink struct{ w ipcWriter }

func (s *ipcSink) write(rec arrow.RecordBatch) error { return s.w.Write(rec) }

func (s *ipcSink) close() error { return s.w.Close() }

func (s *ipcSink) stop() {}
