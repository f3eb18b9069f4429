package cuda

import (
	"encoding/binary"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// readWord copies an int64 back.
func readWord(t *testing.T, d *Device, s device.Stream, b *memory.Buffer, offset int64) int64 {
	t.Helper()
	h, err := memory.New(d.Pinned(), 8)
	must(t, err)
	defer h.Release()
	must(t, s.Copy(h, 0, b, offset, 8))
	must(t, wait(t, s))
	return int64(binary.LittleEndian.Uint64(h.Bytes()))
}

// TestArguments passes what a kernel takes, and refuses what it does not, with
// the driver's list of parameters and with that of the PTX.
func TestArguments(t *testing.T) {
	for name, change := range map[string]func(*fake){"driver": func(*fake) {}, "PTX": (*fake).withoutLater} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			change(f)
			d := f.open()
			defer d.Close()
			s := newStream(t, d)
			fn := kernel(t, d, "mixed")
			b := onDevice(t, d, 64)
			defer b.Release()
			part, err := b.Slice(16, 8)
			must(t, err)
			defer part.Release()
			must(t, s.Fill(b, 0, 64, 0))
			must(t, s.Launch(fn, device.Grid{}, part, int32(1), int8(2), int16(3), 4))
			must(t, s.Launch(fn, device.Grid{}, part, uint32(10), uint8(20), uint16(30), uint64(40)))
			must(t, s.Launch(fn, device.Grid{}, device.Base{Buffer: part}, float32(0), uint8(0), uint16(0), int64(-7)))
			if v := readWord(t, d, s, part, 0); v != 110 {
				t.Errorf("the part holds %d", v)
			}
			if v := readWord(t, d, s, b, 0); v != -7 {
				t.Errorf("the base holds %d", v)
			}
			elsewhere := memory.WrapBlock(memory.Place{Type: memory.CUDA, ID: 1}, memory.Block{Handle: 1, Size: 8}, nil)
			for want, args := range map[string][]any{
				"4 arguments for 5 parameters":           {b, int32(0), int8(0), int16(0)},
				"6 arguments for 5 parameters":           {b, int32(0), int8(0), int16(0), 0, 0},
				"argument 1 is a int64 of 8 bytes":       {b, int64(0), int8(0), int16(0), 0},
				"argument 4 is a float32 of 4 bytes":     {b, int32(0), int8(0), int16(0), float32(0)},
				"argument 0 is a int32 of 4 bytes":       {int32(0), int32(0), int8(0), int16(0), 0},
				"argument 2 is a string":                 {b, int32(0), "0", int16(0), 0},
				"argument 0 is a *memory.Column":         {new(memory.Column), int32(0), int8(0), int16(0), 0},
				"argument 0 is a buffer on cpu":          {memory.Wrap(make([]byte, 8), nil), int32(0), int8(0), int16(0), 0},
				"argument 0 is a buffer on cuda:1, whic": {elsewhere, int32(0), int8(0), int16(0), 0},
			} {
				is(t, s.Launch(fn, device.Grid{}, args...), device.ErrMismatch, "mixed", want)
			}
			must(t, wait(t, s)) // refused launches do the stream no harm
			if n := f.called("cuLaunchKernel mixed"); n != 3 {
				t.Errorf("%d launches", n)
			}
		})
	}
}

// TestNilArguments are null pointers, which the kernel here does not look at:
// a grid of nothing cannot be had, so it is held against the values passed.
func TestNilArguments(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	fn, ok := kernel(t, d, "mixed").(*function)
	if !ok {
		t.Fatal("the function is of another kind")
	}
	values, err := d.params(fn, []any{device.Base{}, int32(-1), int8(-1), int16(-1), (*memory.Buffer)(nil)})
	must(t, err)
	for i, want := range []uint64{0, 1<<32 - 1, 1<<8 - 1, 1<<16 - 1, 0} {
		if values[i] != want {
			t.Errorf("argument %d is %#x", i, values[i])
		}
	}
}

// TestPinnedArgument gives a kernel pinned memory, by either of its addresses.
func TestPinnedArgument(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	h, err := memory.New(d.Pinned(), 64)
	must(t, err)
	defer h.Release()
	part, err := h.Slice(16, 8)
	must(t, err)
	defer part.Release()
	start := uintptr((&span{bytes: h.Bytes()}).pointer())
	for _, same := range []bool{true, false} {
		d.limits.hostPointers = same
		moved := uintptr(0)
		if !same {
			moved = 1 << 40
		}
		at, err := d.pointer("k", 0, part, true)
		must(t, err)
		base, err := d.pointer("k", 0, part, false)
		must(t, err)
		if at != start+16+moved || base != start+moved {
			t.Errorf("%#x and %#x for %#x", at, base, start)
		}
	}
}

func TestGrids(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	s := newStream(t, d)
	fn := kernel(t, d, "twice")
	b := onDevice(t, d, 8*512)
	defer b.Release()
	must(t, s.Launch(fn, device.Grid{Items: [3]int{512}}, b))
	must(t, s.Launch(fn, device.Grid{Local: 48 << 10}, b))
	must(t, wait(t, s)) // for the stream's goroutine, if it has one
	if f.called("cuFuncSetAttribute") != 0 {
		t.Error("the driver was told of local memory that every kernel may have")
	}
	must(t, s.Launch(fn, device.Grid{Local: 100 << 10}, b))
	must(t, s.Launch(fn, device.Grid{Local: 90 << 10}, b))
	must(t, wait(t, s))
	if n := f.called("cuFuncSetAttribute"); n != 1 || d.MaxLocal() != 227<<10 {
		t.Errorf("the driver was told %d times", n)
	}
	for _, g := range []device.Grid{
		{Items: [3]int{513}},                           // more than the kernel's registers allow
		{Items: [3]int{1, 1, 65}},                      // than the GPU has in that dimension
		{Items: [3]int{1 << 40, 1 << 40}},              // an overflow
		{Groups: [3]int64{1, 65536}},                   //
		{Groups: [3]int64{1 << 31}},                    //
		{Local: 228 << 10},                             //
		{Groups: [3]int64{-1}}, {Items: [3]int{0, -1}}, //
		{Local: -1},
	} {
		is(t, s.Launch(fn, g, b), device.ErrMismatch, "twice")
	}
	must(t, wait(t, s))
	n, err := Occupancy(fn, 256, 0)
	if n != 8 || err != nil {
		t.Errorf("%d groups, %v", n, err)
	}
	_, err = Occupancy(fn, 0, 0)
	is(t, err, device.ErrMismatch)
	_, err = Occupancy(nil, 1, 0)
	is(t, err, device.ErrMismatch)
}

// TestModuleHeldByLaunches closes a module whose launch still waits in the queue.
func TestModuleHeldByLaunches(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	s := newStream(t, d)
	m, err := d.LoadModule(t.Context(), fakeSource())
	must(t, err)
	fn, err := m.Function("twice")
	must(t, err)
	b := onDevice(t, d, 8)
	defer b.Release()
	open := make(chan struct{})
	must(t, s.Call("gate", func() error { <-open; return nil }))
	must(t, s.Launch(fn, device.Grid{}, b))
	must(t, m.Close())
	if f.called("cuModuleUnload") != 0 {
		t.Fatal("code was unloaded before its launch")
	}
	close(open)
	must(t, wait(t, s))
	if f.called("cuModuleUnload") != 1 || f.called("cuLaunchKernel twice") != 1 {
		t.Fatalf("unloaded %d times, launched %d times", f.called("cuModuleUnload"), f.called("cuLaunchKernel twice"))
	}
}

func TestParameterDeclarations(t *testing.T) {
	for text, want := range map[string]int64{
		".param .u64 a": 8, ".param .f32 a": 4, ".param .s16 f$1": 2, ".param .b8 x": 1, ".param .u64 .ptr .global .align 8 a": 8,
		".param .align 8 .b8 k_param_3[24]": 24, ".param .b64 a [2]": 16, ".param .f16x2 h": 4, ".param .bf16 h": 2, ".param .align 4 .u32 a": 4,
	} {
		if n, err := ptxSize(text); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{".param .texref t", ".param a", "", ".param .u64", ".param .u7 a", ".reg .u64 a"} {
		if n, err := ptxSize(text); err == nil {
			t.Errorf("%q has %d bytes", text, n)
		}
	}
	got, err := entries([]byte(".entry none\n{}\n.visible .entry empty() {}\n// .entry commented(.param .u64 a)\n.weak .entry one(\n.param .u64 a)"))
	if err != nil || len(got) != 3 || len(got["none"]) != 0 || len(got["empty"]) != 0 || len(got["one"]) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
