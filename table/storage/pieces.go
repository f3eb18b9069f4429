package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Pieces are files that stay open and are read piece by piece, in any order and
// from any goroutine: row groups of Parquet, record batches of Arrow IPC files,
// blocks of about a megabyte of CSV. Where pieces are and how many rows they
// have is known from the start; of their values nothing is kept.
type Pieces struct {
	name       string
	schema     *arrow.Schema
	more       error // a file has columns that the first has not
	pieces     []piece
	compressed bool
	files      []pieceFile
	rooms      *memory.Caching // pages and dictionaries of OpenWords, from piece to piece
	memory     *groupMemory
}

// keptRooms is how many bytes of pages are kept between pieces.
const keptRooms = 32 << 20

// piece is a part of a file.
type piece struct {
	part string // "row group 3"
	path string
	in   *input
	rows int64
	// spans are what is read for columns, in the order of the file.
	spans func(want *arrow.Schema) []span
	// read decodes columns; what of them is there is not read.
	read func(ctx context.Context, want *arrow.Schema, there *fetched, emit func(*table.Batch) error) error
	// words is nil where there is no such way.
	words func(ctx context.Context, want *arrow.Schema, there *fetched, as []arrow.DataType) (*WordGroup, error)
}

// emitted hands a batch, unless it is nil, to emit.
func emitted(emit func(*table.Batch) error) func(*table.Batch, error) error {
	return func(b *table.Batch, err error) error {
		if err != nil || b == nil {
			return err
		}
		return emit(b)
	}
}

// pieceFile is an open file as it was when it was opened.
type pieceFile struct {
	in    *input
	path  string
	info  fs.FileInfo
	sum   uint32 // of the footer of a Parquet file
	close func()
}

// OpenPieces opens the files of a source: a *ParquetSource, *IPCSource or
// *CSVSource; others are an ErrUnsupported, and so are IPC streams, in which
// nothing says where a record batch is, and CSV that is read leniently, whose
// blocks have a number of rows only when they are parsed. Footers are read, and
// of CSV the whole text once, to find its records. Files of other columns than
// the first are an ErrMismatch. b is where the rows are read to, and must be on
// the host. The caller closes the pieces.
func OpenPieces(ctx context.Context, b *kernels.Backend, s table.Source) (_ *Pieces, err error) {
	if p := b.Device.Place(); !p.HostAccessible() {
		return nil, device.Errorf(device.ErrUnsupported, p.String(), "storage", "pieces are read onto the host")
	}
	p := &Pieces{name: s.Name(), rooms: memory.NewCaching(hostMemory(b), keptRooms), memory: newGroupMemory()}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	switch s := s.(type) {
	case *ParquetSource:
		if err = p.openParquet(ctx, b, s); err == nil {
			p.partition(s.hive, hostMemory(b))
		}
	case *IPCSource:
		if err = p.openIPC(ctx, b, s); err == nil {
			p.partition(s.hive, hostMemory(b))
		}
	case *CSVSource:
		if err = p.openCSV(ctx, b, s); err == nil {
			p.partition(s.hive, hostMemory(b))
		}
	default:
		err = unsupported(s.Name(), "", "a source of %T has no pieces", s)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// opened notes a file, before it is looked at.
func (p *Pieces) opened(in *input, footer uint32, end func()) error {
	info, err := in.file.Stat()
	p.files = append(p.files, pieceFile{in, in.path, info, footer, end})
	return inFile(in.path, "", err, device.ErrUnavailable)
}

// Name is the source's.
func (p *Pieces) Name() string { return p.name }

// Schema is all the columns that there are.
func (p *Pieces) Schema() *arrow.Schema { return p.schema }

// Len is how many pieces there are.
func (p *Pieces) Len() int { return len(p.pieces) }

// Rows is how many rows piece i has: some.
func (p *Pieces) Rows(i int) int64 { return p.pieces[i].rows }

// Bytes is how many bytes of the file the named columns of piece i take, all if columns is nil.
func (p *Pieces) Bytes(i int, columns []string) (int64, error) {
	want, err := project(p.name, p.schema, columns)
	if err != nil {
		return 0, err
	}
	return sizeOf(p.pieces[i].spans(want)), nil
}

// Compressed reports whether there are pieces of Arrow IPC that MapIPC cannot
// take as they lie.
func (p *Pieces) Compressed() bool { return p.compressed }

// At is the file that piece i is in, and which part of it.
func (p *Pieces) At(i int) (path, part string) { return p.pieces[i].path, p.pieces[i].part }

// Read is Begin and Read of a piece, and its end.
func (p *Pieces) Read(ctx context.Context, i int, columns []string) ([]*table.Batch, error) {
	r, err := p.Begin(i, columns)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Read(ctx)
}

// OpenWords is Begin, Fetch and OpenWords of a piece, and its end.
func (p *Pieces) OpenWords(ctx context.Context, i int, columns []string, as []arrow.DataType) (*WordGroup, error) {
	r, err := p.Begin(i, columns)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.Fetch(ctx)
	return r.OpenWords(ctx, as)
}

// Check is an ErrMismatch that names the first file that is not any more what
// it was when it was opened: of another size or time, replaced, or gone. Values are not
// read: those that were changed behind a file's size and time are found by the checksums of
// the pages, when they are decoded, and not where a writer put none.
func (p *Pieces) Check(ctx context.Context) error {
	for _, f := range p.files {
		if err := canceled(ctx, f.path); err != nil {
			return err
		}
		now, err := os.Stat(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &Error{Path: f.path, Kind: device.ErrMismatch, Text: "it is gone since it was opened"}
		case err != nil:
			return inFile(f.path, "", err, device.ErrUnavailable)
		case now.Size() != f.info.Size():
			return &Error{Path: f.path, Kind: device.ErrMismatch, Text: fmt.Sprintf("it has %d bytes, and had %d when it was opened", now.Size(), f.info.Size())}
		case !now.ModTime().Equal(f.info.ModTime()):
			return &Error{Path: f.path, Kind: device.ErrMismatch, Text: "it was written since it was opened"}
		case !os.SameFile(now, f.info):
			return &Error{Path: f.path, Kind: device.ErrMismatch, Text: "it was replaced since it was opened"}
		}
	}
	return nil
}

// Fingerprint is a number that is another when a file has another size, time of
// its last change, division into pieces, or, of Parquet, another footer: the places and
// sizes of its columns, and the extremes of their values where the writer put them there.
// Values are not read.
func (p *Pieces) Fingerprint() uint32 {
	var text []byte
	for _, f := range p.files {
		text = binary.LittleEndian.AppendUint64(text, uint64(f.info.Size()))
		text = binary.LittleEndian.AppendUint64(text, uint64(f.info.ModTime().UnixNano()))
		text = binary.LittleEndian.AppendUint32(text, f.sum)
	}
	for _, one := range p.pieces {
		text = binary.LittleEndian.AppendUint64(text, uint64(one.rows))
	}
	return crc32.ChecksumIEEE(text)
}

// ReadTime is how long reading from the files has taken, all goroutines together.
// What maps its files does not count.
func (p *Pieces) ReadTime() (sum time.Duration) {
	for _, f := range p.files {
		sum += time.Duration(f.in.busy.Load())
	}
	return sum
}

// Close closes the files. No Read may run. Closing twice is allowed.
func (p *Pieces) Close() {
	for _, f := range p.files {
		f.close()
	}
	p.files, p.pieces = nil, nil
	p.memory.drop()
	p.rooms.Trim()
}
