package columns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/memory"
)

const (
	ranks = 3
	limit = 60 * time.Second
)

var types = []arrow.DataType{
	arrow.PrimitiveTypes.Int32, arrow.FixedWidthTypes.Boolean, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.Null,
	arrow.FixedWidthTypes.Timestamp_ms, &arrow.Decimal128Type{Precision: 20, Scale: 2},
	arrow.ListOf(arrow.BinaryTypes.String), arrow.LargeListOf(arrow.PrimitiveTypes.Float64),
	arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}),
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String},
}

// sample is a list of columns of all types, windows of longer ones, that depends on the
// seed alone.
func sample(t testing.TB, seed uint64, rows, offset int) []*memory.Column {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	var cols []*memory.Column
	for _, typ := range types {
		b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
		for range rows + offset + 3 {
			value(r, b, seed%4 == 3)
		}
		a := b.NewArray()
		c, err := memory.FromArrow(a)
		a.Release()
		b.Release()
		if err != nil {
			t.Fatal(err)
		}
		window, err := c.Slice(int64(offset), int64(rows))
		c.Release()
		if err != nil {
			t.Fatal(err)
		}
		cols = append(cols, window)
	}
	return cols
}

// value appends a random one.
func value(r *rand.Rand, b array.Builder, sound bool) {
	if !sound && r.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	text := strings.Repeat(fmt.Sprint(r.IntN(50)), r.IntN(4))
	switch b := b.(type) {
	case *array.ListBuilder:
		b.Append(true)
		for range r.IntN(4) {
			value(r, b.ValueBuilder(), sound)
		}
	case *array.LargeListBuilder:
		b.Append(true)
		for range r.IntN(4) {
			value(r, b.ValueBuilder(), sound)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			value(r, b.FieldBuilder(i), sound)
		}
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case *array.StringBuilder:
		b.Append(text)
	case *array.LargeStringBuilder:
		b.Append(text)
	case *array.NullBuilder:
		b.AppendNull()
	default:
		if err := b.AppendValueFromString(fmt.Sprint(r.IntN(100))); err != nil {
			if err := b.AppendValueFromString("2024-05-06 07:08:09.010"); err != nil {
				panic(err)
			}
		}
	}
}

// same compares a column that came, wherever it is, with one that was sent.
func same(dev device.Device, s device.Stream, got, want *memory.Column) error {
	if got.Place() != dev.Place() && got.Len() > 0 && got.Type().ID() != arrow.NULL {
		return fmt.Errorf("it is in %s, not in %s", got.Place(), dev.Place())
	}
	here, err := device.Move(context.Background(), s, dev.Pinned(), got)
	if err != nil {
		return err
	}
	defer here.Release()
	if err := here.Validate(); err != nil {
		return err
	}
	a, err := memory.ToArrow(here)
	if err != nil {
		return err
	}
	defer a.Release()
	b, err := memory.ToArrow(want)
	if err != nil {
		return err
	}
	defer b.Release()
	if !array.Equal(a, b) || here.NullCount() != want.NullCount() {
		return fmt.Errorf("%s: %v, want %v", want.Type(), a, b)
	}
	return nil
}

// on runs f for every rank, with devices that open makes.
func on(t *testing.T, open func() device.Device, f func(c *Comm, dev device.Device, s device.Stream) error) []error {
	t.Helper()
	errs := make([]error, ranks)
	var all sync.WaitGroup
	for r, e := range inproc.New(ranks) {
		all.Go(func() {
			errs[r] = func() (err error) {
				dev := open()
				defer func() { err = errors.Join(err, dev.Close()) }()
				comm, err := collective.New(e, collective.Options{Deadline: limit})
				if err != nil {
					return err
				}
				defer comm.Close()
				c, err := New(comm, dev)
				if err != nil {
					return err
				}
				defer c.Close()
				s, err := dev.NewStream()
				if err != nil {
					return err
				}
				defer s.Close()
				return f(c, dev, s)
			}()
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("the ranks hang")
	}
	return errs
}

// place gives the columns in the device's memory.
func place(dev device.Device, s device.Stream, cols []*memory.Column) ([]*memory.Column, error) {
	var there []*memory.Column
	for _, c := range cols {
		m, err := device.Move(context.Background(), s, dev.Memory(), c)
		if err != nil {
			return nil, err
		}
		there = append(there, m)
	}
	return there, nil
}

func everyOperation(t *testing.T, open func() device.Device) {
	ctx := context.Background()
	rows, offsets := []int{40, 0, 13}, []int{5, 0, 16}
	parts := func(from, to int) []*memory.Column {
		return sample(t, uint64(10*from+to), rows[(from+to)%3], offsets[to])
	}
	for r, err := range on(t, open, func(c *Comm, dev device.Device, s device.Stream) error {
		rank := c.c.Rank()
		compare := func(what string, got []*memory.Column, from, to int) error {
			want := parts(from, to)
			defer Release(want)
			defer Release(got)
			if len(got) != len(want) {
				return fmt.Errorf("%s: %d columns from rank %d", what, len(got), from)
			}
			for i := range got {
				if err := same(dev, s, got[i], want[i]); err != nil {
					return fmt.Errorf("%s from rank %d: %w", what, from, err)
				}
			}
			return nil
		}
		own, err := place(dev, s, parts(rank, 0))
		if err != nil {
			return err
		}
		defer Release(own)
		all, err := c.AllGather(ctx, types, own)
		if err != nil {
			return err
		}
		for from := range ranks {
			if err := compare("AllGather", all[from], from, 0); err != nil {
				return err
			}
		}
		gathered, err := c.Gather(ctx, types, own, 1)
		if err != nil || (gathered != nil) != (rank == 1) {
			return fmt.Errorf("Gather gives %v, %w", gathered, err)
		}
		for from := range gathered {
			if err := compare("Gather", gathered[from], from, 0); err != nil {
				return err
			}
		}
		var lists [][]*memory.Column
		for to := range ranks {
			there, err := place(dev, s, parts(rank, to))
			if err != nil {
				return err
			}
			defer Release(there)
			lists = append(lists, there)
		}
		swapped, err := c.AllToAll(ctx, types, lists)
		if err != nil {
			return err
		}
		for from := range ranks {
			if err := compare("AllToAll", swapped[from], from, rank); err != nil {
				return err
			}
		}
		if rank != 2 {
			lists = nil
		}
		mine, err := c.Scatter(ctx, types, lists, 2)
		if err != nil {
			return err
		}
		if err := compare("Scatter", mine, 2, rank); err != nil {
			return err
		}
		told, err := c.Broadcast(ctx, types, own, 2)
		if err != nil {
			return err
		}
		return compare("Broadcast", told, 2, 0)
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func TestColumns(t *testing.T) { everyOperation(t, func() device.Device { return host.New() }) }

// onRemotes runs operations between devices whose memory the host cannot read, one a
// rank, and holds that nothing is left in one.
func onRemotes(t *testing.T, operations func(t *testing.T, open func() device.Device)) {
	t.Helper()
	var mu sync.Mutex
	var devices []*devicetest.Remote
	operations(t, func() device.Device {
		r := devicetest.NewRemote(memory.Place{Type: memory.OpenCL})
		mu.Lock()
		defer mu.Unlock()
		devices = append(devices, r)
		return r
	})
	for r, d := range devices {
		if d.InUse() != 0 {
			t.Errorf("device %d still has %d bytes in use", r, d.InUse())
		}
	}
}

// Columns of a device whose memory the host cannot read are staged, and nothing is
// left behind.
func TestColumnsOfARemoteDevice(t *testing.T) {
	onRemotes(t, everyOperation)
}

// The backend of VOLLEY_BACKEND, such as opencl.
func TestColumnsOfABackend(t *testing.T) {
	everyOperation(t, func() device.Device {
		return backends.Open(t, func(a memory.Allocator) memory.Allocator { return a }).Device
	})
}

// Ranks that do not agree get an error, all of them, and can go on.
func TestDisagreement(t *testing.T) {
	ctx := context.Background()
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, _ device.Device, _ device.Stream) error {
		cols := sample(t, 1, 5, 0)
		defer Release(cols)
		mine, give := types, cols
		if c.c.Rank() == 1 {
			mine, give = types[:4], cols[:4]
		}
		if _, err := c.AllGather(ctx, mine, give); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "different types") {
			return fmt.Errorf("other types: %w", err)
		}
		if _, err := c.AllGather(ctx, types, cols[1:]); !errors.Is(err, device.ErrMismatch) {
			return fmt.Errorf("too few columns: %w", err)
		}
		if _, err := c.Gather(ctx, types, cols, ranks); !errors.Is(err, device.ErrMismatch) {
			return fmt.Errorf("no such root: %w", err)
		}
		if _, err := c.Broadcast(ctx, []arrow.DataType{arrow.FixedWidthTypes.MonthInterval}, nil, 0); !errors.Is(err, device.ErrUnsupported) {
			return fmt.Errorf("intervals: %w", err)
		}
		all, err := c.AllGather(ctx, types, cols)
		for _, list := range all {
			Release(list)
		}
		return err
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A rank without memory for what comes ends the call on all.
func TestOutOfMemory(t *testing.T) {
	var made sync.Once
	for r, err := range on(t, func() device.Device {
		d := devicetest.NewRemote(memory.Place{Type: memory.OpenCL})
		return d
	}, func(c *Comm, dev device.Device, _ device.Stream) error {
		small := false
		made.Do(func() { small = true; c.dev = short{dev} })
		cols := sample(t, 1, 100, 0)
		defer Release(cols)
		_, err := c.AllGather(context.Background(), types, cols)
		var f *collective.Fault
		switch {
		case small && !errors.Is(err, device.ErrOutOfMemory):
			return fmt.Errorf("the rank without memory gets %w", err)
		case !small && (!errors.As(err, &f) || f.Cause != collective.Canceled):
			return fmt.Errorf("another rank gets %w", err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// short is a device without pinned memory to give.
type short struct{ device.Device }

func (s short) Pinned() memory.Allocator { return none{s.Device.Pinned()} }

type none struct{ memory.Allocator }

func (n none) Allocate(size int64) (memory.Block, error) {
	return memory.Block{}, &memory.OutOfMemory{Place: n.Place(), Requested: size}
}
