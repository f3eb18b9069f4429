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

// TestGroups holds batches of tables that are too large to be laid out against
// those that are gathered from columns: every layout, order and chunking, over
// epochs that end within a section.
func TestGroups(t *testing.T) {
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
				t.Fatalf("no groups with %d bytes", o.Spare)
			}
			if n := l.Stats().Spare; n > o.Spare || n == 0 {
				t.Errorf("%d bytes of %d", n, o.Spare)
			}
			for alike(t, l, want) {
			}
			ahead.mu.Lock()
			used, wants := ahead.number, 3*l.Steps()-skipped
			ahead.mu.Unlock()
			if used*ahead.batches < wants {
				t.Errorf("%d groups of %d batches were made for %d batches", used, ahead.batches, wants)
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

// TestGroupsOfNulls: their values are 0 and their masks too, from a section as
// from columns.
func TestGroupsOfNulls(t *testing.T) {
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
		t.Fatal("no groups")
	}
	o.Spare = -1
	for want := load(t, src, o); alike(t, l, want); {
	}
}

// TestGroupsOfMany: columns of words, of words with nulls and of what is cast lie
// beside each other in rows of more columns than are picked together, of tables that
// are cut anywhere, whose marked rows are few or all of what is picked at a time.
func TestGroupsOfMany(t *testing.T) {
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
			o := Options{Batch: batch, Shuffle: true, Masks: true, Epochs: 2, Workers: 2, Memory: a, Spare: 12*batch*width + rows*width/4}
			l := load(t, FromTable(of), o)
			if l.reader.(*tableReader).ahead == nil {
				t.Fatal("no groups")
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

// TestGroupsEnd: a loader is closed while a section is filled and while batches
// are lent, a Next in the caller is cancelled and goes on, and one resumes within a
// section.
func TestGroupsEnd(t *testing.T) {
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

// inOrder is an order in which rows follow each other: those of a batch lie together.
type inOrder struct{ rows int64 }

func (o inOrder) Len() int64   { return o.rows }
func (o inOrder) Rows() int64  { return o.rows }
func (o inOrder) Hash() uint32 { return 1 }
func (o inOrder) Fill(rows []int64, _, from int64) {
	for i := range rows {
		rows[i] = (from + int64(i)) % o.rows
	}
}

// TestGroupsUneven: groups whose rows all lie in one leg of a round have room too.
func TestGroupsUneven(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 20_000, 8))
	o := Options{Batch: 70, Order: inOrder{20_000}, Epochs: 3, Memory: a, Spare: 100_000}
	l := load(t, src, o)
	if l.reader.(*tableReader).ahead == nil {
		t.Fatal("no groups")
	}
	o.Spare = -1
	for want := load(t, src, o); alike(t, l, want); {
	}
}

// TestGroupsTurn: the batches of a group may all be made before the last one of the group
// before it, and those that come after are made of groups still.
func TestGroupsTurn(t *testing.T) {
	b, a := onHost(t)
	o := Options{Batch: 50, Shuffle: true, Workers: InCaller, Prefetch: 1, Epochs: 1, Memory: a, Spare: 30_000}
	of := load(t, FromTable(numbers(t, b, 4000, 8)), o).reader.(*tableReader).ahead
	if of == nil {
		t.Fatal("no groups")
	}
	type batch struct {
		*group
		k int64
	}
	filled := func(ticket int64) batch {
		g, k, err := of.wait(ctx, ticket)
		if err != nil {
			t.Fatal(err)
		}
		if g == nil {
			t.Fatalf("batch %d has no group", ticket)
		}
		return batch{g, k}
	}
	last := skipped + of.batches - 1 // of group 0
	late := filled(last)
	for ticket := int64(skipped); ticket < last; ticket++ {
		one := filled(ticket)
		of.done(one.group, one.k)
	}
	for ticket := last + 1; ticket <= last+of.batches; ticket++ {
		one := filled(ticket)
		of.done(one.group, one.k)
	}
	of.done(late.group, late.k)
	for ticket := last + of.batches + 1; ticket < 4000/50; ticket++ {
		one := filled(ticket)
		of.done(one.group, one.k)
	}
}
