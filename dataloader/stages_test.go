package dataloader

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/table"
)

// TestBackPressure: who takes no batches makes every stage before stop, the stream
// that they are read from first.
func TestBackPressure(t *testing.T) {
	b, a := onHost(t)
	const rows, piece = 100_000, 500
	whole := numbers(t, b, rows, 2)
	var given, begun atomic.Int64
	s, err := FromBatches(b, whole.Schema(), rows, func(context.Context) iter.Seq2[*table.Batch, error] {
		begun.Add(1)
		return func(yield func(*table.Batch, error) bool) {
			for at := int64(0); at < rows; at += piece {
				one, err := whole.Chunks()[0].Slice(at, piece)
				given.Add(piece)
				if !yield(one, err) {
					return
				}
			}
		}
	}, StreamOptions{Piece: piece, Cache: 4 * piece * 2 * 4})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Batch: 100, Workers: 2, Prefetch: 3, Epochs: 1, Memory: a}
	l := load(t, s, o)
	seen := int64(0)
	for range 50 {
		got, _ := next(t, l)
		seen += int64(len(got))
	}
	// What is read is what was given out, the ring, a piece for each worker and
	// processor, and those that were read past.
	most := seen + (o.Batch * int64(o.Prefetch)) + piece*int64(o.Workers+3*processors.Count()+1)
	for wait := time.Millisecond; wait < 100*time.Millisecond; wait *= 2 {
		time.Sleep(wait) // and nothing more is read however long nobody asks
		if still := given.Load(); still > most {
			t.Fatalf("%d rows were read when %d had been given out", still, seen)
		}
	}
	for {
		got, _ := next(t, l)
		if got == nil {
			break
		}
		seen += int64(len(got))
	}
	if seen != rows {
		t.Errorf("%d rows of %d", seen, rows)
	}
	// A piece that is a part of a larger batch counts as what it is, or else the
	// cache would have room for one and read again what another worker needs.
	if n := begun.Load(); n != 1 {
		t.Errorf("the stream was begun %d times", n)
	}
}

// TestBound tells the stage that takes longest.
func TestBound(t *testing.T) {
	const s = time.Second
	for want, c := range map[string]struct {
		of      Stats
		workers int
	}{
		"consumer":  {Stats{Gather: s, ProducerWait: 5 * s, ConsumerWait: s}, 2},
		"gather":    {Stats{Gather: 3 * s, Transform: s, ConsumerWait: s}, 2},
		"transform": {Stats{Gather: s, Transform: 2 * s, DecodeWait: s, ConsumerWait: s}, 2},
		"copy":      {Stats{Gather: s, Copy: 2 * s, ConsumerWait: s}, 2},
		"decode":    {Stats{Gather: s, DecodeWait: 2 * s, Decode: 2 * s, Read: s, ConsumerWait: s}, 2},
		"read":      {Stats{Gather: s, DecodeWait: 2 * s, Decode: s, Read: 3 * s, Elapsed: 4 * s}, InCaller},
	} {
		if got := c.of.bound(c.workers); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// TestReport: what a loader has done, in words.
func TestReport(t *testing.T) {
	s := Stats{
		Batches: 3, Rows: 300, Skipped: 2, Elapsed: 2 * time.Second, RowsPerSecond: 150, Decode: time.Second, Gather: 2 * time.Millisecond,
		ProducerWait: time.Millisecond, ConsumerWait: 1500 * time.Millisecond, Fill: 0.25, Ring: 4096, Spare: 64, Bound: "decode",
		Order: "shuffled by rows",
	}
	const want = `3 batches, 300 rows in 2s: 150 rows/s, 2 rows left out; bound by: decode
all workers together: decode 1s, gather 2ms, wait for room 1ms
consumer: waited 1.5s, 0.2 batches ready when one was asked for
memory: ring 4096 bytes, arranged data 64 bytes
order of the rows: shuffled by rows`
	if got := s.String(); got != want {
		t.Errorf("%s\n\nand not\n\n%s", got, want)
	}
}

// TestReportOfOrder: the report says which order the rows come in.
func TestReportOfOrder(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 1)
	made := func(o order.Order, err error) order.Order {
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for want, o := range map[string]Options{
		"that of the data": {},
		"shuffled by rows": {Shuffle: true},
		"2 blocks, shuffled, through a buffer of 30 rows": {Order: made(order.Blocks([]int64{40, 60}, 30, 1))},
		"that of the data, through a buffer of 30 rows":   {Order: made(order.Buffered([]int64{40, 60}, 30, 1))},
		"7 rows drawn by weight":                          {Order: made(order.Weighted(slices.Repeat([]float64{1}, 100), 7, 1))},
		"stratified by classes":                           {Order: order.Stratified(make([]int64, 100), 1)},
		"by groups":                                       {Order: order.Grouped(make([]int64, 100), 1)},
		"the program's own":                               {Order: nameless{order.Sequential(100)}},
	} {
		o.Batch, o.Memory = 5, a
		if got := load(t, FromTable(all), o).Stats().String(); !strings.HasSuffix(got, "\norder of the rows: "+want) {
			t.Errorf("%s\n\nand not %q", got, want)
		}
	}
}

// nameless is an order that does not say what it is.
type nameless struct{ order.Order }
