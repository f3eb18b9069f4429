package storage

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// PieceRead is some columns of a piece, which are had in two steps: Fetch reads their bytes
// from the file, and Read or OpenWords decodes them. Another goroutine may take each step,
// one after the other, so that pieces are read while others are decoded. Without Fetch,
// decoding reads. The caller closes it, before the pieces.
type PieceRead struct {
	pieces *Pieces
	piece  *piece
	want   *arrow.Schema
	spans  []span
	room   *memory.Buffer
	there  *fetched
}

// Begin prepares reading the named columns of piece i, in the order of the schema. It
// reads nothing.
func (p *Pieces) Begin(i int, columns []string) (*PieceRead, error) {
	if columns == nil && p.more != nil {
		return nil, p.more
	}
	want, err := project(p.name, p.schema, columns)
	if err != nil {
		return nil, err
	}
	one := &p.pieces[i]
	return &PieceRead{pieces: p, piece: one, want: want, spans: one.spans(want)}, nil
}

// Size is how many bytes Fetch takes: at most 8 MiB, and 0 where there are more to read.
func (r *PieceRead) Size() int64 {
	if n := sizeOf(r.spans); n <= largestFetch {
		return n
	}
	return 0
}

// Fetch reads the bytes. Of more than 8 MiB the system is told that they will be wanted,
// where it can be told, and decoding reads them page by page. It gives no error: what
// cannot be read decoding tries again, and tells.
func (r *PieceRead) Fetch(ctx context.Context) {
	if r.there != nil {
		return
	}
	r.room = r.pieces.memory.stretch()
	if r.there = fetch(ctx, r.piece.in, &r.room, r.pieces.rooms, r.spans); r.there != nil {
		r.piece.in.kept.add(r.there)
	}
}

// Read decodes the columns into batches that the caller releases. A damaged piece is an
// error that names file and part, of the kind ErrFormat; other pieces can be read all the
// same.
func (r *PieceRead) Read(ctx context.Context) (batches []*table.Batch, err error) {
	one, rows := r.piece, int64(0)
	err = one.read(ctx, r.want, r.there, func(b *table.Batch) error {
		batches, rows = append(batches, b), rows+b.Len()
		return nil
	})
	if err == nil && rows != one.rows {
		err = damaged(one.path, one.part, "%d rows, where there were %d when it was opened", rows, one.rows)
	}
	if err != nil {
		for _, b := range batches {
			b.Release()
		}
		return nil, err
	}
	return batches, nil
}

// OpenWords opens the piece for decoding straight to where the columns are wanted, as
// numbers of 32 bits of the types given by as. A number becomes float32, or stays as it
// is. It gives nil where that is not possible: where the piece is none of Parquet, or a
// column has nulls, another type, or an encoding other than plain ones and dictionaries:
// Read is the way then. Errors are those of Read. The caller closes the group, before the
// pieces; it does not need the PieceRead.
func (r *PieceRead) OpenWords(ctx context.Context, as []arrow.DataType) (*WordGroup, error) {
	if r.piece.words == nil {
		return nil, nil
	}
	if len(as) != r.want.NumFields() {
		return nil, device.Errorf(device.ErrMismatch, "", "storage", "types of %d columns of %d", len(as), r.want.NumFields())
	}
	return r.piece.words(ctx, r.want, r.there, as)
}

// Close gives back what was fetched.
func (r *PieceRead) Close() {
	if r.there != nil {
		r.piece.in.kept.drop(r.there)
		r.there = nil
	}
	r.pieces.memory.keep(r.room)
	r.room = nil
}
