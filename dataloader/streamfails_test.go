package dataloader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// TestRowsBeforeAFailure takes the batches of the rows that a stream gives before it
// fails, ends, or changes its columns, and then its error; a stream that can be begun
// anew fails again after the same batches.
func TestRowsBeforeAFailure(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 1, 10, 20, 30)
	other := made(t, b, table.Column("another", make([]float32, 10)))
	broken := errors.New("the generator broke")
	kinds := map[string]struct {
		end  func(yield func(*table.Batch, error) bool)
		want error
	}{
		"fails":   {func(yield func(*table.Batch, error) bool) { yield(nil, broken) }, broken},
		"ends":    {func(func(*table.Batch, error) bool) {}, device.ErrMismatch},
		"changes": {func(yield func(*table.Batch, error) bool) { yield(other.Chunks()[0].Slice(0, 10)) }, device.ErrMismatch},
		"panics":  {func(func(*table.Batch, error) bool) { panic("generator") }, device.ErrValue},
	}
	for name, kind := range kinds {
		open := func(context.Context) iter.Seq2[*table.Batch, error] {
			return func(yield func(*table.Batch, error) bool) {
				for _, c := range all.Chunks()[:3] {
					if !yield(c.Slice(0, c.Len())) {
						return
					}
				}
				kind.end(yield)
			}
		}
		for _, piece := range []int64{0, 20, 8} {
			for _, workers := range []int{InCaller, 1, 3} {
				for _, once := range []bool{true, false} {
					t.Run(fmt.Sprint(name, piece, workers, once), func(t *testing.T) {
						s, err := FromBatches(b, all.Schema(), 100, open, StreamOptions{Piece: piece, Once: once})
						require.NoError(t, err)
						l := load(t, s, Options{Batch: 8, Workers: workers, Epochs: 1, Memory: a})
						for range 3 {
							batch, err := l.Next(ctx)
							require.NoError(t, err)
							rows, err := batch.Rows()
							require.NoError(t, err)
							require.Len(t, rows, 8)
							require.NoError(t, batch.Release())
						}
						_, err = l.Next(ctx)
						require.ErrorIs(t, err, kind.want)
					})
				}
			}
		}
	}
}
