package device

import (
	"context"
	"sync/atomic"
)

// Progress counts what a long call has done so far, for whoever waits for it:
// readers and queries count into that of their context. Its methods may be called
// from any goroutine; those of nil do nothing.
type Progress struct{ read, total, made atomic.Int64 }

type progressKey struct{}

// WithProgress is a context whose calls count into p.
func WithProgress(ctx context.Context, p *Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

// ProgressOf is the Progress of a context, nil where there is none.
func ProgressOf(ctx context.Context) *Progress {
	p, _ := ctx.Value(progressKey{}).(*Progress)
	return p
}

// Expect says that there are so many more rows to read.
func (p *Progress) Expect(rows int64) {
	if p != nil {
		p.total.Add(rows)
	}
}

// Read says that so many more rows were read from tables and files.
func (p *Progress) Read(rows int64) {
	if p != nil {
		p.read.Add(rows)
	}
}

// Made says that there are so many more rows of the result, or that so many were
// written.
func (p *Progress) Made(rows int64) {
	if p != nil {
		p.made.Add(rows)
	}
}

// Rows are the counts: rows read, of how many as far as is known, and made.
func (p *Progress) Rows() (read, total, made int64) {
	if p == nil {
		return 0, 0, 0
	}
	return p.read.Load(), max(p.total.Load(), p.read.Load()), p.made.Load()
}
