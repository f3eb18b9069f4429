package distributed

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// Write writes the table into a new folder, which all ranks must reach by this path: every
// rank that has rows a Parquet file of its own, part-00000.parquet and so on. The names'
// order is that of the rows, so storage.Folder and Scan read them back as they were.
//
// The folder is not there until all is written: the ranks write into one beside it, of
// a temporary name, which rank 0 renames when all are done. After an error nothing is
// left of that, whichever rank is lost; where rank 0 is lost as it renames, all of the folder is there
// or none. A folder or file of that name is an ErrMismatch.
func (d *Table) Write(ctx context.Context, dir string) error {
	return d.WriteParquet(ctx, dir, storage.ParquetOptions{})
}

// WriteParquet is Write with options.
func (d *Table) WriteParquet(ctx context.Context, dir string, options storage.ParquetOptions) error {
	return d.write(ctx, dir, "parquet", func(part *table.Table, path string) error {
		return storage.WriteParquet(ctx, part, path, options)
	})
}

// WriteCSV is Write of CSV files, part-00000.csv and so on, each with a header unless options leave it out.
func (d *Table) WriteCSV(ctx context.Context, dir string, options storage.CSVWriteOptions) error {
	return d.write(ctx, dir, "csv", func(part *table.Table, path string) error {
		return storage.WriteCSV(ctx, part, path, options)
	})
}

// WriteIPC is Write of Arrow IPC files, part-00000.arrow and so on, or of streams, part-00000.arrows and
// so on.
func (d *Table) WriteIPC(ctx context.Context, dir string, options storage.IPCOptions) error {
	extension := "arrow"
	if options.Stream {
		extension = "arrows"
	}
	return d.write(ctx, dir, extension, func(part *table.Table, path string) error {
		return storage.WriteIPC(ctx, part, path, options)
	})
}

// write is Write of files of that extension, which each writes.
func (d *Table) write(ctx context.Context, dir, extension string, each func(part *table.Table, path string) error) error {
	w := &folderWriter{op: d.start(ctx, "Write", dir+", "+extension), dir: filepath.Clean(dir)}
	if !w.begin() {
		return w.ended
	}
	part := w.once(d)
	path := filepath.Join(w.temporary, fmt.Sprintf("part-%05d.%s", w.comm.Rank(), extension))
	w.do(func() error {
		if part.NumRows() == 0 && (w.comm.Rank() > 0 || d.NumRows() > 0) {
			return nil // a file without rows says which columns there are, where no other does
		}
		return each(part, path)
	})
	part.Release()
	w.meet()
	if w.ended == nil && w.comm.Rank() == 0 {
		w.do(w.publish)
	}
	if w.meet() != nil {
		w.clean()
	}
	return w.ended
}

// folderWriter is a Write under way.
type folderWriter struct {
	*op
	dir, temporary string
}

// begin makes the temporary folder, of a name that rank 0 chooses. No rank makes it before all ranks know the name: so those who
// are left can take it away.
func (w *folderWriter) begin() bool {
	var number int64
	w.do(func() error {
		if w.comm.Rank() > 0 {
			return nil
		}
		if _, err := os.Lstat(w.dir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is there already", device.ErrMismatch, w.dir)
		}
		var b [8]byte
		_, err := rand.Read(b[:])
		number = int64(binary.LittleEndian.Uint64(b[:]) >> 1)
		return err
	})
	said := w.words([]int64{number})
	if said == nil {
		return false
	}
	w.temporary = w.name(said[0][0])
	if w.meet() != nil {
		w.clean() // another rank may have come further
		return false
	}
	w.do(func() error {
		if err := os.Mkdir(w.temporary, 0o777); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
	return true
}

func (w *folderWriter) name(number int64) string {
	return fmt.Sprintf("%s.%016x.tmp", w.dir, uint64(number))
}

// publish gives the folder its name, unless there is one of it by now.
func (w *folderWriter) publish() error {
	if _, err := os.Lstat(w.dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is there already", device.ErrMismatch, w.dir)
	}
	return os.Rename(w.temporary, w.dir)
}

// clean takes the temporary folder away. Each rank that sees the end does so; what is renamed first cannot get its name any more from a
// rank 0 that was stopped and wakes.
func (w *folderWriter) clean() {
	gone := fmt.Sprintf("%s.%d", w.temporary, w.comm.Rank())
	if os.Rename(w.temporary, gone) == nil { // what ended the operation says more
		_ = os.RemoveAll(gone)
	}
}
