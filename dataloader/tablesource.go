package dataloader

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// FromTable is a table as a source. The table must stay alive until the loaders over
// it are made; they hold it themselves. Of a table in a device's memory the first
// loader copies all columns to the host's; the loaders that are open together share
// the copy, which goes with the last of them.
//
// Where the table's device is Options.Device there is no such copy: the batches are
// gathered from the columns where they lie, by the device's kernels into the device's half
// of the ring, and only the numbers of the rows go there. They are those of the host bit
// for bit, and are had by FeaturesOnDevice, LabelsOnDevice and ColumnOnDevice alone. A
// table of several chunks is brought together first, on the device, as long as the loader
// is open. It is so for numbers, bools and temporal columns as numbers of 8 to 64 bits,
// with masks and without, in every layout; float16 and BFloat16, encodings, windows, a
// Transform, other sources over the table, and State, whose fingerprint is of all values,
// are made of a copy in the host's memory.
//
// Columns that are not read are better left out before, by Query.Select.
//
// What bounds random rows of columns is not bytes but lines of the cache: a
// value of 4 bytes costs one of 64, from memory where a column is larger than
// the last cache. So the columns of each matrix are laid out by rows, in the
// matrix's type: for k columns of e bytes a row is then ⌈k·e/64⌉ lines read and
// k·e bytes written. Where Options.Spare has room for all rows that is done once,
// beside the making of the first batches. Else the table is read from end to end, round
// after round, and the rows of the batches to come are laid out as they are met: a table
// of n bytes is read some n/1.6s times an epoch with s bytes of Spare. Where that would be
// more than 32 times, the first columns of each matrix are laid out, as many as there is
// room for, and those left over cost a line read and e bytes written a row each. The rows
// of a batch are then sorted, and where a column's values lie is asked for while the
// column before is read.
func FromTable(t *table.Table) Source {
	if t == nil {
		return nil
	}
	return &tableSource{t: t}
}

type tableSource struct {
	t *table.Table

	mu   sync.Mutex
	near *table.Table // the host's copy of a table on a device, as long as a reader is open, or nil
	lent int          // readers that have it
}

// nearReader is a tableReader of the host's copy of a table on a device.
type nearReader struct {
	*tableReader
	of *tableSource
}

// Close gives the copy back with the last reader that has it.
func (r *nearReader) Close() error {
	err := r.tableReader.Close()
	r.of.giveBack()
	return err
}

// giveBack ends a loan of the copy.
func (s *tableSource) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent--; s.lent == 0 {
		s.near.Release()
		s.near = nil
	}
}

// held keeps the copy of a table on a device that a source reads, if it does, until what it
// gives is called: so that a fingerprint and the reader after it make one.
func held(ctx context.Context, s Source) (func(), error) {
	switch s := s.(type) {
	case *windowed:
		return held(ctx, s.Source)
	case *derived:
		return held(ctx, s.Source)
	case *tableSource:
		if hostAddresses(s.t) {
			break
		}
		t, err := s.host(ctx)
		if err != nil {
			return nil, err
		}
		defer t.Release()
		if s.lend(t) {
			return s.giveBack, nil
		}
	}
	return func() {}, nil
}

// lend notes a loan of the copy, which t becomes where there is none; false where another
// is.
func (s *tableSource) lend(t *table.Table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.near != nil && s.near != t {
		return false
	}
	if s.near == nil {
		s.near = t.Retain()
	}
	s.lent++
	return true
}

// host is the table where the host can address it, as a reference of its own: that of
// the readers that are open, if there are any.
func (s *tableSource) host(ctx context.Context) (*table.Table, error) {
	s.mu.Lock()
	near := s.near.Retain()
	s.mu.Unlock()
	if near != nil {
		return near, nil
	}
	return addressable(ctx, s.t)
}

// keep has a reader keep the table that it reads, if that is a copy, for others.
func (s *tableSource) keep(r *tableReader) Reader {
	if r.table == s.t {
		return r
	}
	if !s.lend(r.table) {
		return r // two were opened at once: it keeps its own
	}
	return &nearReader{r, s}
}

// Name says that it is a table.
func (s *tableSource) Name() string { return "table" }

// Schema is the table's.
func (s *tableSource) Schema() *arrow.Schema { return s.t.Schema() }

// NumRows is the table's.
func (s *tableSource) NumRows() int64 { return s.t.NumRows() }

// Open prepares to gather from the table's columns.
func (s *tableSource) Open(ctx context.Context, m memory.Allocator, parts []Part, spare int64) (Reader, error) {
	return s.open(ctx, m, parts, spare, nil)
}

// openAhead is Open for who knows what comes.
func (s *tableSource) openAhead(ctx context.Context, m memory.Allocator, parts []Part, spare int64, c coming) (Reader, error) {
	return s.open(ctx, m, parts, spare, &c)
}

func (s *tableSource) open(ctx context.Context, m memory.Allocator, parts []Part, spare int64, c *coming) (Reader, error) {
	t, err := s.host(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	r, err := newTableReader(ctx, t, m, parts, spare, c)
	if err != nil {
		return nil, err
	}
	return s.keep(r), nil
}

// addressable is a table whose columns the host can address, as a reference of its own: the
// table, or where it is in a device's memory copies of all its columns. The table itself
// stays where it is.
func addressable(ctx context.Context, t *table.Table) (_ *table.Table, err error) {
	if hostAddresses(t) {
		return t.Retain(), nil
	}
	stream, err := t.Backend().Device.NewStream()
	if err != nil {
		return nil, err
	}
	m := device.NewMover(stream, memory.Heap)
	var chunks []*table.Batch
	defer func() {
		m.Release()
		err = errors.Join(err, stream.Close())
		if err != nil {
			releaseAll(chunks)
		}
	}()
	for _, b := range t.Chunks() {
		if err := device.Canceled(ctx, "", "dataloader"); err != nil {
			return nil, err
		}
		there, err := b.Move(m)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, there)
		if err := stream.Wait(ctx); err != nil {
			return nil, err
		}
	}
	made, err := table.NewTable(t.Backend(), t.Schema(), chunks)
	chunks = nil // which the table has, or has given back
	return made, err
}

// hostAddresses reports whether the host can address all of a table.
func hostAddresses(t *table.Table) bool {
	for _, b := range t.Chunks() {
		for i := range b.NumColumns() {
			if !b.Column(i).Place().HostAccessible() {
				return false
			}
		}
	}
	return true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Fingerprint is a CRC-32C of all values and of which are null.
func (s *tableSource) Fingerprint(ctx context.Context, columns []int) (uint32, error) {
	t, err := s.host(ctx)
	if err != nil {
		return 0, err
	}
	defer t.Release()
	return sumOf(t.NumRows(), columns, func(c int) (uint32, uint32, error) { return (&tableSource{t: t}).column(ctx, c) })
}

// sumOf is the sum of a number of rows and of the sums of some columns.
func sumOf(rows int64, columns []int, of func(int) (values, nulls uint32, err error)) (uint32, error) {
	sum := binary.LittleEndian.AppendUint64(nil, uint64(rows))
	for _, c := range columns {
		values, nulls, err := of(c)
		if err != nil {
			return 0, err
		}
		sum = binary.LittleEndian.AppendUint32(sum, values)
		sum = binary.LittleEndian.AppendUint32(sum, nulls)
	}
	return crc32.Checksum(sum, castagnoli), nil
}

// sumBytes is how much is summed between two looks at the context.
const sumBytes = 1 << 20

// column sums the values of a column, of which nulls count as 0, and, where
// there are any nulls, which values are none.
func (s *tableSource) column(ctx context.Context, column int) (values, nulls uint32, err error) {
	t := s.t.Schema().Field(column).Type
	number := numberOf(t)
	if number == nil {
		return s.sumEncoded(ctx, column, t)
	}
	n := newNullable(s.t, column)
	if n.bitmaps == nil && t.ID() != arrow.BOOL {
		w := int64(memory.Width(t))
		for _, b := range s.t.Chunks() {
			c := b.Column(column)
			if c.Len() == 0 {
				continue
			}
			rest := c.Buffer(1).Bytes()[c.Offset()*w : (c.Offset()+c.Len())*w]
			for len(rest) > 0 {
				if err := device.Canceled(ctx, "", "dataloader"); err != nil {
					return 0, 0, err
				}
				k := min(sumBytes, len(rest))
				values = crc32.Update(values, castagnoli, rest[:k])
				letIn()
				rest = rest[k:]
			}
		}
		return values, 0, nil
	}
	return s.sumGathered(ctx, column, number, n.bitmaps != nil)
}

// sumGathered is column by way of the gatherer, which knows bits and nulls.
func (s *tableSource) sumGathered(ctx context.Context, column int, number arrow.DataType, nullable bool) (values, nulls uint32, err error) {
	g, err := newGatherer(s.t, column, number)
	if err != nil {
		return 0, 0, err
	}
	var rows [blockRows]int64
	var chunk [blockRows]int32
	var valid [blockRows]byte
	var data [blockRows]uint64 // room for the widest number
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&data)), len(data)*8)
	for c, b := range s.t.Chunks() {
		for from := int64(0); from < b.Len(); from += blockRows {
			if err := device.Canceled(ctx, "", "dataloader"); err != nil {
				return 0, 0, err
			}
			n := min(blockRows, b.Len()-from)
			for i := range rows[:n] {
				rows[i], chunk[i], valid[i] = from+int64(i), int32(c), 1
			}
			g.gather(bytes, 0, 1, rows[:n], chunk[:n])
			g.mark(bytes, valid[:], 0, 1, rows[:n], chunk[:n])
			values = crc32.Update(values, castagnoli, bytes[:n*int64(memory.Width(number))])
			if nullable {
				nulls = crc32.Update(nulls, castagnoli, valid[:n])
			}
		}
	}
	return values, nulls, nil
}

// sumEncoded is column for texts, bytes, and lists of numbers, of which each
// value counts with its length.
func (s *tableSource) sumEncoded(ctx context.Context, column int, t arrow.DataType) (values, nulls uint32, err error) {
	isList := t.ID() == arrow.LIST || t.ID() == arrow.LARGE_LIST
	if !isList && !isBytes(t) {
		return 0, 0, device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q is of type %v, which has no sum", s.t.Schema().Field(column).Name, t)
	}
	word := make([]byte, 8)
	for _, b := range s.t.Chunks() {
		c := b.Column(column)
		var value func(row int64) []byte
		if isList {
			if value, err = listBytes(c); err != nil {
				return 0, 0, err
			}
		} else {
			value = textOf(c)
		}
		for i := range c.Len() {
			if i&0xfff == 0 {
				if err := device.Canceled(ctx, "", "dataloader"); err != nil {
					return 0, 0, err
				}
			}
			var text []byte
			word[0] = 1
			if c.IsNull(i) {
				word[0] = 0
			} else {
				text = value(i)
			}
			nulls = crc32.Update(nulls, castagnoli, word[:1])
			binary.LittleEndian.PutUint64(word, uint64(len(text)))
			values = crc32.Update(crc32.Update(values, castagnoli, word), castagnoli, text)
		}
	}
	return values, nulls, nil
}

// listBytes reads lists of numbers as the bytes of their items; which of those
// are null does not count.
func listBytes(c *memory.Column) (func(row int64) []byte, error) {
	items := c.Child(0)
	w := int64(memory.Width(items.Type()))
	if w == 0 || items.Buffer(1) == nil && items.Len() > 0 {
		return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "lists of %v have no sum", items.Type())
	}
	var bytes []byte
	if items.Len() > 0 {
		bytes = items.Buffer(1).Bytes()[items.Offset()*w:]
	}
	var span func(int64) (int64, int64)
	if c.Type().ID() == arrow.LIST {
		span = spansOf(memory.Offsets[int32](c))
	} else {
		span = spansOf(memory.Offsets[int64](c))
	}
	return func(row int64) []byte {
		from, to := span(row)
		return bytes[from*w : to*w]
	}, nil
}
