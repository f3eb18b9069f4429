package distributed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestWriteAndScan: what ranks write into a folder other numbers of ranks read back, in order, by
// pieces; a folder that is there is not touched.
func TestWriteAndScan(t *testing.T) {
	for _, n := range sizes {
		for i, shape := range []string{"even", "empty ranks", "all on one rank", "no rows"} {
			dir := filepath.Join(t.TempDir(), "out")
			s := newSource(shape, uint64(i), 900, n)
			each(t, n, func(r *rank) error {
				d, err := r.spread(s, "")
				if err != nil {
					return err
				}
				defer d.Release()
				if err := d.WriteParquet(r, dir, storage.ParquetOptions{RowGroupRows: 50}); err != nil {
					return err
				}
				err = d.Write(r, dir)
				var e *agree.Error
				require.ErrorAs(r.t, err, &e)
				require.ErrorContains(r.t, err, "is there already")
				return nil
			})
			left, err := filepath.Glob(dir + "*")
			require.NoError(t, err)
			require.Equal(t, []string{dir}, left, "nothing temporary is left")
			for _, readers := range []int{1 + (n+i)%3, 7} {
				each(t, readers, func(r *rank) error {
					if !r.backend.Device.Place().HostAccessible() {
						return nil
					}
					source, err := storage.Folder(dir)
					if err != nil {
						return err
					}
					whole := s.whole(r.backend, "")
					defer whole.Release()
					for _, columns := range [][]string{nil, {"v", "k"}} {
						got, err := Scan(r, r.comm, r.backend, source, columns...)
						if err != nil {
							return err
						}
						all, err := r.all(got)
						if err != nil {
							return err
						}
						want := whole.Query()
						if columns != nil {
							want = want.Select("k", "v")
						}
						local, err := want.Collect(r)
						if err != nil {
							return err
						}
						require.Equal(r.t, rows(local), all)
						if shape == "even" && readers < 7 {
							require.Less(r.t, balanced(got.Counts()), 1.4)
						}
						local.Release()
						got.Release()
					}
					return nil
				})
			}
		}
	}
}

// TestWriteOtherFiles: CSV and Arrow IPC files are read back as they were, in order, in as many files as ranks have rows.
func TestWriteOtherFiles(t *testing.T) {
	for i, shape := range []string{"even", "empty ranks", "no rows"} {
		for extension, write := range map[string]func(r *rank, d *Table, dir string) error{
			"csv":    func(r *rank, d *Table, dir string) error { return d.WriteCSV(r, dir, storage.CSVWriteOptions{}) },
			"arrow":  func(r *rank, d *Table, dir string) error { return d.WriteIPC(r, dir, storage.IPCOptions{}) },
			"arrows": func(r *rank, d *Table, dir string) error { return d.WriteIPC(r, dir, storage.IPCOptions{Stream: true}) },
		} {
			dir := filepath.Join(t.TempDir(), extension)
			each(t, 3, func(r *rank) error {
				d, err := r.spread(newSource(shape, uint64(i), 200, 3), "")
				if err != nil {
					return err
				}
				defer d.Release()
				if err := write(r, d, dir); err != nil {
					return err
				}
				require.ErrorContains(r.t, write(r, d, dir), "is there already")
				files := 0
				for rank, n := range d.Counts() {
					if n > 0 || d.NumRows() == 0 && rank == 0 {
						files++
					}
				}
				found, err := filepath.Glob(filepath.Join(dir, "part-0000?."+extension))
				require.NoError(r.t, err)
				require.Len(r.t, found, files)
				if extension == "arrows" || !r.backend.Device.Place().HostAccessible() {
					return nil
				}
				source, err := storage.Folder(dir)
				if err != nil {
					return err
				}
				back, err := Scan(r, r.comm, r.backend, source)
				if err != nil {
					return err
				}
				defer back.Release()
				want, err := r.all(d)
				if err != nil {
					return err
				}
				got, err := r.all(back)
				if err != nil {
					return err
				}
				require.Equal(r.t, want, got)
				require.Equal(r.t, names(d.Schema()), names(back.Schema()))
				return nil
			})
			left, err := filepath.Glob(dir + "*")
			require.NoError(t, err)
			require.Equal(t, []string{dir}, left, "nothing temporary is left")
		}
	}
}

// TestWriteLeavesNothing: an error of one rank leaves neither the folder nor a temporary one.
func TestWriteLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	each(t, 3, func(r *rank) error {
		d, err := r.spread(newSource("even", 1, 90, 3), "")
		if err != nil {
			return err
		}
		defer d.Release()
		w := &folderWriter{op: d.start(r, "Write", dir), dir: dir}
		require.True(r.t, w.begin())
		require.DirExists(r.t, w.temporary)
		path := filepath.Join(w.temporary, "part")
		w.do(func() error {
			if r.id() == 1 {
				return os.ErrPermission
			}
			return os.WriteFile(path+string(rune('0'+r.id())), []byte("x"), 0o666)
		})
		require.ErrorContains(r.t, w.meet(), "rank 1: permission denied")
		w.clean()
		return nil
	})
	left, err := filepath.Glob(dir + "*")
	require.NoError(t, err)
	require.Empty(t, left)
	each(t, 2, func(r *rank) error {
		d, err := r.spread(newSource("even", 1, 90, 2), "")
		if err != nil {
			return err
		}
		defer d.Release()
		require.ErrorContains(r.t, d.Write(r, filepath.Join(dir, "deep", "out")), "ranks 0, 1: mkdir")
		return nil
	})
}

// TestScanRefuses ranks that see other files, columns that are not there, and sources that are not files.
func TestScanRefuses(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a.parquet"), filepath.Join(dir, "b.parquet")}
	each(t, 2, func(r *rank) error {
		if !r.backend.Device.Place().HostAccessible() {
			return nil
		}
		one := ints(r.backend, "k", make([]int64, 5+r.id()))
		defer one.Release()
		if err := storage.WriteParquet(r, one, paths[r.id()], storage.ParquetOptions{}); err != nil {
			return err
		}
		if err := r.comm.Barrier(r); err != nil {
			return err
		}
		_, err := Scan(r, r.comm, r.backend, storage.Parquet(paths[0]), "nobody")
		require.ErrorContains(r.t, err, "nobody")
		_, err = Scan(r, r.comm, r.backend, nil)
		require.ErrorIs(r.t, err, device.ErrMismatch)
		var source table.Source = storage.Parquet(filepath.Join(dir, "none.parquet"))
		if r.id() == 1 {
			source = storage.Parquet(paths[0])
		}
		_, err = Scan(r, r.comm, r.backend, source)
		require.ErrorContains(r.t, err, "none.parquet")
		link := filepath.Join(dir, "same.parquet")
		if r.id() == 0 {
			require.NoError(r.t, os.Link(paths[0], link))
		}
		if err := r.comm.Barrier(r); err != nil {
			return err
		}
		got, err := Scan(r, r.comm, r.backend, storage.Parquet(link))
		if err != nil {
			return err
		}
		require.Equal(r.t, int64(5), got.NumRows())
		got.Release()
		return nil
	})
}
