package dataloader

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table/storage"
)

// wordFiles are files whose columns are decoded straight into tensors of 32 bits.
type wordFiles struct {
	names []string         // of the columns that are read
	as    []arrow.DataType // what each becomes
	parts []Part
}

// words says how all parts are decoded as words; nil where they are not: where one is
// not of 32 bits, has an encoding, or a column that is in two parts or becomes no
// word.
func (f *Files) words(names []string, parts []Part) *wordFiles {
	w := &wordFiles{names: names, as: make([]arrow.DataType, len(names)), parts: parts}
	for _, p := range parts {
		if p.Encodings != nil || p.width() != 4 {
			return nil
		}
		for _, c := range p.Columns {
			own := f.Schema().Field(f.Schema().FieldIndices(names[c])[0]).Type
			if w.as[c] != nil || !arrow.TypeEqual(own, p.Type) && p.Type.ID() != arrow.FLOAT32 {
				return nil
			}
			w.as[c] = p.Type
		}
	}
	return w
}

// open gives a piece, decoded as batches ask for it or as a whole; nil where it cannot
// be.
func (w *wordFiles) open(ctx context.Context, m memory.Allocator, raw rawPiece, inOrder bool) (_ heldPiece, bytes int64, err error) {
	group, err := raw.(wordsPiece).OpenWords(ctx, w.as)
	if err != nil || group == nil {
		return nil, 0, err
	}
	piece := &wordPiece{w, group}
	if inOrder {
		return piece, group.Bytes(), nil
	}
	defer group.Close()
	rows := &rowReader{rows: group.Rows()}
	to := make([]Tensor, len(w.parts))
	for k, p := range w.parts {
		if err := rows.add(m, p, nil); err != nil {
			_ = rows.Close() // which has nothing to say
			return nil, 0, err
		}
		p.ColumnMajor, p.Mask = false, false
		to[k] = p.over(group.Rows(), rows.parts[k].data.buffer.Bytes(), nil, nil)
	}
	if err := piece.decode(make([]storage.Words, len(w.names)), 0, group.Rows(), to, 0); err != nil {
		_ = rows.Close() // which has nothing to say
		return nil, 0, err
	}
	return rows, rows.Bytes(), nil
}

// wordPiece is a piece whose rows are decoded when they are asked for.
type wordPiece struct {
	of    *wordFiles
	group *storage.WordGroup
}

// decode writes n rows from one on into the rows of tensors from at on.
func (p *wordPiece) decode(room []storage.Words, first, n int64, to []Tensor, at int64) error {
	for k := range to {
		t := &to[k]
		data := view[uint32](t.Data)
		for i, c := range p.of.parts[k].Columns {
			room[c] = storage.Words{To: data[at*t.RowStride+int64(i)*t.ColumnStride:], Stride: t.RowStride}
		}
	}
	defer clear(room)
	return p.group.Read(first, n, room)
}

// put decodes the rows that follow each other, in the data and in the batch, at once.
func (p *wordPiece) put(ctx context.Context, room *pieceScratch, rows []int64, places []int32, to []Tensor) error {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n] == rows[0]+int64(n) && places[n] == places[0]+int32(n) {
			n++
		}
		if err := p.putRun(ctx, room, rows[0], int64(n), to, int64(places[0])); err != nil {
			return err
		}
		rows, places = rows[n:], places[n:]
	}
	return nil
}

// putRun decodes rows that follow each other.
func (p *wordPiece) putRun(ctx context.Context, room *pieceScratch, first, n int64, to []Tensor, at int64) error {
	if err := device.Canceled(ctx, "", "dataloader"); err != nil {
		return err
	}
	if len(room.words) < len(p.of.names) {
		room.words = make([]storage.Words, len(p.of.names))
	}
	if err := p.decode(room.words, first, n, to, at); err != nil {
		return err
	}
	for k := range to {
		if part := &p.of.parts[k]; part.Mask {
			part.setValid(&to[k], at, n)
		}
	}
	return nil
}

// Close gives the pages back.
func (p *wordPiece) Close() error {
	p.group.Close()
	return nil
}
