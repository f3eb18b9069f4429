package storage

import (
	"context"
	"errors"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

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
