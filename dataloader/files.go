package dataloader

import (
	"context"
	"runtime/debug"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// defaultCache is FileOptions.Cache when it is 0.
const defaultCache = 256 << 20

// FileOptions say how files are read for a loader.
type FileOptions struct {
	// Cache is how many bytes of decoded pieces are kept; 0 means 256 MiB, and of an
	// epoch in the order of the rows what is decoded ahead: a piece for each
	// processor beside the one in use. What is in use at the moment is kept in any
	// case, at most a piece for each worker and processor.
	Cache int64
}

// Files are files of any size as a source. They are read piece by piece: row
// groups of Parquet, record batches of compressed Arrow IPC files, blocks of
// about a megabyte of CSV. Decoded pieces are kept in a cache of bounded size.
// Arrow IPC files that are not compressed are mapped and gathered from where
// they lie.
//
// Every order works. With Shuffle a batch has rows of all pieces: good where they
// are mapped, or fit the cache; beyond that each is decoded again and again. The
// order of Order, shuffled blocks through a buffer, decodes each piece once an
// epoch.
//
// A file that is not what it was when it was opened is an ErrMismatch of the
// first batch of an epoch, and of Resume, which know files by their sizes and
// times, and of Parquet Resume by their footers: values are not read for it. A piece that
// cannot be decoded, or whose pages, of flat columns and of lists, are not what their
// checksums say, is an error that names file and part, or with Options.SkipBad left out.
// Values that are changed behind a file's size and time, in pages for which its writer put
// no checksums there (most do not), are read as they are.
//
// Pieces are read by goroutines, and decoded by others: while some are decoded the next
// ones are read, up to 8 MiB each. Larger row groups and record batches are read as they
// are decoded, and on Linux the system is told before that they are wanted. What is mapped
// is not read.
type Files struct {
	backend *kernels.Backend
	source  table.Source
	pieces  *storage.Pieces
	starts  []int64
	cache   int64
	mapped  *storage.IPCSource // nil where pieces are decoded
	begin   func(i int, names []string) (rawPiece, error)
}

// FromFiles opens the files of a storage.Parquet, IPC or CSV source. Footers are
// read, and of CSV the whole text once. b is a backend on the host, in whose
// memory pieces are decoded. The caller closes the files, after the loaders.
func FromFiles(ctx context.Context, b *kernels.Backend, s table.Source, o FileOptions) (*Files, error) {
	if b == nil || s == nil {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader.FromFiles", "there is no backend or no source")
	}
	pieces, err := storage.OpenPieces(ctx, b, s)
	if err != nil {
		return nil, err
	}
	f := &Files{backend: b, source: s, pieces: pieces, cache: o.Cache, starts: []int64{0}}
	f.begin = f.beginPiece
	for i := range pieces.Len() {
		f.starts = append(f.starts, f.starts[i]+pieces.Rows(i))
	}
	if s, ok := s.(*storage.IPCSource); ok && !pieces.Compressed() {
		f.mapped = s
	}
	return f, nil
}

// Name is the file's path, or the first one and how many more there are.
func (f *Files) Name() string { return f.pieces.Name() }

// Schema is all columns of the files.
func (f *Files) Schema() *arrow.Schema { return f.pieces.Schema() }

// NumRows is how many rows the files have together.
func (f *Files) NumRows() int64 { return f.starts[len(f.starts)-1] }

// Blocks are the numbers of rows of the pieces.
func (f *Files) Blocks() []int64 {
	var sizes []int64
	for i := range f.pieces.Len() {
		sizes = append(sizes, f.pieces.Rows(i))
	}
	return sizes
}

// Order is shuffled pieces through a buffer of at least so many rows: see
// order.Blocks. Let the cache have room for two buffers.
func (f *Files) Order(buffer int64, seed uint64) (order.Order, error) {
	return order.Blocks(f.Blocks(), buffer, seed)
}

// Fingerprint is that of the files' sizes and times.
func (f *Files) Fingerprint(ctx context.Context, _ []int) (uint32, error) {
	if err := f.pieces.Check(ctx); err != nil {
		return 0, err
	}
	return f.pieces.Fingerprint(), nil
}

// Close closes the files. No loader over them may be open.
func (f *Files) Close() error {
	f.pieces.Close()
	return nil
}

// Open prepares to read some columns.
func (f *Files) Open(ctx context.Context, m memory.Allocator, parts []Part, spare int64) (Reader, error) {
	return f.open(ctx, m, parts, spare, nil)
}

// openAhead is Open for who knows what comes.
func (f *Files) openAhead(ctx context.Context, m memory.Allocator, parts []Part, spare int64, c coming) (Reader, error) {
	return f.open(ctx, m, parts, spare, &c)
}

func (f *Files) open(ctx context.Context, m memory.Allocator, parts []Part, spare int64, c *coming) (Reader, error) {
	names, narrowed := narrow(f.Schema(), parts)
	if f.mapped == nil {
		return f.decoded(names, narrowed, m, spare, c), nil
	}
	t, err := storage.MapIPC(ctx, f.backend, f.mapped, names)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	r, err := newTableReader(ctx, t, m, narrowed, spare, c)
	if err != nil {
		return nil, err
	}
	return &mappedReader{r, f.pieces}, nil
}

// at names a piece.
func (f *Files) at(i int) string {
	path, part := f.pieces.At(i)
	return path + ": " + part
}

// narrow gives the columns that the parts read, in the order of the schema, and
// the parts over these alone.
func narrow(s *arrow.Schema, parts []Part) (names []string, narrowed []Part) {
	var columns []int
	for _, p := range parts {
		columns = append(columns, p.Columns...)
	}
	slices.Sort(columns)
	columns = slices.Compact(columns)
	names = []string{}
	for _, c := range columns {
		names = append(names, s.Field(c).Name)
	}
	for _, p := range parts {
		own := make([]int, len(p.Columns))
		for i, c := range p.Columns {
			own[i] = slices.Index(columns, c)
		}
		p.Columns = own
		narrowed = append(narrowed, p)
	}
	return names, narrowed
}

// mappedReader gathers from mapped files.
type mappedReader struct {
	*tableReader
	pieces *storage.Pieces
}

// Check looks whether the files are what they were.
func (r *mappedReader) Check(ctx context.Context) error { return r.pieces.Check(ctx) }

// Read gathers, as readTicket does with no ticket.
func (r *mappedReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	return r.readTicket(ctx, -1, rows, to)
}

// readTicket gathers. Where a file was cut short, and what was mapped is not there, it
// is an error and not the end of the process.
func (r *mappedReader) readTicket(ctx context.Context, ticket int64, rows []int64, to []Tensor) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			if fault, ok := p.(interface{ Addr() uintptr }); ok {
				err = device.Errorf(device.ErrLost, "", "dataloader", "%s was cut short while it was read: at address %#x there is nothing any more", r.pieces.Name(), fault.Addr())
				return
			}
			err = device.Errorf(device.ErrValue, "", "dataloader", "%s: %v", r.pieces.Name(), p)
		}
	}()
	if ticket < 0 {
		return r.tableReader.Read(ctx, rows, to)
	}
	return r.tableReader.readTicket(ctx, ticket, rows, to)
}
