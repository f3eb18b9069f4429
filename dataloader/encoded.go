package dataloader

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/float16"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// encoded reads one column that has an Encoding.
type encoded interface {
	// put writes the elements of rows into the tensor's rows from at on, its
	// columns from column on. A row that cannot be encoded is a *rowError. What calls
	// the user's functions looks between rows whether the context has ended.
	put(ctx context.Context, to *Tensor, at, column int64, rows []int64, chunk []int32) error
}

// rowError is what is wrong with a row, by its number among those asked for.
type rowError struct {
	at  int
	err error
}

// Error is what is wrong.
func (e *rowError) Error() string { return e.err.Error() }

// Unwrap is what is wrong.
func (e *rowError) Unwrap() error { return e.err }

// setter writes a number as an element.
type setter func(data []byte, at int64, x float64)

// setterOf writes elements of a type. Whole numbers up to 2⁵³ are exact.
func setterOf(t arrow.DataType) (setter, error) {
	switch {
	case t == BFloat16:
		return func(d []byte, at int64, x float64) { view[uint16](d)[at] = float16.RoundBrain(float32(x)) }, nil
	case t.ID() == arrow.FLOAT16:
		return func(d []byte, at int64, x float64) { view[uint16](d)[at] = float16.Round(float32(x)) }, nil
	case t.ID() == arrow.FLOAT32:
		return set[float32], nil
	case t.ID() == arrow.FLOAT64:
		return set[float64], nil
	case t.ID() == arrow.INT32:
		return set[int32], nil
	case t.ID() == arrow.INT64:
		return set[int64], nil
	case t.ID() == arrow.UINT8:
		return set[uint8], nil
	}
	return nil, unsupportedType(t)
}

func set[T Element](d []byte, at int64, x float64) { view[T](d)[at] = T(x) }

// newEncoded reads a column of a host table by its encoding.
func newEncoded(t *table.Table, column int, e *Encoding, to arrow.DataType) (encoded, error) {
	n := newNullable(t, column)
	if e.made == encodeList {
		return newLists(t, column, e, to, n)
	}
	texts := make([]func(row int64) []byte, len(t.Chunks()))
	for i, b := range t.Chunks() {
		texts[i] = textOf(b.Column(column))
	}
	if e.made == encodeBytes {
		return &decoded{n, e, texts}, nil
	}
	write, err := setterOf(to)
	if err != nil {
		return nil, err
	}
	c := &categories{nullable: n, encoding: e, texts: texts, set: write, codes: map[string]int{}}
	for i, v := range e.values {
		c.codes[v] = i
	}
	return c, nil
}

// textOf reads values as bytes: those of texts, and whole numbers in decimal.
func textOf(c *memory.Column) func(row int64) []byte {
	switch t := c.Type(); t.ID() {
	case arrow.STRING, arrow.BINARY:
		return slicesOf(memory.Offsets[int32](c), c.Buffer(2))
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return slicesOf(memory.Offsets[int64](c), c.Buffer(2))
	case arrow.FIXED_SIZE_BINARY:
		w := int64(t.(*arrow.FixedSizeBinaryType).ByteWidth)
		bytes := c.Buffer(1).Bytes()[c.Offset()*w:]
		return func(row int64) []byte { return bytes[row*w : (row+1)*w] }
	case arrow.DICTIONARY:
		values := textOf(c.Dictionary())
		return func(row int64) []byte { return values(c.Index(row)) }
	case arrow.BOOL:
		return func(row int64) []byte { return strconv.AppendBool(nil, c.Bits().Get(c.Offset()+row)) }
	case arrow.INT8:
		return wholeOf[int8](c)
	case arrow.INT16:
		return wholeOf[int16](c)
	case arrow.INT32:
		return wholeOf[int32](c)
	case arrow.UINT8:
		return wholeOf[uint8](c)
	case arrow.UINT16:
		return wholeOf[uint16](c)
	case arrow.UINT32:
		return wholeOf[uint32](c)
	case arrow.UINT64:
		v := memory.Values[uint64](c)
		return func(row int64) []byte { return strconv.AppendUint(nil, v[row], 10) }
	default:
		return wholeOf[int64](c)
	}
}

func slicesOf[T int32 | int64](offsets []T, b *memory.Buffer) func(int64) []byte {
	var bytes []byte
	if b != nil {
		bytes = b.Bytes()
	}
	return func(row int64) []byte { return bytes[offsets[row]:offsets[row+1]] }
}

func wholeOf[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](c *memory.Column) func(int64) []byte {
	v := memory.Values[T](c)
	return func(row int64) []byte { return strconv.AppendInt(nil, int64(v[row]), 10) }
}

// chunkOf is the chunk of row i.
func chunkOf(chunk []int32, i int) int {
	if chunk == nil {
		return 0
	}
	return int(chunk[i])
}

// categories are a column by the places of its values in a list.
type categories struct {
	nullable
	encoding *Encoding
	texts    []func(int64) []byte
	codes    map[string]int
	set      setter
}

func (c *categories) put(_ context.Context, to *Tensor, at, column int64, rows []int64, chunk []int32) error {
	n := c.encoding.elements()
	for i, r := range rows {
		k := (at+int64(i))*to.RowStride + column*to.ColumnStride
		for j := range n {
			c.set(to.Data, k+j*to.ColumnStride, 0)
		}
		if c.at(i, rows, chunk) {
			for j := range n {
				if to.Valid != nil {
					to.Valid[k+j*to.ColumnStride] = 0
				}
			}
			continue
		}
		text := c.texts[chunkOf(chunk, i)](r)
		code, known := c.codes[string(text)]
		switch {
		case !known && !c.encoding.unknown:
			return &rowError{i, device.Errorf(device.ErrValue, "", "dataloader", "the value %.40q is in no category", text)}
		case c.encoding.made == encodeOneHot && known:
			c.set(to.Data, k+int64(code)*to.ColumnStride, 1)
		case c.encoding.made == encodeCategory && known:
			c.set(to.Data, k, float64(code))
		case c.encoding.made == encodeCategory:
			c.set(to.Data, k, -1)
		}
	}
	return nil
}

// decoded are a column by a function of the user's.
type decoded struct {
	nullable
	encoding *Encoding
	texts    []func(int64) []byte
}

func (d *decoded) put(ctx context.Context, to *Tensor, at, _ int64, rows []int64, chunk []int32) error {
	w := to.RowStride * widthOf(to.Type)
	for i, r := range rows {
		k := at + int64(i)
		own := to.Data[k*w : (k+1)*w : (k+1)*w]
		if d.at(i, rows, chunk) {
			clear(own)
			clear(to.Valid[min(int64(len(to.Valid)), k*to.RowStride):min(int64(len(to.Valid)), (k+1)*to.RowStride)])
			continue
		}
		if err := device.Canceled(ctx, "", "dataloader"); err != nil {
			return err
		}
		if err := d.encoding.decode(d.texts[chunkOf(chunk, i)](r), own); err != nil {
			return &rowError{i, fmt.Errorf("decoding: %w", err)}
		}
	}
	return nil
}

// lists are a column of lists of numbers.
type lists struct {
	nullable
	encoding *Encoding
	spans    []func(row int64) (from, to int64)
	items    []gatherer // of each chunk
	set      setter
}

func newLists(t *table.Table, column int, e *Encoding, to arrow.DataType, n nullable) (encoded, error) {
	write, err := setterOf(to)
	if err != nil {
		return nil, err
	}
	l := &lists{nullable: n, encoding: e, set: write}
	f := t.Schema().Field(column)
	for _, b := range t.Chunks() {
		c := b.Column(column)
		if f.Type.ID() == arrow.LIST {
			l.spans = append(l.spans, spansOf(memory.Offsets[int32](c)))
		} else {
			l.spans = append(l.spans, spansOf(memory.Offsets[int64](c)))
		}
		item := arrow.NewSchema([]arrow.Field{{Name: f.Name, Type: c.Child(0).Type(), Nullable: true}}, nil)
		batch, err := table.NewBatch(item, c.Child(0).Len(), []*memory.Column{c.Child(0).Retain()})
		if err != nil {
			return nil, err
		}
		one, err := table.NewTable(t.Backend(), item, []*table.Batch{batch})
		if err != nil {
			return nil, err
		}
		defer one.Release() // the list's own column keeps the items
		var g gatherer
		if c.Child(0).Len() > 0 {
			if g, err = newGatherer(one, 0, to); err != nil {
				return nil, err
			}
		}
		l.items = append(l.items, g)
	}
	return l, nil
}

func spansOf[T int32 | int64](offsets []T) func(int64) (int64, int64) {
	return func(row int64) (int64, int64) { return int64(offsets[row]), int64(offsets[row+1]) }
}

func (l *lists) put(_ context.Context, to *Tensor, at, _ int64, rows []int64, chunk []int32) error {
	for i, r := range rows {
		k, c := at+int64(i), chunkOf(chunk, i)
		from, end := l.spans[c](r)
		null := l.at(i, rows, chunk)
		if null {
			from, end = 0, 0
		}
		if n := end - from; n > l.encoding.length {
			if !l.encoding.cut {
				return &rowError{i, device.Errorf(device.ErrValue, "", "dataloader", "a list of %d items, where there may be %d", n, l.encoding.length)}
			}
			end = from + l.encoding.length
		}
		to.Offsets[k+1] = end - from
		l.copyItems(to, k*to.RowStride, l.items[c], from, end)
		for j := end - from; j < l.encoding.length; j++ {
			l.set(to.Data, k*to.RowStride+j, l.encoding.pad)
			if to.Valid != nil {
				to.Valid[k*to.RowStride+j] = 0
			}
		}
	}
	return nil
}

// copyItems writes items beside each other.
func (l *lists) copyItems(to *Tensor, at int64, g gatherer, from, end int64) {
	var rows [64]int64
	for from < end {
		n := min(int64(len(rows)), end-from)
		for i := range rows[:n] {
			rows[i] = from + int64(i)
		}
		g.gather(to.Data, at, 1, rows[:n], nil)
		g.mark(to.Data, to.Valid, at, 1, rows[:n], nil)
		from, at = from+n, at+n
	}
}
