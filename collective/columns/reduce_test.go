package columns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/backends"
	half "github.com/volley-go/volley/internal/float16"
	"github.com/volley-go/volley/memory"
)

var numeric = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Float16, arrow.FixedWidthTypes.Float16,
}

// numberAt is what a rank has in a row of a column: small, so that no type overflows. Row 0
// is null on all ranks, but for a column without nulls; in columns of odd numbers the row
// chooses the ranks that have a null.
func numberAt(rank, col, row int) (x int, ok bool) {
	if col == 2 {
		return rank + row%7, true
	}
	return 1 + (rank*3+col+row)%5, row != 0 && (col%2 == 0 || (row>>rank)&1 == 0)
}

// numbersOf is a rank's columns, windows from offset on.
func numbersOf(t testing.TB, rank, rows, offset int) []*memory.Column {
	t.Helper()
	var cols []*memory.Column
	for i, typ := range numeric {
		b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
		for row := -offset; row < rows; row++ {
			x, ok := numberAt(rank, i, max(row, 0))
			if !ok {
				b.AppendNull()
			} else if err := b.AppendValueFromString(fmt.Sprint(x)); err != nil {
				t.Fatal(err)
			}
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

// reductionsOf are the reductions, as they are of the values that a row has.
var reductionsOf = []struct {
	op  collective.Op
	is  func(values []int, float bool) float64
	not bool // of floats
}{
	{collective.Sum, func(v []int, _ bool) float64 { return folded(v, func(a, b int) int { return a + b }) }, false},
	{collective.Prod, func(v []int, _ bool) float64 { return folded(v, func(a, b int) int { return a * b }) }, false},
	{collective.Min, func(v []int, _ bool) float64 { return float64(slices.Min(v)) }, false},
	{collective.Max, func(v []int, _ bool) float64 { return float64(slices.Max(v)) }, false},
	{collective.Avg, func(v []int, float bool) float64 {
		mean := folded(v, func(a, b int) int { return a + b }) / float64(len(v))
		if float {
			return mean
		}
		return math.Trunc(mean)
	}, false},
	{collective.And, func(v []int, _ bool) float64 { return folded(v, func(a, b int) int { return a & b }) }, true},
	{collective.Or, func(v []int, _ bool) float64 { return folded(v, func(a, b int) int { return a | b }) }, true},
	{collective.Xor, func(v []int, _ bool) float64 { return folded(v, func(a, b int) int { return a ^ b }) }, true},
}

func folded(v []int, f func(a, b int) int) float64 {
	x := v[0]
	for _, y := range v[1:] {
		x = f(x, y)
	}
	return float64(x)
}

// holds compares columns with what their rows must be, from a row on.
func holds(dev device.Device, s device.Stream, got []*memory.Column, from, rows int, is func([]int, bool) float64) error {
	for i, g := range got {
		if g.Place() != dev.Place() && g.Len() > 0 {
			return fmt.Errorf("column %d is in %s", i, g.Place())
		}
		here, err := device.Move(context.Background(), s, dev.Pinned(), g)
		if err != nil {
			return err
		}
		defer here.Release()
		if err := here.Validate(); err != nil || here.Len() != int64(rows) || !arrow.TypeEqual(here.Type(), g.Type()) {
			return fmt.Errorf("column %d: %d rows of %s, %w", i, here.Len(), here.Type(), err)
		}
		a, err := memory.ToArrow(here)
		if err != nil {
			return err
		}
		defer a.Release()
		float := arrow.IsFloating(g.Type().ID())
		for row := range rows {
			var values []int
			for r := range ranks {
				if x, ok := numberAt(r, i, from+row); ok {
					values = append(values, x)
				}
			}
			want := "(null)"
			if values != nil {
				want = fmt.Sprint(is(values, float))
				switch g.Type().ID() {
				case arrow.FLOAT32:
					want = fmt.Sprint(float32(is(values, float)))
				case arrow.FLOAT16:
					want = float16.FromBits(half.Round(float32(is(values, float)))).String()
				}
			}
			if text := a.ValueStr(row); text != want {
				return fmt.Errorf("column %d (%s), row %d of %v: %s, want %s", i, g.Type(), from+row, values, text, want)
			}
		}
	}
	return nil
}

func everyReduction(t *testing.T, open func() device.Device) {
	ctx := context.Background()
	for r, err := range on(t, open, func(c *Comm, dev device.Device, s device.Stream) error {
		rank := c.c.Rank()
		for _, rows := range []int{0, 1, 8, 100} {
			near := numbersOf(t, rank, rows, 3+rank)
			defer Release(near)
			all, err := place(dev, s, near)
			if err != nil {
				return err
			}
			defer Release(all)
			var handles []*Handle[[]*memory.Column]
			var checks []func(got []*memory.Column) error
			for _, of := range reductionsOf {
				types, cols := numeric, all
				if of.not {
					types, cols = types[:8], cols[:8]
				}
				whole := func(what string, root int) func(got []*memory.Column) error {
					return func(got []*memory.Column) error {
						if (got == nil) != (root >= 0 && root != rank) {
							return fmt.Errorf("%s gives %v", what, got)
						}
						if err := holds(dev, s, got, 0, rows, of.is); err != nil {
							return fmt.Errorf("%s, %s of %d: %w", what, of.op, rows, err)
						}
						return nil
					}
				}
				part := func(got []*memory.Column) error {
					own := rows / ranks
					from := own*rank + min(rank, rows%ranks)
					if rank < rows%ranks {
						own++
					}
					if err := holds(dev, s, got, from, own, of.is); err != nil {
						return fmt.Errorf("ReduceScatter, %s of %d: %w", of.op, rows, err)
					}
					return nil
				}
				for i, f := range []func() ([]*memory.Column, error){
					func() ([]*memory.Column, error) { return c.AllReduce(ctx, types, cols, of.op) },
					func() ([]*memory.Column, error) { return c.Reduce(ctx, types, cols, of.op, 1) },
					func() ([]*memory.Column, error) { return c.ReduceScatter(ctx, types, cols, of.op) },
				} {
					check := []func([]*memory.Column) error{whole("AllReduce", -1), whole("Reduce", 1), part}[i]
					got, err := f()
					if err == nil {
						err = check(got)
					}
					Release(got)
					if err != nil {
						return err
					}
					checks = append(checks, check)
				}
				handles = append(handles, c.AllReduceAsync(ctx, types, cols, of.op), c.ReduceAsync(ctx, types, cols, of.op, 1), c.ReduceScatterAsync(ctx, types, cols, of.op))
			}
			for i, h := range handles {
				got, err := h.Wait(ctx)
				if err == nil {
					err = checks[i](got)
				}
				h.Discard()
				if err != nil {
					return fmt.Errorf("started: %w", err)
				}
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func TestReduce(t *testing.T) { everyReduction(t, func() device.Device { return host.New() }) }

// Nothing is left in a device whose memory the host cannot read.
func TestReduceOfARemoteDevice(t *testing.T) {
	onRemotes(t, everyReduction)
}

// The backend of VOLLEY_BACKEND, such as opencl.
func TestReduceOfABackend(t *testing.T) {
	everyReduction(t, func() device.Device {
		return backends.Open(t, func(a memory.Allocator) memory.Allocator { return a }).Device
	})
}

// -0 stays, NaN is a value, and integers wrap.
func TestReduceParticularValues(t *testing.T) {
	ctx := context.Background()
	types := []arrow.DataType{arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int8}
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, _ device.Device, _ device.Stream) error {
		first := array.NewFloat64Builder(arrowmem.DefaultAllocator)
		first.AppendValues([]float64{math.Copysign(0, -1), math.NaN(), math.Inf(1)}, []bool{c.c.Rank() == 1, c.c.Rank() == 0, true})
		second := array.NewInt8Builder(arrowmem.DefaultAllocator)
		second.AppendValues([]int8{100, -128, 1}, []bool{true, c.c.Rank() == 2, false})
		var cols []*memory.Column
		for _, b := range []array.Builder{first, second} {
			col, err := memory.FromArrow(b.NewArray())
			if err != nil {
				return err
			}
			cols = append(cols, col)
		}
		defer Release(cols)
		for _, of := range []struct {
			op   collective.Op
			want string
		}{{collective.Sum, "[-0 NaN +Inf] [44 -128] 1"}, {collective.Min, "[-0 NaN +Inf] [100 -128] 1"}, {collective.Max, "[-0 NaN +Inf] [100 -128] 1"}} {
			got, err := c.AllReduce(ctx, types, cols, of.op)
			if err != nil {
				return err
			}
			if text := fmt.Sprint(memory.View[float64](got[0].Buffer(1)), memory.View[int8](got[1].Buffer(1))[:2], got[1].NullCount()); text != of.want {
				return fmt.Errorf("%s: %s, want %s", of.op, text, of.want)
			}
			Release(got)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A user's reduction is for columns without nulls, of its own type; ranks that ask for more are
// told so, all of them, and can go on.
func TestReduceByUser(t *testing.T) {
	ctx := context.Background()
	types := []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.FixedWidthTypes.Float16}
	far := collective.NewOp("and", true, func(a, b float32) float32 { // the one that is farther from 0
		if math.Abs(float64(b)) > math.Abs(float64(a)) {
			return b
		}
		return a
	})
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, dev device.Device, s device.Stream) error {
		rank := c.c.Rank()
		list := func(nulls bool) ([]*memory.Column, error) {
			var cols []*memory.Column
			for _, typ := range types {
				b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
				defer b.Release()
				for row := range 4 {
					if nulls && rank == 1 && row == 2 {
						b.AppendNull()
					} else if err := b.AppendValueFromString(fmt.Sprint((row + 1) * []int{2, -3, 1}[rank])); err != nil {
						return nil, err
					}
				}
				a := b.NewArray()
				defer a.Release()
				col, err := memory.FromArrow(a)
				if err != nil {
					return nil, err
				}
				cols = append(cols, col)
			}
			return cols, nil
		}
		cols, err := list(false)
		if err != nil {
			return err
		}
		defer Release(cols)
		some, err := list(true)
		if err != nil {
			return err
		}
		defer Release(some)
		if err := second(c.AllReduce(ctx, types, some, far)); !errors.Is(err, device.ErrUnsupported) || !strings.Contains(err.Error(), "column 0 has nulls") {
			return fmt.Errorf("with nulls: %w", err)
		}
		other := collective.NewOp("other", true, func(a, b int64) int64 { return a })
		if err := second(c.AllReduce(ctx, types, cols, other)); err == nil || c.c.Fault() != nil {
			return fmt.Errorf("of another type: %w", err)
		}
		got, err := c.AllReduce(ctx, types, cols, far)
		if err != nil {
			return err
		}
		defer Release(got)
		for i, want := range []string{"[-3 -6 -9 -12]", "[c200 c600 c880 ca00]"} {
			text := fmt.Sprint(memory.View[float32](got[0].Buffer(1))[:4])
			if i == 1 {
				text = fmt.Sprintf("%x", memory.View[uint16](got[1].Buffer(1))[:4])
			}
			if text != want {
				return fmt.Errorf("column %d: %s, want %s", i, text, want)
			}
		}
		part, err := c.ReduceScatter(ctx, types[:1], cols[:1], far)
		if err != nil {
			return err
		}
		defer Release(part)
		if n, first := part[0].Len(), memory.View[float32](part[0].Buffer(1))[0]; n != []int64{2, 1, 1}[rank] || first != []float32{-3, -9, -12}[rank] {
			return fmt.Errorf("ReduceScatter: %d rows, the first %v", n, first)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// float16 is summed in float32, averages too, and rounded once; what is below its smallest
// normal number stays.
func TestReduceHalves(t *testing.T) {
	ctx := context.Background()
	types := []arrow.DataType{arrow.FixedWidthTypes.Float16}
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, _ device.Device, _ device.Stream) error {
		rank := c.c.Rank()
		b := array.NewFloat16Builder(arrowmem.DefaultAllocator)
		defer b.Release()
		for _, row := range [][ranks]uint16{{0x6800, 0x3c00, 0x3c00}, {0x7b00, 0x7b00, 0}, {1, 2, 0}, {0x8000, 0, 0}} { // 2048, 1, 1; 57344 twice; 2^-24, 2^-23; -0
			if b.Append(float16.FromBits(row[rank])); row[rank] == 0 {
				b.SetNull(b.Len() - 1)
			}
		}
		a := b.NewArray()
		defer a.Release()
		col, err := memory.FromArrow(a)
		if err != nil {
			return err
		}
		defer col.Release()
		for _, of := range []struct {
			op   collective.Op
			want string
		}{{collective.Sum, "[6801 7c00 3 8000]"}, {collective.Avg, "[6157 7b00 2 8000]"}, {collective.Max, "[6800 7b00 2 8000]"}} {
			got, err := c.AllReduce(ctx, types, []*memory.Column{col}, of.op)
			if err != nil {
				return err
			}
			if text := fmt.Sprintf("%x", memory.View[uint16](got[0].Buffer(1))[:4]); text != of.want || got[0].NullCount() != 0 {
				return fmt.Errorf("%s: %s, want %s", of.op, text, of.want)
			}
			Release(got)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// What cannot be reduced is refused before anything is sent; ranks that do not agree are
// told so, all of them; and all can go on.
func TestReduceRefuses(t *testing.T) {
	ctx := context.Background()
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, _ device.Device, _ device.Stream) error {
		rank := c.c.Rank()
		cols := numbersOf(t, rank, 10, 0)
		defer Release(cols)
		texts := sample(t, 1, 10, 0)
		defer Release(texts)
		user := collective.NewOp("sum", true, func(a, b int8) int8 { return a + b })
		for what, err := range map[string]error{
			"and of floats":  second(c.AllReduce(ctx, numeric, cols, collective.And)),
			"texts":          second(c.AllReduce(ctx, types[2:3], texts[2:3], collective.Max)),
			"booleans":       second(c.Reduce(ctx, types[1:2], texts[1:2], collective.Or, 0)),
			"times":          second(c.ReduceScatter(ctx, types[5:6], texts[5:6], collective.Sum)),
			"a user's":       second(c.AllReduce(ctx, numeric[:1], cols[:1], user)),
			"no reduction":   second(c.AllReduce(ctx, numeric[:1], cols[:1], collective.Op{})),
			"started, texts": second(c.AllReduceAsync(ctx, types[2:3], texts[2:3], collective.Max).Wait(ctx)),
		} {
			if !errors.Is(err, device.ErrUnsupported) {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		mine, other, least := cols, collective.Sum, 10
		if rank == 1 {
			mine, other, least = numbersOf(t, rank, 9, 0), collective.Max, 9
			defer Release(mine)
		}
		for what, err := range map[string]error{
			"too few columns": second(c.AllReduce(ctx, numeric, cols[1:], collective.Sum)),
			"none":            second(c.AllReduce(ctx, numeric, nil, collective.Sum)),
			"no such root":    second(c.Reduce(ctx, numeric, cols, collective.Sum, -1)),
		} {
			if !errors.Is(err, device.ErrMismatch) {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		if err := second(c.AllReduce(ctx, numeric, mine, collective.Sum)); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), fmt.Sprintf("from 9 to 10 rows, here %d", least)) {
			return fmt.Errorf("other lengths: %w", err)
		}
		if err := second(c.AllReduce(ctx, numeric, cols, other)); !errors.Is(err, device.ErrMismatch) {
			return fmt.Errorf("other reductions: %w", err)
		}
		got, err := c.AllReduce(ctx, numeric, cols, collective.Sum)
		Release(got)
		return err
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func second(_ []*memory.Column, err error) error { return err }
