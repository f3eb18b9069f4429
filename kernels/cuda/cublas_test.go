package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/internal/dl"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// fakeBLAS multiplies in Go, in the memory of the emulated driver, which is the
// host's, and keeps what it was told.
type fakeBLAS struct {
	t           *testing.T
	synchronize uintptr // cuStreamSynchronize

	mu               sync.Mutex
	created, removed int
	stream           uintptr
	workspaces       int
	products         []blasProduct
	status           map[string]int32 // of calls that are to fail
}

func (f *fakeBLAS) blas() *blas {
	status := func(call string) int32 { return f.status[call] }
	return &blas{
		library: "libfake.so",
		create: func() (uintptr, int32) {
			f.created++
			return 7, status("create")
		},
		destroy: func(h uintptr) int32 { f.is(h); f.removed++; return 0 },
		setStream: func(h, stream uintptr) int32 {
			f.is(h)
			f.stream = stream
			return status("stream")
		},
		setWorkspace: func(h, at uintptr, size int64) int32 {
			f.is(h)
			if at == 0 || at%256 != 0 || size != blasWorkspace {
				f.t.Errorf("a workspace of %d bytes at %#x", size, at)
			}
			f.workspaces++
			return status("workspace")
		},
		gemm: func(h uintptr, p blasProduct) int32 {
			f.is(h)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.products = append(f.products, p)
			if s := status("gemm"); s != 0 {
				return s
			}
			if c := dl.Call(f.synchronize, f.stream); c != 0 {
				f.t.Errorf("cuStreamSynchronize gives %d", int32(c))
			}
			if p.wide {
				multiplyColumns[float64](p)
			} else {
				multiplyColumns[float32](p)
			}
			return 0
		},
	}
}

func (f *fakeBLAS) is(h uintptr) {
	if h != 7 {
		f.t.Errorf("handle %d", h)
	}
}

// multiplyColumns is what the reference implementation of BLAS says of GEMM.
func multiplyColumns[T float32 | float64](p blasProduct) {
	at := func(base uintptr, i, j, stride int32, trans bool) *T {
		if trans {
			i, j = j, i
		}
		address := base + (uintptr(j)*uintptr(stride)+uintptr(i))*unsafe.Sizeof(T(0))
		return *(**T)(unsafe.Pointer(&address))
	}
	for i := range p.m {
		for j := range p.n {
			var sum T
			for k := range p.k {
				sum += T(*at(p.a, i, k, p.strideA, p.transA) * *at(p.b, k, j, p.strideB, p.transB))
			}
			c := at(p.c, i, j, p.strideC, false)
			if p.beta == 0 {
				*c = T(p.alpha) * sum
			} else {
				*c = T(p.alpha)*sum + T(p.beta)**c
			}
		}
	}
}

// emulated opens the emulated GPU with a fake cuBLAS; nil where there is none.
func emulated(t *testing.T) (*kernels.Backend, *multiplier, *fakeBLAS) {
	t.Helper()
	infos, err := cuda.List()
	if cuemu.Missing() != "" && errors.Is(err, device.ErrUnavailable) {
		t.Logf("no emulated CUDA here: %s", cuemu.Missing())
		return nil, nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if !infos[0].Emulated {
		t.Log("a fake cuBLAS needs memory that the host can address")
		return nil, nil, nil
	}
	lib, err := dl.Open(os.Getenv("VOLLEY_CUDA_LIBRARY"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeBLAS{t: t, status: map[string]int32{}}
	if f.synchronize, err = lib.Symbol("cuStreamSynchronize"); err != nil {
		t.Fatal(err)
	}
	d, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	b := newBackend(d)
	x := &multiplier{dev: d, own: b.Set.GEMM.Func, names: []string{"libfake.so"}, load: func(string) (*blas, error) { return f.blas(), nil }}
	b.Set = &kernels.Set{Name: "cuda", GEMM: kernels.Entry[kernels.GEMMFunc]{Func: x.gemm, Types: kernels.FloatTypes}}
	return b, x, f
}

// TestCUBLAS holds GEMM to its contract where cuBLAS does it.
func TestCUBLAS(t *testing.T) {
	b, _, f := emulated(t)
	if b == nil {
		return
	}
	kerneltest.Run(t, b, kerneltest.Size(kerneltest.Tiny))
	t.Cleanup(func() {
		if f.created != 1 || len(f.products) == 0 || f.workspaces != len(f.products) {
			t.Errorf("%d handles, %d products with %d workspaces", f.created, len(f.products), f.workspaces)
		}
		if err := b.Close(); err != nil || f.removed != 1 {
			t.Errorf("%d handles removed: %v", f.removed, err)
		}
	})
}

// product multiplies two matrices of 2 x 3 and 3 x 2.
func product(t *testing.T, b *kernels.Backend) error {
	t.Helper()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	room, err := memory.New(b.Device.Memory(), 1024)
	if err != nil {
		t.Fatal(err)
	}
	defer room.Release()
	if err := s.Fill(room, 0, 1024, 0); err != nil {
		t.Fatal(err)
	}
	m := func(offset, rows, cols, stride int64) kernels.Matrix {
		return kernels.Matrix{Data: room, Type: arrow.PrimitiveTypes.Float64, Offset: offset, Rows: rows, Cols: cols, Stride: stride}
	}
	ctx := context.Background()
	if err := b.GEMM(ctx, s, false, true, 1.5, m(0, 2, 3, 5), m(20, 2, 3, 4), 0, m(40, 2, 2, 6)); err != nil {
		return err
	}
	return s.Wait(ctx)
}

// TestCUBLASArguments checks the order that a product by rows is given in.
func TestCUBLASArguments(t *testing.T) {
	b, _, f := emulated(t)
	if b == nil {
		return
	}
	if err := product(t, b); err != nil {
		t.Fatal(err)
	}
	p := f.products[0]
	p.b, p.c, p.a = p.b-p.c+320, 0, p.a-p.c+320
	want := blasProduct{wide: true, transA: true, m: 2, n: 2, k: 3, alpha: 1.5, a: 160, strideA: 4, strideB: 5, strideC: 6}
	if p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
}

// TestCUBLASFailures checks that failures name the call and are of its kind,
// and that without a cuBLAS GEMM is the kernel's.
func TestCUBLASFailures(t *testing.T) {
	for call, kind := range map[string]error{"stream": device.ErrMismatch, "workspace": device.ErrOutOfMemory, "gemm": device.ErrUnsupported} {
		b, _, f := emulated(t)
		if b == nil {
			return
		}
		f.status[call] = map[string]int32{"stream": 7, "workspace": 3, "gemm": 15}[call]
		err := product(t, b)
		if !errors.Is(err, kind) || !strings.Contains(fmt.Sprint(err), "libfake.so") {
			t.Errorf("%s: %v", call, err)
		}
	}
	b, x, f := emulated(t)
	if b == nil {
		return
	}
	f.status["create"] = 1
	x.names = []string{"none.so", "libfake.so"}
	load := x.load
	x.load = func(name string) (*blas, error) {
		if name == "none.so" {
			return loadBLAS("libvolley-none.so.7")
		}
		return load(name)
	}
	if err := product(t, b); err != nil {
		t.Error(err)
	}
	if len(f.products) != 0 || f.created != 1 {
		t.Errorf("%d products of a cuBLAS that did not start %d times", len(f.products), f.created)
	}
	_, err := x.open()
	if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), "libvolley-none.so.7") || !strings.Contains(err.Error(), "not initialized") {
		t.Error(err)
	}
}

// TestCUBLASNames checks where cuBLAS is looked for.
func TestCUBLASNames(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			if i := slices.Index(pairs, name); i >= 0 {
				return pairs[i+1]
			}
			return ""
		}
	}
	if got := blasNames("linux", env("VOLLEY_CUBLAS_LIBRARY", "none")); got != nil {
		t.Error(got)
	}
	if got := blasNames("linux", env("VOLLEY_CUBLAS_LIBRARY", "/a.so")); !slices.Equal(got, []string{"/a.so"}) {
		t.Error(got)
	}
	got := blasNames("linux", env("CUDA_PATH", "/opt/cuda"))
	if got[0] != "libcublas.so.12" || !slices.Contains(got, "/opt/cuda/lib64/libcublas.so.13") || !slices.Contains(got, "/usr/local/cuda/lib64/libcublas.so.11") {
		t.Error(got)
	}
	if got := blasNames("windows", env()); !slices.Equal(got, []string{"cublas64_12.dll", "cublas64_13.dll", "cublas64_11.dll"}) {
		t.Error(got)
	}
}
