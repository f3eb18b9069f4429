package gonum

import (
	"context"
	"errors"
	"math"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// From how much work on our loops are used: below, a call costs more than it
// gains.
const (
	leastProduct = 32 * 32 * 32 // multiplications of a product of matrices
	leastAffine  = 512 * 512    // elements of a matrix that a vector is multiplied by
	leastVector  = 4096         // elements of a vector
)

// BLAS implements gonum's blas.Float64 and blas.Float32. Its methods may be
// called from any goroutine.
//
// BLAS has no errors, but products of volley end with their context. Such a
// product has NaNs for its result, and Err tells why.
type BLAS struct {
	gonum.Implementation // what is not ours

	ctx     context.Context
	backend *kernels.Backend
	own     bool // Close closes the backend
	stream  device.Stream

	product, affine, vector int // the least work of ours; tests have less

	mu  sync.Mutex
	err error
}

var (
	_ blas.Float64 = (*BLAS)(nil)
	_ blas.Float32 = (*BLAS)(nil)
)

// New makes a BLAS whose products end with ctx, within 100 ms. Its loops are
// those of the best tier of the CPU, or of the one that VOLLEY_CPU names for
// products: an ErrUnavailable where the processor has not got it.
func New(ctx context.Context) (*BLAS, error) {
	backend, err := cpu.New(host.New(host.WithAllocator(memory.Heap)))
	if err != nil {
		return nil, err
	}
	b, err := On(ctx, backend)
	if err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	b.own = true
	return b, nil
}

// On makes a BLAS of the kernels and the memory of a backend on the host, which
// stays the caller's. One that is not on the host is an ErrMismatch: gonum's
// vectors and matrices lie there.
func On(ctx context.Context, backend *kernels.Backend) (*BLAS, error) {
	if p := backend.Device.Place(); p != memory.Host {
		return nil, device.Errorf(device.ErrMismatch, backend.Device.Name(), "gonum", "gonum's matrices lie in host memory, and the backend's on %s", p)
	}
	stream, err := backend.NewStream()
	if err != nil {
		return nil, err
	}
	return &BLAS{ctx: ctx, backend: backend, stream: stream, product: leastProduct, affine: leastAffine, vector: leastVector}, nil
}

// Err is the first error of a product, nil where all were computed.
func (b *BLAS) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Close gives back what b holds. Products after it have NaNs for their results.
func (b *BLAS) Close() error {
	err := b.stream.Close()
	if b.own {
		err = errors.Join(err, b.backend.Close())
	}
	return err
}

// failed keeps the first error.
func (b *BLAS) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

// invalidate fills a window of a result with NaNs, so that nobody takes what a
// failed product left there for its result.
func invalidate[T float](v []T, rows, cols, stride int) {
	for r := range rows {
		for c := range cols {
			v[r*stride+c] = T(math.NaN())
		}
	}
}
