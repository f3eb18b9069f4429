package storage

import (
	"context"
	"errors"
	"io"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// once is a split of at most one batch.
type once struct {
	path, part string // for errors of panics
	read       func(ctx context.Context) (*table.Batch, error)
	free       func() // gives back what read would have; may be nil
	err        error  // for ever
}

// Next is the batch, unless read gives none.
func (o *once) Next(ctx context.Context) (b *table.Batch, err error) {
	if o.err != nil {
		return nil, o.err
	}
	defer func() {
		if o.err = err; err == nil {
			o.err = io.EOF
		}
	}()
	defer guard(o.path, o.part, &err)
	if err := canceled(ctx, o.path); err != nil {
		return nil, err
	}
	o.free = nil
	if b, err = o.read(ctx); err == nil && b == nil {
		err = io.EOF
	}
	return b, err
}

// Close gives back what was not read.
func (o *once) Close() {
	if o.free != nil {
		o.free()
		o.free = nil
	}
}

// finishScan is the reader of a scan onto a backend, whose splits workers on the host read: one
// that is not on the host gets each batch copied there.
func finishScan(ctx context.Context, b *kernels.Backend, path string, splits flow.Splits) (table.BatchReader, error) {
	r := &scanReader{path: path, ctx: ctx}
	r.run = exec.New(&parts{path: path, splits: splits}, nil, exec.Options{Workers: processors.Count(), Rows: exec.Uncut, Within: ctx})
	if b.Device.Place().HostAccessible() {
		return r, nil
	}
	return newUploader(b, r, path)
}

// scanReader is the table.BatchReader of all formats: the splits of a scan, read by workers.
type scanReader struct {
	path   string
	ctx    context.Context // of the scan
	run    *exec.Pipeline
	err    error // for ever
	closed bool
}

// Next is the next batch in order, or io.EOF.
func (r *scanReader) Next(ctx context.Context) (*table.Batch, error) {
	if r.err == nil && r.closed {
		r.err = &Error{Path: r.path, Kind: device.ErrClosed, Text: "read after Close"}
	}
	for _, c := range []context.Context{ctx, r.ctx} {
		if r.err == nil {
			r.err = canceled(c, r.path)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	b, err := r.run.Next(ctx)
	if err == nil || errors.Is(err, io.EOF) {
		r.err = err
		return b, err
	}
	r.err = inFile(r.path, "", err, nil)
	return nil, r.err
}

// Close stops the workers, waits for them and releases what nobody took.
func (r *scanReader) Close() error {
	r.closed = true
	r.run.Close()
	return nil
}

// parts are splits as a pipeline's source.
type parts struct {
	path   string
	splits flow.Splits
	at     flow.Split // of Next
}

// Split is the next one.
func (p *parts) Split(ctx context.Context) (_ exec.Source, err error) {
	defer guard(p.path, "", &err)
	if err := canceled(ctx, p.path); err != nil {
		return nil, err
	}
	return p.splits.Next(ctx)
}

// Next is the next batch of all splits.
func (p *parts) Next(ctx context.Context) (b *table.Batch, err error) {
	defer guard(p.path, "", &err)
	for {
		if p.at == nil {
			if p.at, err = p.splits.Next(ctx); err != nil {
				return nil, err
			}
		}
		if b, err = p.at.Next(ctx); err != io.EOF {
			return b, err
		}
		p.at.Close()
		p.at = nil
	}
}

// Close ends the scan.
func (p *parts) Close() {
	if p.at != nil {
		p.at.Close()
	}
	_ = p.splits.Close() // what there was to say, Next has said
}

// uploader copies the batches of a reader to a device.
type uploader struct {
	mover
	from table.BatchReader
	path string // for errors
}

func newUploader(b *kernels.Backend, from table.BatchReader, path string) (table.BatchReader, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	return &uploader{mover{s, b.Device.Memory()}, from, path}, nil
}

// Next is the next batch, on the device.
func (u *uploader) Next(ctx context.Context) (*table.Batch, error) {
	b, err := u.from.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	moved, err := u.batch(ctx, b)
	return moved, inFile(u.path, "", err, nil)
}

// Close ends the reading and the copying.
func (u *uploader) Close() error {
	return errors.Join(u.from.Close(), u.stream.Close())
}

// mover copies batches into the memory of another place.
type mover struct {
	stream device.Stream
	to     memory.Allocator
}

func (u *mover) batch(ctx context.Context, b *table.Batch) (*table.Batch, error) {
	m := device.NewMover(u.stream, u.to)
	defer m.Release()
	moved, err := b.Move(m)
	if err != nil {
		return nil, err
	}
	if err := u.stream.Wait(ctx); err != nil {
		moved.Release()
		return nil, err
	}
	return moved, nil
}
