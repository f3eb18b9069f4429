package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Bencher is what a kernel's benchmark works with.
type Bencher struct {
	*testing.B
	Backend *kernels.Backend
	Rows    int64 // of a column: a million, fewer under -short
	suite   *Suite
}

// Bench measures every kernel of a backend, as sub-benchmarks with names of
// the form kernel=Sum/dev=cpu/type=i64/rows=1M/nulls=10%. Bytes are those that the
// operation's meaning requires to be read and written.
func Bench(b *testing.B, backend *kernels.Backend) {
	rows := int64(1_000_000)
	if testing.Short() {
		rows = 65_536
	}
	for _, f := range families {
		if f.Bench == nil || !has(backend.Set, f.Kernel) {
			continue
		}
		b.Run("kernel="+f.Kernel+"/dev="+backend.Device.Name(), func(b *testing.B) {
			s := newSuite(b, backend, backend, false, Full)
			s.begin(f.Kernel, defaultSeed)
			f.Bench(&Bencher{b, backend, rows, s})
			s.release(0)
			if err := errors.Join(s.tested.close(), s.reference.close()); err != nil {
				b.Error(err)
			}
		})
	}
}

// Column makes a column of b.Rows values with a share of nulls in percent.
func (b *Bencher) Column(t arrow.DataType, domain Domain, nulls int) *memory.Column {
	c := Case{Type: t, Length: b.Rows, Domain: domain, Nulls: b.pattern(nulls)}
	return b.suite.Column(c)
}

// Mask makes a bool column of b.Rows of which a share in percent is true.
func (b *Bencher) Mask(percent int) *memory.Column {
	return b.suite.Mask(b.Rows, float64(percent)/100, NoBitmap, 0)
}

// Rand gives drawn numbers.
func (b *Bencher) Rand() *rand.Rand { return b.suite.Rand }

// Own makes the benchmark release a column at its end.
func (b *Bencher) Own(c *memory.Column) *memory.Column { return b.suite.Own(c) }

func (b *Bencher) pattern(nulls int) Pattern {
	b.Helper()
	switch nulls {
	case 0:
		return NoBitmap
	case 10:
		return Tenth
	case 50:
		return Half
	case 100:
		return AllNull
	}
	b.Fatalf("%d%% nulls: one of 0, 10, 50, 100", nulls)
	return NoBitmap
}

// Measure times a call. name is made of key=value parts joined by slashes
// (Name); bytes are those that the operation must read and write. On a device
// other than the host a call goes ahead: it moves the arguments there, has
// programs built, and tells a type that the kernel has not got, of which nothing
// is measured.
func (b *Bencher) Measure(name string, bytes int64, f func(*Env) (Result, error)) {
	if side := b.suite.tested; !side.onHost() {
		r, err := side.call(context.Background(), f)
		r.Release()
		if without(err, nil) {
			return
		}
		if err != nil {
			b.Fatalf("%s: %v", name, err)
		}
	}
	b.B.Run(name, func(t *testing.B) {
		stream, err := b.Backend.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		e := &Env{Backend: b.Backend, Ctx: context.Background(), Stream: stream, side: b.suite.tested}
		t.SetBytes(bytes)
		t.ReportAllocs()
		once := func() {
			e.given = e.given[:0]
			r, err := f(e)
			if err == nil {
				err = e.err
			}
			if err == nil {
				err = stream.Wait(e.Ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Release()
		}
		for t.Loop() {
			once()
		}
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Name is the usual name of a measurement: type, rows and percent of nulls,
// then further key=value parts.
func (b *Bencher) Name(t arrow.DataType, nulls int, more ...string) string {
	name := fmt.Sprintf("type=%s/rows=%s/nulls=%d%%", short(t), count(b.Rows), nulls)
	for _, m := range more {
		name += "/" + m
	}
	return name
}

func count(n int64) string {
	switch {
	case n%1_000_000 == 0 && n > 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n%1000 == 0 && n > 0:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return fmt.Sprint(n)
	}
}

func short(t arrow.DataType) string {
	names := map[arrow.Type]string{
		arrow.INT8: "i8", arrow.INT16: "i16", arrow.INT32: "i32", arrow.INT64: "i64",
		arrow.UINT8: "u8", arrow.UINT16: "u16", arrow.UINT32: "u32", arrow.UINT64: "u64",
		arrow.FLOAT32: "f32", arrow.FLOAT64: "f64",
	}
	if n := names[t.ID()]; n != "" {
		return n
	}
	return t.Name()
}

// Bytes is what a column's window takes: values, validity where it has one,
// strings' bytes, children.
func Bytes(c *memory.Column) int64 {
	n := int64(0)
	if c.Validity() != nil {
		n += memory.BitmapBytes(c.Len())
	}
	switch memory.LayoutOf(c.Type()) {
	case memory.LayoutBits:
		n += memory.BitmapBytes(c.Len())
	case memory.LayoutBinary, memory.LayoutList:
		o := memory.Offsets[int32](c)
		n += 4*int64(len(o)) + itemBytes(c, int64(o[0]), int64(o[len(o)-1]))
	case memory.LayoutLargeBinary, memory.LayoutLargeList:
		o := memory.Offsets[int64](c)
		n += 8*int64(len(o)) + itemBytes(c, o[0], o[len(o)-1])
	case memory.LayoutStruct:
		for i := range c.NumChildren() {
			f := c.Field(i)
			n += Bytes(f)
			f.Release()
		}
	default:
		n += c.Len() * int64(memory.Width(c.Type()))
	}
	return n
}

func itemBytes(c *memory.Column, from, to int64) int64 {
	if c.NumChildren() == 0 {
		return to - from
	}
	items, err := c.Child(0).Slice(from, to-from)
	if err != nil {
		return 0
	}
	defer items.Release()
	return Bytes(items)
}
