package distributed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// Scan reads the named columns of a storage.Parquet, IPC or CSV source, all if none is named. Each
// rank reads a run of pieces (row groups, record batches, blocks of CSV) of about as many
// bytes as the others, so rows come in the order of the files. b is a backend on the host.
// Every rank must see the same files: others are an ErrMismatch of all.
func Scan(ctx context.Context, comm *collective.Comm, b *kernels.Backend, source table.Source, columns ...string) (*Table, error) {
	if comm == nil {
		return nil, fmt.Errorf("%w: a scan without a Comm", device.ErrMismatch)
	}
	name := ""
	if source != nil {
		name = source.Name()
	}
	o := start(ctx, comm, "Scan", name)
	s := &scan{op: o, columns: columns}
	o.do(func() (err error) {
		if b == nil || source == nil {
			return fmt.Errorf("%w: there is no backend or no source", device.ErrMismatch)
		}
		o.backend = b
		if s.pieces, err = storage.OpenPieces(ctx, b, source); err != nil {
			return err
		}
		s.schema, err = s.project()
		return err
	})
	defer s.close()
	if err := s.agree(); err != nil {
		return nil, err
	}
	part := o.table(s.read)
	defer part.Release()
	return o.finish(part, Partitioning{})
}

// scan is a Scan under way.
type scan struct {
	*op
	pieces  *storage.Pieces
	columns []string
	schema  *arrow.Schema
}

func (s *scan) close() {
	if s.pieces != nil {
		s.pieces.Close()
	}
}

// project is the schema of the columns that are read, in the order of the files.
func (s *scan) project() (*arrow.Schema, error) {
	all := s.pieces.Schema()
	if len(s.columns) == 0 {
		s.columns = nil
		return all, nil
	}
	for _, c := range s.columns {
		if len(all.FieldIndices(c)) == 0 {
			return nil, expr.UnknownColumn(c, names(all))
		}
	}
	var fields []arrow.Field
	for _, f := range all.Fields() {
		for _, c := range s.columns {
			if f.Name == c {
				fields = append(fields, f)
				break
			}
		}
	}
	meta := all.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// agree finds ranks that see other files.
func (s *scan) agree() error {
	var own [2]int64
	if s.going() {
		own = [2]int64{int64(s.pieces.Len()), int64(s.pieces.Fingerprint())}
	}
	said := s.words(own[:])
	if said == nil {
		return s.ended
	}
	var ranks []int
	var texts []string
	differ := false
	for r, w := range said {
		ranks = append(ranks, r)
		texts = append(texts, fmt.Sprintf("it sees files of %d pieces, with the fingerprint %08x", w[0], uint32(w[1])))
		differ = differ || w[0] != said[0][0] || w[1] != said[0][1]
	}
	if differ {
		s.end(s.call.Refuse(device.ErrMismatch, ranks, texts))
	}
	return s.ended
}

// share is this rank's run of pieces: piece i belongs to the rank in whose share of the bytes its middle lies.
func (s *scan) share() (from, to int, err error) {
	sizes := make([]int64, s.pieces.Len())
	total := int64(0)
	for i := range sizes {
		if sizes[i], err = s.pieces.Bytes(i, s.columns); err != nil {
			return 0, 0, err
		}
		sizes[i] += s.pieces.Rows(i)/8 + 1 // a row without bytes is some work too
		total += sizes[i]
	}
	rank, size, at := int64(s.comm.Rank()), int64(s.comm.Size()), int64(0)
	from, to = len(sizes), len(sizes)
	for i, n := range sizes {
		owner := int64(float64(size) * (float64(at) + float64(n)/2) / float64(total))
		at += n
		if owner >= rank && i < from {
			from = i
		}
		if owner > rank {
			to = i
			break
		}
	}
	return from, to, nil
}

// read reads this rank's pieces, several at a time.
func (s *scan) read() (*table.Table, error) {
	from, to, err := s.share()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	read := make([][]*table.Batch, to-from)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(processors.Count(), len(read)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(read) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if read[i], err = s.pieces.Read(ctx, from+i, s.columns); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	var chunks []*table.Batch
	for _, list := range read {
		chunks = append(chunks, list...)
	}
	if ctx.Err() != nil {
		pieces{chunks}.release()
		if err := device.Canceled(s.ctx, "", s.call.Op); err != nil {
			return nil, err
		}
		return nil, errors.Join(context.Cause(ctx))
	}
	return table.NewTable(s.backend, s.schema, chunks)
}
