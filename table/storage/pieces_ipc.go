package storage

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// openIPC finds the record batches.
func (p *Pieces) openIPC(ctx context.Context, b *kernels.Backend, s *IPCSource) error {
	if s.err != nil {
		return s.err
	}
	for _, path := range s.paths {
		in, err := openIPC(ctx, path, hostMemory(b), s.options)
		if err != nil {
			return err
		}
		f, ok := in.(*ipcFile)
		if !ok {
			in.close()
			return unsupported(path, "", "an IPC stream does not say where its record batches are: convert it to an IPC file")
		}
		if err := p.opened(f.input, 0, f.close); err != nil {
			return err
		}
		columns := s.columns(f)
		if p.schema == nil {
			p.schema = columns
		}
		if p.more == nil {
			p.more = sameColumns(path, p.schema, columns, true)
		}
		if err := sameColumns(path, p.schema, columns, false); err != nil {
			return err
		}
		for i := range f.batches {
			head, err := f.head(i)
			if err != nil {
				return err
			}
			p.compressed = p.compressed || head.compressed
			if head.rows > 0 {
				at := span{f.batches[i].Offset, f.batches[i].Meta + f.batches[i].Body}
				p.pieces = append(p.pieces, piece{part: recordBatch(i), path: path, in: f.input, rows: head.rows, spans: func(*arrow.Schema) []span {
					return []span{at} // with all columns
				}, read: func(ctx context.Context, want *arrow.Schema, _ *fetched, emit func(*table.Batch) error) error {
					if err := canceled(ctx, path); err != nil {
						return err
					}
					rec, err := f.record(i)
					if err != nil {
						return err
					}
					defer rec.Release()
					return emitted(emit)((&ipcScan{want: want}).wanted(path, i, f.arena, rec))
				}})
			}
		}
	}
	return nil
}

// ipcHead is what the metadata of a record batch says.
type ipcHead struct {
	rows       int64
	compressed bool
}

// head reads the metadata of batch i.
func (f *ipcFile) head(i int) (h ipcHead, err error) {
	defer guard(f.path, recordBatch(i), &err)
	meta, err := checkBlock(f.input, f.batches[i], filemeta.KindBatch)
	if err != nil {
		return h, inFile(f.path, recordBatch(i), err, ErrFormat)
	}
	w := filemeta.NewFlatWalk(meta)
	batch := w.Follow(w.Field(w.U32(0), 2))
	if at := w.Field(batch, 0); at != 0 {
		h.rows = w.I64(at)
	}
	h.compressed = w.Field(batch, 3) != 0
	if w.Bad || h.rows < 0 {
		return h, damaged(f.path, recordBatch(i), "its metadata does not say how many rows it has")
	}
	return h, nil
}

// MapIPC is a table over Arrow IPC files as they lie on disk, of the named
// columns in the files' order (nil: all). Nothing is copied and nothing read
// before it is used, so the table may be larger than memory; a chunk is a record
// batch. The files are mapped where the system can and read whole elsewhere.
// They must not be cut shorter while the table lives: the system ends a process
// that reads what is not there any more. Compressed batches are an
// ErrUnsupported, as they cannot be used where they lie; views, and dictionaries
// that come in several messages, are copied (see memory.Held). The caller releases
// the table, and with it and all that was made of it go the mappings.
func MapIPC(ctx context.Context, backend *kernels.Backend, s *IPCSource, columns []string) (_ *table.Table, err error) {
	if p := backend.Device.Place(); !p.HostAccessible() {
		return nil, device.Errorf(device.ErrUnsupported, p.String(), "storage", "files are mapped into the host's memory")
	}
	if s.err != nil {
		return nil, s.err
	}
	var first, want, files *arrow.Schema // of the first file, and of what is wanted: all, and what is in the files
	var keys []int
	var chunks []*table.Batch
	defer func() {
		if err != nil {
			for _, c := range chunks {
				c.Release()
			}
		}
	}()
	for _, path := range s.paths {
		m, err := mapIPC(ctx, path)
		if err != nil {
			return nil, err
		}
		if want == nil {
			first = m.schema
			if want, err = project(path, s.hive.schema(first), columns); err != nil {
				m.close()
				return nil, err
			}
			files, keys = s.hive.split(want, first)
		}
		err = sameColumns(path, files, m.schema, false)
		if err == nil && columns == nil {
			err = sameColumns(path, first, m.schema, true)
		}
		for i := 0; err == nil && i < len(m.batches); i++ {
			err = m.chunk(ctx, i, files, func(b *table.Batch) (err error) {
				if len(keys) > 0 {
					if b, err = s.hive.of(path).with(hostMemory(backend), b, want, keys); err != nil {
						return err
					}
				}
				chunks = append(chunks, b)
				return nil
			})
		}
		m.close()
		if err != nil {
			return nil, err
		}
	}
	t, err := table.NewTable(backend, want, slices.Clone(chunks))
	if err != nil {
		chunks = nil // NewTable has released them
	}
	return t, err
}

// mapIPC opens a file over its mapping. Closing it leaves the mapping to the
// columns that were made over it.
func mapIPC(ctx context.Context, path string) (*ipcFile, error) {
	if err := canceled(ctx, path); err != nil {
		return nil, err
	}
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*ipcFile, error) {
		in.close()
		return nil, err
	}
	head := make([]byte, len(ipcMagic))
	if n, err := in.ReadAt(head, 0); n < len(head) || string(head) != ipcMagic {
		return fail(inFile(path, "", orFormat(err), ErrFormat))
	}
	bytes, release, err := mapFile(in.file, in.size)
	if err != nil {
		return fail(inFile(path, "", err, device.ErrUnavailable))
	}
	mapped := memory.Wrap(bytes, release)
	f, err := openMapped(ctx, in, mapped)
	if err != nil {
		mapped.Release()
		return fail(err)
	}
	return f, nil
}

// orFormat is the error of a file that does not begin as it should.
func orFormat(err error) error {
	if err == nil {
		return ErrFormat
	}
	return err
}

// chunk is record batch i as it lies in the mapping.
func (f *ipcFile) chunk(ctx context.Context, i int, want *arrow.Schema, emit func(*table.Batch) error) error {
	if err := canceled(ctx, f.path); err != nil {
		return err
	}
	h, err := f.head(i)
	if err != nil {
		return err
	}
	if h.compressed {
		return unsupported(f.path, "", "%s is compressed, and can be read but not mapped", recordBatch(i))
	}
	if h.rows == 0 {
		return nil
	}
	rec, err := f.record(i)
	if err != nil {
		return err
	}
	defer rec.Release()
	return emitted(emit)((&ipcScan{want: want}).wanted(f.path, i, f.arena, rec))
}
