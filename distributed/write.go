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
	"github.com/volley-go/volley/table/storage"
)

// Write writes the table into a new folder, which all ranks must reach by this path: every
// rank that has rows a Parquet file of its own, part-00000.parquet and so on. The names'
// order is that of the rows, so storage.Folder and Scan read them back as they were.
//
// The folder is not there until all is written: the ranks write into one beside it, of
// a temporary name, which rank 0 renames when all are done. After an error nothing is
// left of it, unless rank 0 is lost. A folder or file of that name is an ErrMismatch.
func (d *Table) Write(ctx context.Context, dir string) error {
	return d.WriteParquet(ctx, dir, storage.ParquetOptions{})
}

// WriteParquet is Write with options.
func (d *Table) WriteParquet(ctx context.Context, dir string, options storage.ParquetOptions) error {
	w := &folderWriter{op: d.start(ctx, "Write", dir), dir: filepath.Clean(dir)}
	if !w.begin() {
		return w.ended
	}
	part := w.once(d)
	path := filepath.Join(w.temporary, fmt.Sprintf("part-%05d.parquet", w.comm.Rank()))
	w.do(func() error {
		if part.NumRows() == 0 && (w.comm.Rank() > 0 || d.NumRows() > 0) {
			return nil // a file without rows says which columns there are, where no other does
		}
		return storage.WriteParquet(ctx, part, path, options)
	})
	part.Release()
	w.meet()
	if w.ended != nil { // on all ranks: nobody writes any more, or the Comm has ended
		w.clean(path)
		return w.ended
	}
	if w.comm.Rank() == 0 {
		w.do(w.publish)
	}
	if w.meet() != nil {
		w.clean(path)
	}
	return w.ended
}

// folderWriter is a Write under way.
type folderWriter struct {
	*op
	dir, temporary string
}

// begin makes the temporary folder, of a name that rank 0 chooses.
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
		if _, err := rand.Read(b[:]); err != nil {
			return err
		}
		number = int64(binary.LittleEndian.Uint64(b[:]) >> 1)
		return os.Mkdir(w.name(number), 0o777)
	})
	said := w.words([]int64{number})
	if said == nil {
		if number != 0 {
			_ = os.Remove(w.name(number)) // what ended the operation says more
		}
		return false
	}
	w.temporary = w.name(said[0][0])
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

// clean takes away what there is of the temporary folder: rank 0 all of it, the others what
// they wrote.
func (w *folderWriter) clean(path string) {
	if w.comm.Rank() == 0 {
		_ = os.RemoveAll(w.temporary) // what ended the operation says more
		return
	}
	_ = os.Remove(path)
	_ = os.Remove(w.temporary) // where rank 0 is lost the last one takes the folder away
}
