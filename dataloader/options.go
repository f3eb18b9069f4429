package dataloader

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
)

// Layout is how the features of a batch lie.
type Layout int

// The layouts.
const (
	RowMajor    Layout = iota // one matrix, a row's elements beside each other
	ColumnMajor               // one matrix, a column's elements beside each other
	Columns                   // a tensor of one column for each feature, in its own type
)

// InCaller as the number of workers makes every batch in Next itself.
const InCaller = -1

// Options say what a loader makes of its source. Only Batch must be set.
type Options struct {
	// Features are the columns of the batches; nil means all that are no labels.
	Features []string
	// Labels are columns that come apart, as a matrix of LabelType.
	Labels []string
	Layout Layout
	// Encode says of columns what becomes of values that are no numbers.
	Encode map[string]*Encoding
	// Window, if not nil, makes windows over a time series of the rows.
	Window *Window
	// Type is that of the features' elements: float16, BFloat16, float32, float64,
	// int32 or int64. nil means float32, and of the layout Columns each column's own: temporal columns
	// as the integers they are held as, bools as uint8. Numbers are rounded to
	// floats as Go does; an integer that the type cannot hold is an ErrValue of New
	// that names its row, and floats are not cut to integers.
	Type arrow.DataType
	// LabelType is that of the labels; nil means float32.
	LabelType arrow.DataType
	// Masks adds a mask to each tensor. Without it a null in a column that is read
	// is an ErrMismatch of New.
	Masks bool

	Batch      int64     // rows of a batch
	Shuffle    bool      // a new order of all rows for each epoch, each as likely as any other
	Seed       uint64    // of the orders
	Rank, Size int       // this rank of how many; Size 0 means 1
	Remainder  Remainder // how an epoch ends
	Epochs     int64     // how many there are; 0 means no end

	// Order, if not nil, is the order of each epoch in the place of Shuffle: by
	// blocks through a buffer, weighted, stratified, by groups. It is over all rows
	// of the source.
	Order order.Order
	// SkipBad leaves out rows that cannot be read because a part of a file is
	// damaged, and goes on: the batch is shorter by them, without rows if need be,
	// so that the ranks stay in step. Stats counts them. Without it they are the
	// error of Next.
	SkipBad bool

	// Transform, if not nil, changes a batch in place before it is given out. It is
	// called by several goroutines at a time, as many as there are workers and beside
	// these, and may use the batch until it returns.
	// An error or a panic of it is that of the Next whose turn the batch was.
	Transform func(ctx context.Context, b Batch) error

	// Workers is how many goroutines gather batches, and as many evaluate expressions,
	// functions of tables and Transform, where there are any; 0 means GOMAXPROCS, InCaller
	// none. The batches do not depend on it.
	Workers int
	// Prefetch is how many batches the ring holds, those that were given out and
	// not released among them; 0 means Workers + 2.
	Prefetch int
	// Spare is how many bytes the source may use to arrange its data for random
	// reading; 0 means 50 MiB, negative none. See the source for what it does. An
	// epoch in the order of the rows needs none and uses none.
	Spare int64
	// Device, if not nil, is where batches are copied to, on a stream of their own,
	// as soon as they are made, so that copies overlap with what the device and its
	// user do. See Batch.Ready, FeaturesOnDevice and ReleaseAfter. Batches of a table
	// that lies there are not copied but gathered there: see FromTable.
	Device device.Device
	// Pinned is where the ring lies as long as there is some of it: pinned memory,
	// as a device's Pinned gives it, from which who takes the batches copies them to
	// the device. nil means that of Device where there is one and no Memory. When
	// there is no more the rest of the ring is in plain memory, with a warning.
	Pinned memory.Allocator
	// Memory is where the ring lies that is not in Pinned, and what the source lays
	// out; nil means plain memory. The host must be able to address both.
	Memory memory.Allocator
	// Warn takes what is no error and should be known, once each; nil means
	// slog.Warn.
	Warn func(text string, err error)
}

// defaultSpare is Options.Spare when it is 0: with what a loader takes besides, for
// its ring and its goroutines, it is some 64 MiB.
const defaultSpare = 50 << 20

// filled is the options with their defaults.
func (o Options) filled() (Options, error) {
	fail := func(format string, args ...any) (Options, error) {
		return o, device.Errorf(device.ErrMismatch, "", "dataloader", format, args...)
	}
	switch {
	case o.Layout < RowMajor || o.Layout > Columns:
		return fail("layout %d: it is RowMajor, ColumnMajor or Columns", o.Layout)
	case o.Workers < InCaller:
		return fail("%d workers: 0 means GOMAXPROCS, InCaller none", o.Workers)
	case o.Prefetch < 0:
		return fail("a ring of %d batches", o.Prefetch)
	case o.Order != nil && o.Shuffle:
		return fail("Shuffle and Order: an order is one or the other")
	case o.Window != nil && o.Layout == ColumnMajor:
		return fail("windows are RowMajor, or Columns")
	case o.Epochs < 0:
		return fail("%d epochs: 0 means no end", o.Epochs)
	}
	if o.Size == 0 {
		o.Size = 1
	}
	if o.Workers == 0 {
		o.Workers = processors.Count()
	}
	if o.Prefetch == 0 {
		o.Prefetch = max(o.Workers, 0) + 2
	}
	if o.Spare == 0 {
		o.Spare = defaultSpare
	}
	o.Spare = max(o.Spare, 0)
	if o.Pinned == nil && o.Memory == nil && o.Device != nil {
		o.Pinned = o.Device.Pinned()
	}
	if o.Memory == nil {
		o.Memory = memory.Heap
	}
	if o.Warn == nil {
		o.Warn = warn
	}
	for _, a := range []memory.Allocator{o.Pinned, o.Memory} {
		if a != nil && !a.Place().HostAccessible() {
			return fail("the ring cannot lie in %v: the host writes it", a.Place())
		}
	}
	if o.LabelType == nil {
		o.LabelType = arrow.PrimitiveTypes.Float32
	}
	if o.Type == nil && o.Layout != Columns {
		o.Type = arrow.PrimitiveTypes.Float32
	}
	for _, t := range []arrow.DataType{o.Type, o.LabelType} {
		if t == nil {
			continue
		}
		switch t.ID() {
		case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.INT32, arrow.INT64:
		default:
			if t != BFloat16 {
				return o, unsupportedType(t)
			}
		}
	}
	return o, nil
}
