package storage_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table/storage"
)

// fullDisk takes some bytes and then no more.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	if d.left -= n; n < len(p) {
		return n, &fs.PathError{Op: "write", Path: "part", Err: syscall.ENOSPC}
	}
	return n, nil
}

// TestFullDisk: what the system refuses is unavailable, whatever the format was doing.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	w := tableOf(t, b, 5, []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}, 0.1, 3000, 2000)
	defer w.Release()
	for name, write := range map[string]func(io.Writer) error{
		"parquet": func(to io.Writer) error {
			return storage.WriteParquetTo(ctx, w, to, storage.ParquetOptions{RowGroupRows: 1000})
		},
		"csv":   func(to io.Writer) error { return storage.WriteCSVTo(ctx, w, to, storage.CSVWriteOptions{}) },
		"arrow": func(to io.Writer) error { return storage.WriteIPCTo(ctx, w, to, storage.IPCOptions{}) },
		"zstd": func(to io.Writer) error {
			return storage.WriteIPCTo(ctx, w, to, storage.IPCOptions{Stream: true, Compression: storage.CompressionZstd})
		},
	} {
		for _, room := range []int{0, 100, 10_000} {
			err := write(&fullDisk{room})
			if !errors.Is(err, device.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) || errors.Is(err, device.ErrMismatch) || errors.Is(err, storage.ErrFormat) {
				t.Errorf("%s with room for %d bytes: %v", name, room, err)
			}
		}
	}
}
