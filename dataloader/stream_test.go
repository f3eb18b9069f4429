package dataloader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// pieces gives a table in batches of so many rows, and counts how often it was
// begun.
func pieces(all *table.Table, size int64, begun *atomic.Int64) func(context.Context) iter.Seq2[*table.Batch, error] {
	return func(context.Context) iter.Seq2[*table.Batch, error] {
		begun.Add(1)
		return func(yield func(*table.Batch, error) bool) {
			for _, c := range all.Chunks() {
				for at := int64(0); at < c.Len(); at += size {
					b, err := c.Slice(at, min(size, c.Len()-at))
					if !yield(b, err) {
						return
					}
				}
			}
		}
	}
}

// TestStream holds a stream to give what its table gives in the same order, and
// kills trainings over it.
func TestStream(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 1003, 3, 100, 700)
	var begun atomic.Int64
	s, err := FromBatches(b, all.Schema(), 1003, pieces(all, 77, &begun), StreamOptions{Piece: 60, Cache: 3000})
	if err != nil {
		t.Fatal(err)
	}
	buffered, err := s.Order(200, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{InCaller, 3} {
		for i, o := range []Options{{}, {Order: buffered}} {
			o.Batch, o.Epochs, o.Workers, o.Memory = 97, 2, workers, a
			same(t, fmt.Sprint("stream", i), load(t, s, o), load(t, FromTable(all), o))
		}
	}
	if n := begun.Load(); n < 8 {
		t.Errorf("begun %d times", n)
	}
	for run := range 100 {
		killAndResume(t, "stream", s, Options{Order: buffered, Epochs: 1, Memory: a}, run)
	}
}

// TestChannel reads a channel to its end, once.
func TestChannel(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 1003, 3, 100, 700)
	from := make(chan *table.Batch)
	var begun atomic.Int64
	go func() {
		defer close(from)
		for one := range pieces(all, 50, &begun)(ctx) {
			from <- one
		}
	}()
	s, err := FromChannel(b, all.Schema(), 1003, from, StreamOptions{Piece: 100})
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, s, Options{Batch: 97, Epochs: 1, Memory: a})
	var seen []int64
	for rows, _ := next(t, l); rows != nil; rows, _ = next(t, l) {
		seen = append(seen, rows...)
	}
	if len(seen) != 1003 || !slices.IsSorted(seen) {
		t.Errorf("%d rows", len(seen))
	}
	if _, err := New(ctx, s, Options{Batch: 1, Memory: a}); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
	silent, err := FromChannel(b, all.Schema(), 10, make(chan *table.Batch), StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, silent, Options{Batch: 1, Memory: a}) // nothing ever comes, and Close does not wait for it
}

// TestStreamFails is streams that are not what they promise.
func TestStreamFails(t *testing.T) {
	b, a := onHost(t)
	all, other := numbers(t, b, 100, 3), numbers(t, b, 100, 2)
	var begun atomic.Int64
	broken := errors.New("broken")
	for want, c := range map[string]struct {
		rows int64
		open func(context.Context) iter.Seq2[*table.Batch, error]
	}{
		"ended after 100 rows of 101": {101, pieces(all, 30, &begun)},
		"more rows than 99":           {99, pieces(all, 30, &begun)},
		"other columns":               {100, pieces(other, 30, &begun)},
		"broken": {100, func(context.Context) iter.Seq2[*table.Batch, error] {
			return func(yield func(*table.Batch, error) bool) { yield(nil, broken) }
		}},
		"the stream panicked: broken": {100, func(context.Context) iter.Seq2[*table.Batch, error] {
			return func(func(*table.Batch, error) bool) { panic(broken) }
		}},
	} {
		s, err := FromBatches(b, all.Schema(), c.rows, c.open, StreamOptions{Piece: 50})
		if err != nil {
			t.Fatal(err)
		}
		l := load(t, s, Options{Batch: 10, Workers: 2, Memory: a})
		for err == nil {
			var one Batch
			if one, err = l.Next(ctx); err == nil {
				err = one.Release()
			}
		}
		if err == io.EOF || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := FromBatches(nil, nil, 1, nil, StreamOptions{}); !errors.Is(err, device.ErrMismatch) {
		t.Error(err)
	}
}
