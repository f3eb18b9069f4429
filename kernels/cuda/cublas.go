package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// blas is a cuBLAS: that of the machine, or a literal in a test. Its functions
// return a cublasStatus_t.
type blas struct {
	library      string
	create       func() (handle uintptr, status int32) // for the context that is current
	destroy      func(handle uintptr) int32
	setStream    func(handle, stream uintptr) int32
	setWorkspace func(handle, at uintptr, size int64) int32 // nil where there is none
	gemm         func(handle uintptr, p blasProduct) int32
}

// blasProduct is the arguments of cublasSgemm_v2, or with wide set of
// cublasDgemm_v2: matrices by columns.
type blasProduct struct {
	wide                      bool
	transA, transB            bool
	m, n, k                   int32
	alpha, beta               float64
	a, b, c                   uintptr
	strideA, strideB, strideC int32
}

// blasWorkspace is the scratch memory of a call, as NVIDIA recommends for its
// largest GPUs. It is given by hand, so that calls on several streams do not
// share one and a product comes out the same however streams overlap.
const blasWorkspace = 32 << 20

// multiplier is the GEMM of a device: cuBLAS where the machine has one that
// works, else the kernel of package gpu. That also does what has one row or
// column, which is bound by memory, and what is too large for 32-bit sizes.
type multiplier struct {
	dev   *cuda.Device
	own   kernels.GEMMFunc
	names []string // of libraries, tried in order
	load  func(name string) (*blas, error)

	once   sync.Once
	blas   *blas
	failed error // why there is none

	mu     sync.Mutex // one call at a time sets up the handle and uses it
	handle uintptr
}

// open loads the first cuBLAS that makes a handle for the device.
func (x *multiplier) open() (*blas, error) {
	x.once.Do(func() {
		var reasons []error
		if len(x.names) == 0 {
			reasons = append(reasons, errors.New("none is looked for on this system, or VOLLEY_CUBLAS_LIBRARY says so"))
		}
		for _, name := range x.names {
			b, err := x.load(name)
			if err == nil {
				err = x.start(b)
			}
			if err == nil {
				x.blas = b
				return
			}
			reasons = append(reasons, err)
		}
		x.failed = device.Errorf(device.ErrUnavailable, x.dev.Name(), "cublas", "no cuBLAS here: %v", errors.Join(reasons...))
	})
	return x.blas, x.failed
}

// start makes the handle, which lives until the device is closed.
func (x *multiplier) start(b *blas) error {
	err := x.dev.Current("cublas", func() error {
		h, status := b.create()
		x.handle = h
		return x.failure(b, "cublasCreate", status)
	})
	if err != nil {
		return err
	}
	return x.dev.AtClose(func() { _ = b.destroy(x.handle) }) // nobody is left to tell
}

// gemm is the GEMMFunc.
func (x *multiplier) gemm(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	p, fits := productOf(transA, transB, alpha, a, b, beta, c)
	if !fits {
		return x.own(ctx, s, transA, transB, alpha, a, b, beta, c)
	}
	lib, err := x.open()
	if err != nil {
		return x.own(ctx, s, transA, transB, alpha, a, b, beta, c)
	}
	held := []*memory.Buffer{a.Data, b.Data, c.Data}
	var workspace *memory.Buffer
	if lib.setWorkspace != nil {
		if workspace, err = memory.New(s.Device().Memory(), blasWorkspace); err != nil {
			return err
		}
		defer workspace.Release()
		held = append(held, workspace)
	}
	return cuda.Native(s, "gemm", held, func(stream uintptr) error { return x.multiply(lib, stream, workspace, p) })
}

// multiply gives a product to a stream; the context is current.
func (x *multiplier) multiply(lib *blas, stream uintptr, workspace *memory.Buffer, p blasProduct) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.failure(lib, "cublasSetStream", lib.setStream(x.handle, stream)); err != nil {
		return err
	}
	if workspace != nil {
		at, offset := workspace.Handle()
		if err := x.failure(lib, "cublasSetWorkspace", lib.setWorkspace(x.handle, at+uintptr(offset), blasWorkspace)); err != nil {
			return err
		}
	}
	return x.failure(lib, "cublasGemm", lib.gemm(x.handle, p))
}

// productOf turns a product of matrices by rows into one of matrices by columns:
// what is stored as C by rows is the transpose of C by columns, which is op(B)
// transposed times op(A) transposed. It is false for what cuBLAS does not do.
func productOf(transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) (blasProduct, bool) {
	depth := a.Cols
	if transA {
		depth = a.Rows
	}
	if alpha == 0 || depth == 0 || c.Rows < 2 || c.Cols < 2 || max(c.Rows, depth, a.Stride, b.Stride, c.Stride) > math.MaxInt32 {
		return blasProduct{}, false
	}
	width := uintptr(memory.Width(c.Type))
	at := func(m kernels.Matrix) uintptr {
		handle, offset := m.Data.Handle()
		return handle + uintptr(offset) + uintptr(m.Offset)*width
	}
	p := blasProduct{
		wide: c.Type.ID() == arrow.FLOAT64, transA: transB, transB: transA,
		m: int32(c.Cols), n: int32(c.Rows), k: int32(depth), alpha: alpha, beta: beta,
		a: at(b), b: at(a), c: at(c), strideA: int32(b.Stride), strideB: int32(a.Stride), strideC: int32(c.Stride),
	}
	return p, (p.a|p.b|p.c)%width == 0
}

// statuses are cuBLAS's names for its results.
var statuses = map[int32]string{1: "not initialized", 3: "allocation failed", 7: "invalid value", 8: "the GPU's architecture is not supported",
	11: "mapping error", 13: "execution failed", 14: "internal error", 15: "not supported", 16: "license error"}

// failure is the error of a call from its result.
func (x *multiplier) failure(lib *blas, call string, status int32) error {
	if status == 0 {
		return nil
	}
	kinds := map[int32]error{1: device.ErrUnavailable, 3: device.ErrOutOfMemory, 7: device.ErrMismatch, 8: device.ErrUnsupported, 15: device.ErrUnsupported}
	return &device.Error{Device: x.dev.Name(), Call: call, Code: int(status), Kind: kinds[status],
		Text: fmt.Sprintf("%s: %s", lib.library, statuses[status])}
}
