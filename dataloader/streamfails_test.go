package dataloader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// failing are ways in which a stream ends before its time.
func failing(t *testing.T, b *kernels.Backend) map[string]struct {
	end  func(yield func(*table.Batch, error) bool)
	want error
} {
	other := made(t, b, table.Column("another", make([]float32, 10)))
	broken := errors.New("the generator broke")
	return map[string]struct {
		end  func(yield func(*table.Batch, error) bool)
		want error
	}{
		"fails":   {func(yield func(*table.Batch, error) bool) { yield(nil, broken) }, broken},
		"damaged": {func(yield func(*table.Batch, error) bool) { yield(nil, storage.ErrFormat) }, storage.ErrFormat},
		"ends":    {func(func(*table.Batch, error) bool) {}, device.ErrMismatch},
		"changes": {func(yield func(*table.Batch, error) bool) { yield(other.Chunks()[0].Slice(0, 10)) }, device.ErrMismatch},
		"panics":  {func(func(*table.Batch, error) bool) { panic("generator") }, device.ErrValue},
	}
}

// untilFailure takes all batches and returns their lengths, their rows, and the error, which comes again.
func untilFailure(t *testing.T, l *Loader) (lengths []int, rows []int64, failed error) {
	t.Helper()
	for {
		batch, err := l.Next(ctx)
		if err != nil {
			require.NotErrorIs(t, err, io.EOF)
			_, again := l.Next(ctx)
			require.Equal(t, err, again)
			return lengths, rows, err
		}
		info, err := batch.Info()
		require.NoError(t, err)
		own, err := batch.Rows()
		require.NoError(t, err)
		require.Len(t, own, int(info.Rows))
		x, err := batch.Features()
		require.NoError(t, err)
		for i, row := range own {
			require.Equal(t, float32(value(row, 0)), view[float32](x.Data)[i*int(x.RowStride)])
		}
		lengths, rows = append(lengths, len(own)), append(rows, own...)
		require.NoError(t, batch.Release())
	}
}

// TestRowsBeforeAFailure takes the rows that a stream gives before it fails, ends, or changes its columns, the last ones as a short
// batch unless all are to be whole, and then its error; a stream that can be begun anew fails again after the same batches.
func TestRowsBeforeAFailure(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 1, 10, 20, 30)
	for name, kind := range failing(t, b) {
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
					for _, o := range []Options{{Batch: 8}, {Batch: 8, Remainder: Drop}, {Batch: 8, SkipBad: true}, {Batch: 10}, {Batch: 50}, {Batch: 50, Remainder: Drop}} {
						o.Workers, o.Epochs, o.Memory = workers, 1, a
						t.Run(fmt.Sprint(name, piece, workers, once, o.Batch, o.Remainder, o.SkipBad), func(t *testing.T) {
							s, err := FromBatches(b, all.Schema(), 100, open, StreamOptions{Piece: piece, Once: once})
							require.NoError(t, err)
							lengths, rows, failed := untilFailure(t, load(t, s, o))
							require.ErrorIs(t, failed, kind.want)
							var want []int
							for left := 30; left >= int(o.Batch) || left > 0 && o.Remainder != Drop; left -= int(o.Batch) {
								want = append(want, min(left, int(o.Batch)))
							}
							require.Equal(t, want, lengths)
							for i, row := range rows {
								require.EqualValues(t, i, row)
							}
						})
					}
				}
			}
		}
	}
}

// Rows that a stream shuffled through a buffer before it failed are given out too, each once, also where those that did not come
// were to be among them.
func TestShuffledRowsBeforeAFailure(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 1, 10, 20, 30)
	for name, kind := range failing(t, b) {
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
		for _, workers := range []int{InCaller, 1, 3} {
			for seed := range uint64(5) {
				for _, drop := range []Remainder{Pad, Drop} {
					t.Run(fmt.Sprint(name, workers, seed, drop), func(t *testing.T) {
						s, err := FromBatches(b, all.Schema(), 100, open, StreamOptions{Piece: 10, Once: true})
						require.NoError(t, err)
						shuffled, err := s.Order(20, seed)
						require.NoError(t, err)
						lengths, rows, failed := untilFailure(t, load(t, s, Options{Batch: 8, Order: shuffled, Remainder: drop, Workers: workers, Epochs: 1, Memory: a}))
						require.ErrorIs(t, failed, kind.want)
						if drop == Drop {
							for _, n := range lengths {
								require.Equal(t, 8, n)
							}
							return
						}
						slices.Sort(rows)
						require.Len(t, slices.Compact(rows), len(rows))
						require.GreaterOrEqual(t, len(rows), 20)
						require.Less(t, rows[len(rows)-1], int64(30))
					})
				}
			}
		}
	}
}

// A file that is damaged in the middle of a set ends the rows before it with a short batch, and then with an error that names it.
func TestDamagedFileOfASet(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 3000, 1, 1000, 2000)
	var paths []string
	for i := range 3 {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i, ".parquet"))
		chunk, err := all.Chunks()[i].Slice(0, 1000)
		require.NoError(t, err)
		part, err := table.NewTable(b, all.Schema(), []*table.Batch{chunk})
		require.NoError(t, err)
		require.NoError(t, storage.WriteParquet(ctx, part, path, storage.ParquetOptions{RowGroupRows: 1000, Compression: storage.CompressionZstd}))
		part.Release()
		paths = append(paths, path)
	}
	damage(t, paths[1], 0.5)
	for _, workers := range []int{InCaller, 2} {
		for _, remainder := range []Remainder{Pad, Drop} {
			s := opened(t, b, storage.Parquet(paths...), FileOptions{})
			lengths, rows, failed := untilFailure(t, load(t, s, Options{Batch: 300, Workers: workers, Remainder: remainder, Memory: a}))
			require.ErrorIs(t, failed, storage.ErrFormat)
			require.ErrorContains(t, failed, paths[1])
			want := []int{300, 300, 300, 100}
			if remainder == Drop {
				want = want[:3]
			}
			require.Equal(t, want, lengths)
			for i, row := range rows {
				require.EqualValues(t, i, row)
			}
		}
	}
}

// excess are batches that come behind the announced rows: in the batch of the last one, or in batches of their own.
var excess = map[string][]int64{"in the last batch": {10, 20, 30, 60}, "in another": {10, 20, 60}, "in others": {10, 20, 60, 70, 80}, "behind an empty one": {10, 20, 60, 60}}

// TestRowsBeyondThoseAnnounced takes all rows that a longer stream announced, and then an error at the end of the epoch and for ever:
// not one that drops what was read with them, and not an end as if there were no more.
func TestRowsBeyondThoseAnnounced(t *testing.T) {
	b, a := onHost(t)
	for name, cuts := range excess {
		all := numbers(t, b, 100, 1, cuts...)
		open := func(context.Context) iter.Seq2[*table.Batch, error] {
			return func(yield func(*table.Batch, error) bool) {
				for _, c := range all.Chunks() {
					if !yield(c.Slice(0, c.Len())) {
						return
					}
				}
			}
		}
		for _, piece := range []int64{0, 20, 8} {
			for _, workers := range []int{InCaller, 1, 3} {
				for _, once := range []bool{true, false} {
					for _, o := range []Options{{Batch: 8}, {Batch: 8, SkipBad: true}, {Batch: 10}, {Batch: 60}, {Batch: 7, Remainder: Pad}} {
						o.Workers, o.Memory = workers, a
						if once {
							o.Epochs = 1
						}
						t.Run(fmt.Sprint(name, piece, workers, once, o.Batch, o.SkipBad), func(t *testing.T) {
							s, err := FromBatches(b, all.Schema(), 60, open, StreamOptions{Piece: piece, Once: once})
							require.NoError(t, err)
							_, rows, failed := untilFailure(t, load(t, s, o))
							require.ErrorIs(t, failed, device.ErrMismatch)
							require.ErrorContains(t, failed, "more rows than 60")
							require.ErrorContains(t, failed, "end of epoch 0")
							require.GreaterOrEqual(t, len(rows), 60)
							for i := range 60 {
								require.EqualValues(t, i, rows[i])
							}
						})
					}
				}
			}
		}
	}
}

// What works on a stream says so too.
func TestDerivedRowsBeyondThoseAnnounced(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 1, 10, 60)
	var begun atomic.Int64
	stream := func(rows int64) Source {
		s, err := FromBatches(b, all.Schema(), rows, pieces(all, 30, &begun), StreamOptions{Piece: 20})
		require.NoError(t, err)
		return s
	}
	derived, err := Derive(b, stream(60), Column{"y", expr.Col("aa").Add(expr.Lit(1))})
	require.NoError(t, err)
	mapped, err := MapBatches(ctx, b, stream(60), BatchMap{Name: "same", Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		source Source
		o      Options
	}{
		"derived": {derived, Options{Batch: 10, Features: []string{"y"}}}, "mapped": {mapped, Options{Batch: 10}},
		"windows": {stream(60), Options{Batch: 10, Window: &Window{History: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Memory, c.o.Workers = a, 2
			l := load(t, c.source, c.o)
			var failed error
			for failed == nil {
				var batch Batch
				if batch, failed = l.Next(ctx); failed == nil {
					require.NoError(t, batch.Release())
				}
			}
			require.ErrorIs(t, failed, device.ErrMismatch)
			require.ErrorContains(t, failed, "more rows than 60")
		})
	}
}

// A stream that has given its rows and not ended holds the end of the epoch, not the last rows; Next obeys its context and Close
// ends the wait.
func TestStreamThatDoesNotEnd(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 20, 1)
	from := make(chan *table.Batch, 1)
	one, err := all.Chunks()[0].Slice(0, 20)
	require.NoError(t, err)
	from <- one
	s, err := FromChannel(b, all.Schema(), 20, from, StreamOptions{})
	require.NoError(t, err)
	l := load(t, s, Options{Batch: 10, Epochs: 1, Memory: a})
	for range 2 {
		batch, err := l.Next(ctx)
		require.NoError(t, err)
		require.NoError(t, batch.Release())
	}
	require.False(t, l.Ready())
	for range 2 {
		short, cancel := context.WithCancel(ctx)
		cancel()
		_, err = l.Next(short)
		require.ErrorIs(t, err, device.ErrCanceled)
	}
	close(from)
	_, err = l.Next(ctx)
	require.Equal(t, io.EOF, err)
}
