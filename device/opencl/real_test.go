package opencl_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/memory"
)

// eachDevice runs test on every device that is here.
func eachDevice(t *testing.T, test func(t *testing.T, b *bench)) {
	for i := range devices(t) {
		d := open(t, i)
		t.Run(d.Name(), func(t *testing.T) {
			s, err := d.NewStream()
			b := &bench{T: t, d: d, s: s}
			b.must(err)
			test(t, b)
			b.must(s.Close())
		})
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// bench is a test with a device and a stream.
type bench struct {
	*testing.T
	d *opencl.Device
	s device.Stream
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// says fails unless err is of the kind and tells each of the words.
func (b *bench) says(err, kind error, words ...string) {
	b.Helper()
	if !errors.Is(err, kind) {
		b.Fatalf("got %v, want: %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.Errorf("%q does not say %q", err, w)
		}
	}
}

func (b *bench) function(text, name string, defines map[string]string) device.Function {
	b.Helper()
	m, err := b.d.LoadModule(b.Context(), device.Source{Name: b.Name(), Text: text, Defines: defines})
	b.must(err)
	f, err := m.Function(name)
	b.must(err)
	return f
}

func (b *bench) buffer(n int64) *memory.Buffer {
	b.Helper()
	x, err := memory.New(b.d.Memory(), n)
	b.must(err)
	return x
}

func (b *bench) read(x *memory.Buffer) []byte {
	b.Helper()
	h := memory.Wrap(make([]byte, x.Len()), nil)
	b.must(b.s.Copy(h, 0, x, 0, x.Len()))
	b.must(b.s.Wait(b.Context()))
	return h.Bytes()
}

func (b *bench) write(x *memory.Buffer, content []byte) {
	b.Helper()
	b.must(b.s.Copy(x, 0, memory.Wrap(content, nil), 0, int64(len(content))))
}

const argumentsText = `
kernel void numbers(global long *out, char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float x, DOUBLE y) {
	out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; out[7] = (long)h; out[8] = (long)x; out[9] = (long)y;
}
kernel void null(global const long *in, global long *out) { out[0] = in == 0 ? 1 : 2; }
kernel void reversed(global int *x, local int *scratch) {
	int i = get_local_id(0), n = get_local_size(0);
	scratch[i] = x[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	x[i] = scratch[n - 1 - i];
}
kernel void shift(global const uchar *in, long at, global uchar *out) { out[get_global_id(0)] = in[at + get_global_id(0)]; }
`

var argumentsDefines = map[string]string{"DOUBLE": "double"}

// TestArguments passes every kind of argument, and those that do not fit.
func TestArguments(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bench) {
		f := b.function(argumentsText, "numbers", argumentsDefines)
		out := b.buffer(80)
		args := []any{out, int8(-1), uint8(200), int16(-3), uint16(60000), int32(-5), uint32(1 << 31), int64(-7), uint64(1 << 40), float32(9), float64(-10)}
		b.must(b.s.Launch(f, device.Grid{}, args...))
		got := b.read(out)
		for i, want := range []int64{-1, 200, -3, 60000, -5, 1 << 31, -7, 1 << 40, 9, -10} {
			if v := int64(binary.NativeEndian.Uint64(got[8*i:])); v != want {
				t.Errorf("argument %d arrived as %d, not %d", i+1, v, want)
			}
		}
		for i, bad := range map[int]any{0: int64(1) << 40, 1: int16(1), 5: int64(1), 7: int32(1), 8: 5, 9: float64(1), 10: true} {
			changed := append([]any(nil), args...)
			changed[i] = bad
			if i == 0 {
				changed[i] = memory.Wrap(make([]byte, 80), nil)
			}
			b.says(b.s.Launch(f, device.Grid{}, changed...), device.ErrMismatch, "numbers", "argument")
		}
		b.says(b.s.Launch(f, device.Grid{}, args[:10]...), device.ErrMismatch, "10 arguments for 11 parameters")
		b.says(b.s.Launch(f, device.Grid{Items: [3]int{1 << 20}}, args...), device.ErrMismatch, "numbers")
		b.says(b.s.Launch(f, device.Grid{Local: 64}, args[:10]...), device.ErrMismatch, "local")

		null := b.function(argumentsText, "null", argumentsDefines)
		for i, none := range []any{(*memory.Buffer)(nil), device.Base{}, b.buffer(0), device.Base{Buffer: out}} {
			b.must(b.s.Launch(null, device.Grid{}, none, out))
			want := byte(1)
			if i == 3 {
				want = 2
			}
			if got := b.read(out); got[0] != want {
				t.Errorf("null %d is seen as %d", i, got[0])
			}
		}

		reversed := b.function(argumentsText, "reversed", argumentsDefines)
		x := b.buffer(64 * 4)
		content := make([]byte, 64*4)
		for i := range 64 {
			binary.NativeEndian.PutUint32(content[4*i:], uint32(i))
		}
		b.write(x, content)
		b.must(b.s.Launch(reversed, device.Grid{Items: [3]int{64}, Local: 64 * 4}, x))
		if got := b.read(x); binary.NativeEndian.Uint32(got) != 63 || binary.NativeEndian.Uint32(got[4*63:]) != 0 {
			t.Error("dynamic local memory")
		}
		b.says(b.s.Launch(reversed, device.Grid{Items: [3]int{64}, Local: 1 << 30}, x), device.ErrMismatch, "local memory")
		out.Release()
		x.Release()
	})
}

// TestParts passes parts of allocations: where they are aligned, as Bases
// anywhere, and refuses the rest.
func TestParts(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bench) {
		f := b.function(argumentsText, "shift", argumentsDefines)
		content := make([]byte, 10_000)
		for i := range content {
			content[i] = byte(i * 7)
		}
		x, out := b.buffer(10_000), b.buffer(100)
		b.write(x, content)
		for _, c := range []struct {
			offset int64
			base   bool
		}{{0, false}, {4096, false}, {0, true}, {1, true}, {777, true}, {9900, true}} {
			part, err := x.Slice(c.offset, 100)
			b.must(err)
			arg, at := any(part), int64(0)
			if c.base {
				arg, at = device.Base{Buffer: part}, c.offset
			}
			b.must(b.s.Launch(f, device.Grid{Groups: [3]int64{100}}, arg, at, out))
			part.Release()
			if !bytes.Equal(b.read(out), content[c.offset:c.offset+100]) {
				t.Errorf("a part at %d, base %v", c.offset, c.base)
			}
		}
		part, err := x.Slice(1, 100)
		b.must(err)
		b.says(b.s.Launch(f, device.Grid{}, part, int64(0), out), device.ErrMismatch, "argument 0", "byte 1 ", "Base")
		part.Release()
		if x.Refs() != 1 || out.Refs() != 1 {
			t.Errorf("%d and %d references", x.Refs(), out.Refs())
		}
		x.Release()
		out.Release()
	})
}

// TestOneFunctionOnManyStreams launches a kernel from many goroutines with
// arguments that differ: none may get another's.
func TestOneFunctionOnManyStreams(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bench) {
		f := b.function(`kernel void put(global int *out, int v) { out[get_global_id(0)] = v; }`, "put", nil)
		var wait sync.WaitGroup
		for g := range 8 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				s, err := b.d.NewStream()
				if err != nil {
					t.Error(err)
					return
				}
				x, _ := memory.New(b.d.Memory(), 64)
				h, _ := memory.New(b.d.Pinned(), 64)
				for i := range 100 {
					v := int32(1000*g + i)
					if err := errors.Join(s.Launch(f, device.Grid{Items: [3]int{16}}, x, v), s.Copy(h, 0, x, 0, 64), s.Wait(context.Background())); err != nil {
						t.Error(err)
						return
					}
					for k := range 16 {
						if got := int32(binary.NativeEndian.Uint32(h.Bytes()[4*k:])); got != v {
							t.Errorf("goroutine %d got %d, not %d", g, got, v)
							return
						}
					}
				}
				x.Release()
				h.Release()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
		}
		wait.Wait()
	})
}

// TestCopiesOverlap copies within one buffer as Go's copy does.
func TestCopiesOverlap(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bench) {
		const large = 20 << 20 // more than one piece
		for _, c := range [][3]int64{{0, 100, 5000}, {100, 0, 5000}, {0, 0, 5000}, {7, 8, 1}, {100, 0, large}, {0, 100, large}} {
			want := make([]byte, c[2]+1000)
			for i := range want {
				want[i] = byte(i * 13 >> 3)
			}
			x := b.buffer(c[2] + 1000)
			b.write(x, bytes.Clone(want))
			b.must(b.s.Copy(x, c[0], x, c[1], c[2]))
			copy(want[c[0]:], want[c[1]:c[1]+c[2]])
			if !bytes.Equal(b.read(x), want) {
				t.Errorf("%d bytes from %d to %d", c[2], c[1], c[0])
			}
			x.Release()
		}
	})
}

// TestCopyBetweenDevices copies from each device to each, in the order of the
// stream.
func TestCopyBetweenDevices(t *testing.T) {
	n := devices(t)
	const size = 20 << 20 // more than one piece
	for from := range n {
		for to := range n {
			a := open(t, from)
			src := &bench{T: t, d: a}
			dst := &bench{T: t, d: open(t, to)}
			var err error
			src.s, err = src.d.NewStream()
			src.must(err)
			dst.s, err = dst.d.NewStream()
			dst.must(err)
			x, y := src.buffer(size), dst.buffer(size)
			e, err := a.NewEvent()
			src.must(err)
			src.must(src.s.Fill(x, 0, size, 9))
			src.must(src.s.Fill(x, size-5, 5, 8))
			src.must(src.s.Record(e))
			dst.must(dst.s.WaitEvent(e))
			dst.must(dst.s.Copy(y, 1, x, 1, size-1))
			got := dst.read(y)
			if got[1] != 9 || got[size-6] != 9 || got[size-5] != 8 || got[size-1] != 8 {
				t.Errorf("from %d to %d", from, to)
			}
			x.Release()
			y.Release()
			src.must(src.d.Close())
			dst.must(dst.d.Close())
		}
	}
}

// TestBuildFailure gives the compiler's log.
func TestBuildFailure(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bench) {
		_, err := b.d.LoadModule(t.Context(), device.Source{Name: "broken", Text: "kernel void f(global int *x) {\n\tx[0] = undeclared_here;\n}\n"})
		b.says(err, device.ErrUnsupported, b.d.Name(), "build broken", "undeclared_here")
	})
}

// TestTooLarge asks for what no device has.
func TestTooLarge(t *testing.T) {
	eachDevice(t, func(t *testing.T, b *bench) {
		_, err := memory.New(b.d.Memory(), 1<<45)
		b.says(err, device.ErrOutOfMemory, "35184372088832 bytes requested", "free")
		x := b.buffer(100)
		b.must(b.s.Fill(x, 0, 100, 1))
		b.must(b.s.Wait(t.Context()))
		x.Release()
	})
}

// TestInfo describes each device the same in both ways.
func TestInfo(t *testing.T) {
	if devices(t) == 0 {
		return
	}
	infos, err := opencl.List()
	if err != nil {
		t.Fatal(err)
	}
	for i, listed := range infos {
		d := open(t, i)
		info := d.Info()
		if listed.Name != d.Name() || listed.Model != info.Model || info.Driver == "" || info.Vendor == "" || info.LocalMemory < 16<<10 || info.Memory < 64<<20 {
			t.Errorf("%+v", info)
		}
		x, err := memory.New(d.Memory(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if free := d.Info().MemoryFree; free > info.Memory-1<<20 {
			t.Errorf("%d free of %d with a MiB taken", free, info.Memory)
		}
		x.Release()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
