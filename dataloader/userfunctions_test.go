package dataloader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestDecodingEndsBetweenRows has a decode function end the loader, or the call's
// context, in the middle of a batch: no row after that is decoded. Of a table and of
// files, shuffled and not, made by workers and by who asks.
func TestDecodingEndsBetweenRows(t *testing.T) {
	b, a := onHost(t)
	all := encodable(t, b, 700)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 300}); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Source{"table": FromTable(all), "files": opened(t, b, storage.Parquet(path), FileOptions{})} {
		for _, shuffle := range []bool{false, true} {
			for how, workers := range map[string]int{"closed by another": InCaller, "closed": 1, "cancelled": InCaller} {
				o := Options{Batch: 700, Workers: workers, Memory: a, Labels: []string{"three"}, Features: []string{"blob"}, Masks: true, Shuffle: shuffle}
				t.Run(fmt.Sprint(name, how, shuffle), func(t *testing.T) { endWhileDecoding(t, s, o, how) })
			}
		}
	}
}

func endWhileDecoding(t *testing.T, s Source, o Options, how string) {
	const at = 10
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var l *Loader
	var calls atomic.Int64
	open, closing, want := make(chan struct{}), make(chan error, 1), device.ErrClosed
	o.Encode = map[string]*Encoding{"blob": Decode(arrow.PrimitiveTypes.Uint8, 1, func(_, to []byte) error {
		to[0] = 0
		if calls.Add(1) != at {
			return nil
		}
		<-open
		if how == "cancelled" {
			cancel()
			return nil
		}
		go func() { closing <- l.Close() }()
		<-l.ctx.Done()
		return nil
	})}
	l, err := New(ctx, s, o)
	if err != nil {
		t.Fatal(err)
	}
	close(open)
	_, err = l.Next(ctx)
	if how == "cancelled" {
		want = device.ErrCanceled
		closing <- l.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("%v, not %v", err, want)
	}
	if calls.Load() < at {
		t.Fatalf("%d rows were decoded: %v", calls.Load(), err)
	}
	if err := <-closing; err != nil {
		t.Error(err)
	}
	if n := calls.Load(); n != at {
		t.Errorf("%d rows were decoded after the %dth had ended it", n-at, at)
	}
}

// TestClosingWhileAStreamIsWaitedFor closes a loader while a batch waits for a stream that gives nothing more, made by workers and by
// who asks, of the rows as they are, of windows and of what functions make of them.
func TestClosingWhileAStreamIsWaitedFor(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 40, 2, 10)
	for name, o := range map[string]Options{"rows": {}, "windows": {Window: &Window{History: 3, Horizon: 2}, Labels: []string{"ab"}}} {
		for _, mapped := range []bool{false, true} {
			if mapped && name == "windows" {
				continue
			}
			for _, workers := range []int{InCaller, 1} {
				t.Run(fmt.Sprint(name, mapped, workers), func(t *testing.T) {
					waits := make(chan struct{})
					var once sync.Once
					var s Source
					s, err := FromBatches(b, all.Schema(), 40, func(ctx context.Context) iter.Seq2[*table.Batch, error] {
						return func(yield func(*table.Batch, error) bool) {
							if !yield(all.Chunks()[0].Slice(0, 10)) {
								return
							}
							once.Do(func() { close(waits) })
							<-ctx.Done()
						}
					}, StreamOptions{})
					require.NoError(t, err)
					if mapped {
						s, err = MapBatches(ctx, b, s, BatchMap{Name: "same", Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }})
						require.NoError(t, err)
					}
					o.Batch, o.Workers, o.Epochs, o.Memory = 20, workers, 1, a
					l := load(t, s, o)
					got := make(chan error, 1)
					go func() {
						_, err := l.Next(ctx)
						got <- err
					}()
					<-waits
					require.NoError(t, l.Close())
					require.ErrorIs(t, <-got, device.ErrClosed)
				})
			}
		}
	}
}
