package dataloader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// TestSections holds batches of tables that are too large to be laid out against
// those that are gathered from columns: every layout, order and chunking, over
// epochs that end within a section.
func TestSections(t *testing.T) {
	b, a := onHost(t)
	const rows, columns = 9000, 12
	weights := make([]float64, rows)
	for i := range weights {
		weights[i] = float64(i % 7)
	}
	weighted, err := order.Weighted(weights, 5000, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, cuts := range [][]int64{nil, {1, 700, 4096}} {
		src := FromTable(numbers(t, b, rows, columns, cuts...))
		for _, o := range []Options{
			{Shuffle: true, Seed: 4, Workers: 3},
			{Shuffle: true, Seed: 5, Workers: InCaller, Prefetch: 2, Layout: ColumnMajor, Masks: true},
			{Order: weighted, Workers: 2},
			{Shuffle: true, Seed: 6, Rank: 1, Size: 3, Remainder: Drop, Labels: []string{"ab", "ac", "ad", "ae", "af"}},
		} {
			o.Batch, o.Epochs, o.Memory = 100, 3, a
			plain := o
			plain.Spare = -1
			o.Spare = 2 * (1200*columns*4 + 3000)
			l, want := load(t, src, o), load(t, src, plain)
			ahead := l.reader.(*tableReader).ahead
			if ahead == nil {
				t.Fatalf("no sections with %d bytes", o.Spare)
			}
			if n := l.Stats().Spare; n > o.Spare || n == 0 {
				t.Errorf("%d bytes of %d", n, o.Spare)
			}
			for alike(t, l, want) {
			}
			ahead.mu.Lock()
			used := max(ahead.of[0].number, ahead.of[1].number)
			ahead.mu.Unlock()
			if used < 2 {
				t.Errorf("%d sections were made", used+1)
			}
		}
	}
}

// alike holds the next batch of two loaders against each other, and reports false
// when all epochs are over.
func alike(t *testing.T, a, b *Loader) bool {
	t.Helper()
	x, err := a.Next(ctx)
	y, errY := b.Next(ctx)
	if errors.Is(err, io.EOF) && errors.Is(errY, io.EOF) {
		return !a.ended()
	}
	if err := errors.Join(err, errY); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(x.Release(), y.Release()); err != nil {
			t.Error(err)
		}
	}()
	if !slices.Equal(x.slot.rows[:x.slot.n], y.slot.rows[:y.slot.n]) {
		t.Fatalf("epoch %d, batch %d: other rows", x.slot.epoch, x.slot.step)
	}
	for i, one := range x.slot.tensors {
		if other := y.slot.tensors[i]; !bytes.Equal(one.Data, other.Data) || !bytes.Equal(one.Valid, other.Valid) {
			t.Fatalf("epoch %d, batch %d, tensor %d: other values", x.slot.epoch, x.slot.step, i)
		}
	}
	return true
}

// TestSectionsOfNulls: their values are 0 and their masks too, from a section as
// from columns.
func TestSectionsOfNulls(t *testing.T) {
	b, a := onHost(t)
	const rows = 3000
	valid, values := make([]bool, rows), make([]int64, rows)
	for i := range valid {
		valid[i], values[i] = i%3 > 0, int64(i)
	}
	var columns []table.Series
	for k := range 6 {
		columns = append(columns, table.Column(fmt.Sprint(k), values).Valid(valid))
	}
	src := FromTable(made(t, b, columns...))
	o := Options{Batch: 50, Shuffle: true, Masks: true, Epochs: 2, Memory: a, Spare: 2 * (400*6*4 + 1000)}
	l := load(t, src, o)
	if l.reader.(*tableReader).ahead == nil {
		t.Fatal("no sections")
	}
	o.Spare = -1
	for want := load(t, src, o); alike(t, l, want); {
	}
}

// TestSectionsOfMany: columns of words, of words with nulls and of what is cast lie
// beside each other in rows of more columns than are picked together, of tables that
// are cut anywhere, whose marked rows are few or all of what is picked at a time.
func TestSectionsOfMany(t *testing.T) {
	b, a := onHost(t)
	const rows = 3*pickRows + 77
	var columns []table.Series
	for k := range 2*pickColumns + 3 {
		valid, words, doubles := make([]bool, rows), make([]float32, rows), make([]float64, rows)
		for i := range rows {
			valid[i], words[i], doubles[i] = (i+k)%5 > 0, float32(i*7+k), float64(i*3-k)
		}
		switch k % 3 {
		case 0:
			columns = append(columns, table.Column(fmt.Sprint(k), words))
		case 1:
			columns = append(columns, table.Column(fmt.Sprint(k), words).Valid(valid))
		default:
			columns = append(columns, table.Column(fmt.Sprint(k), doubles))
		}
	}
	whole := made(t, b, columns...)
	for _, cuts := range [][]int64{nil, {1, 63, 64, 4000, 4001, rows - 1}} {
		of := whole
		if cuts != nil {
			of = cutAt(t, whole, cuts)
		}
		for _, batch := range []int64{7, 300} {
			width := int64(len(columns) * 4)
			o := Options{Batch: batch, Shuffle: true, Masks: true, Epochs: 2, Workers: 2, Memory: a, Spare: 2 * (batch*leastSection*2*width + rows*width/8 + rows)}
			l := load(t, FromTable(of), o)
			if l.reader.(*tableReader).ahead == nil {
				t.Fatal("no sections")
			}
			o.Spare = -1
			for want := load(t, FromTable(of), o); alike(t, l, want); {
			}
		}
	}
}

// cutAt is a table of one chunk with chunks that end at some rows.
func cutAt(t *testing.T, whole *table.Table, ends []int64) *table.Table {
	t.Helper()
	var chunks []*table.Batch
	from := int64(0)
	for _, to := range append(ends, whole.NumRows()) {
		one, err := whole.Chunks()[0].Slice(from, to-from)
		if err != nil {
			t.Fatal(err)
		}
		chunks, from = append(chunks, one), to
	}
	cut, err := table.NewTable(whole.Backend(), whole.Schema(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cut.Release)
	return cut
}

// TestSectionsEnd: a loader is closed while a section is filled and while batches
// are lent, a Next in the caller is cancelled and goes on, and one resumes within a
// section.
func TestSectionsEnd(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 40_000, 8))
	o := Options{Batch: 100, Shuffle: true, Epochs: 1, Memory: a, Spare: 2 * (4000*8*4 + 8000)}
	for range 20 {
		l, err := New(ctx, src, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	o.Workers = InCaller
	l := load(t, src, o)
	for range 50 {
		if rows, _ := next(t, l); len(rows) != 100 {
			t.Fatalf("%d rows", len(rows))
		}
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err := l.Next(stopped); !errors.Is(err, device.ErrCanceled) {
		t.Fatalf("canceled: %v", err)
	}
	state, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	o.Workers = 2
	other, err := Resume(ctx, src, o, state)
	if err != nil {
		t.Fatal(err)
	}
	for {
		want, _ := next(t, l)
		got, _ := next(t, other)
		if !slices.Equal(got, want) {
			t.Fatal("other rows after Resume")
		}
		if want == nil {
			break
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSectionsTurn: the batches of a section may all be made before the last one of
// the section before it, and those that come after are made of sections still.
func TestSectionsTurn(t *testing.T) {
	b, a := onHost(t)
	o := Options{Batch: 50, Shuffle: true, Workers: InCaller, Prefetch: 1, Epochs: 1, Memory: a, Spare: 2 * (400*8*4 + 1000)}
	of := load(t, FromTable(numbers(t, b, 4000, 8)), o).reader.(*tableReader).ahead
	if of == nil {
		t.Fatal("no sections")
	}
	filled := func(ticket int64) *section {
		s, err := of.wait(ctx, ticket)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			t.Fatalf("batch %d has no section", ticket)
		}
		return s
	}
	first := of.batches - of.skip // tickets of section 0
	late := filled(first - 1)
	for ticket := range first - 1 {
		of.done(filled(ticket), ticket)
	}
	for ticket := first; ticket < first+of.batches; ticket++ {
		of.done(filled(ticket), ticket)
	}
	of.done(late, first-1)
	for ticket := first + of.batches; ticket < 4000/50; ticket++ {
		of.done(filled(ticket), ticket)
	}
}
