package exec

import (
	"context"
	"io"

	"github.com/volley-go/volley/flow"
)

// Batches gives batches, which it takes over.
func Batches(all ...*flow.Batch) Source { return &batches{all} }

type batches struct{ left []*flow.Batch }

func (s *batches) Next(context.Context) (*flow.Batch, error) {
	for len(s.left) > 0 {
		b := s.left[0]
		s.left = s.left[1:]
		if b.Len() > 0 {
			return b, nil
		}
		b.Release()
	}
	return nil, io.EOF
}

func (s *batches) Close() { ReleaseAll(s.left) }

// Concat gives what sources give, one after another. It takes them over, and closes each
// when it has ended.
func Concat(sources ...Source) Source { return &concat{sources} }

type concat struct{ left []Source }

func (s *concat) Next(ctx context.Context) (*flow.Batch, error) {
	for len(s.left) > 0 {
		b, err := s.left[0].Next(ctx)
		if err != io.EOF {
			return b, err
		}
		s.left[0].Close()
		s.left = s.left[1:]
	}
	return nil, io.EOF
}

func (s *concat) Close() {
	for _, in := range s.left {
		in.Close()
	}
}

// Limit gives n rows of a source, which it takes over, from the row numbered skip on. It asks
// for no more batches than it needs.
func Limit(in Source, skip, n int64) Source { return &limit{in, skip, n} }

type limit struct {
	in         Source
	skip, left int64
}

func (s *limit) Next(ctx context.Context) (*flow.Batch, error) {
	for s.left > 0 {
		b, err := s.in.Next(ctx)
		if err != nil {
			return nil, err
		}
		from := min(s.skip, b.Len())
		n := min(s.left, b.Len()-from)
		s.skip -= from
		s.left -= n
		if n == 0 {
			b.Release()
			continue
		}
		out, err := b.Slice(from, n)
		b.Release()
		return out, err
	}
	return nil, io.EOF
}

func (s *limit) Close() { s.in.Close() }
