package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// blasNames are the names that cuBLAS may have; those of the folder of a toolkit
// come after what the system's search finds. VOLLEY_CUBLAS_LIBRARY names one
// library in place of them all, or is "none".
func blasNames(goos string, env func(string) string) []string {
	switch name := env("VOLLEY_CUBLAS_LIBRARY"); name {
	case "":
	case "none":
		return nil
	default:
		return []string{name}
	}
	names, folder := []string{"libcublas.so.12", "libcublas.so.13", "libcublas.so.11"}, "lib64"
	switch goos {
	case "windows":
		names, folder = []string{"cublas64_12.dll", "cublas64_13.dll", "cublas64_11.dll"}, "bin"
	case "darwin":
		return nil
	}
	all := names
	for _, home := range []string{env("CUDA_PATH"), env("CUDA_HOME"), "/usr/local/cuda"} {
		if home == "" || home[0] == '/' && goos == "windows" {
			continue
		}
		for _, n := range names {
			all = append(all, filepath.Join(home, folder, n))
		}
	}
	return all
}

// machineBLAS is the names on this machine.
func machineBLAS(goos string) []string { return blasNames(goos, os.Getenv) }

// loadBLAS loads a cuBLAS, which is never unloaded.
func loadBLAS(name string) (*blas, error) {
	lib, err := dl.Open(name)
	if err != nil {
		return nil, err
	}
	at := make(map[string]uintptr)
	var missing []string
	for _, symbol := range []string{"cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2", "cublasSgemm_v2", "cublasDgemm_v2"} {
		if at[symbol] = lib.Optional(symbol); at[symbol] == 0 {
			missing = append(missing, symbol)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s has no %s", lib.Path(), strings.Join(missing, ", "))
	}
	b := &blas{
		library: lib.Path(),
		create: func() (uintptr, int32) {
			var handle uintptr
			status := int32(dl.Call(at["cublasCreate_v2"], uintptr(unsafe.Pointer(&handle))))
			return handle, status
		},
		destroy:   func(handle uintptr) int32 { return int32(dl.Call(at["cublasDestroy_v2"], handle)) },
		setStream: func(handle, stream uintptr) int32 { return int32(dl.Call(at["cublasSetStream_v2"], handle, stream)) },
		gemm: func(handle uintptr, p blasProduct) int32 {
			if p.wide {
				alpha, beta := p.alpha, p.beta
				return p.call(at["cublasDgemm_v2"], handle, unsafe.Pointer(&alpha), unsafe.Pointer(&beta))
			}
			alpha, beta := float32(p.alpha), float32(p.beta)
			return p.call(at["cublasSgemm_v2"], handle, unsafe.Pointer(&alpha), unsafe.Pointer(&beta))
		},
	}
	if set := lib.Optional("cublasSetWorkspace_v2"); set != 0 {
		b.setWorkspace = func(handle, at uintptr, size int64) int32 { return int32(dl.Call(set, handle, at, uintptr(size))) }
	}
	return b, nil
}

// call calls one of the two functions, whose factors are on the host.
func (p *blasProduct) call(f, handle uintptr, alpha, beta unsafe.Pointer) int32 {
	op := func(trans bool) uintptr { // cublasOperation_t
		if trans {
			return 1
		}
		return 0
	}
	return int32(dl.Call(f, handle, op(p.transA), op(p.transB), uintptr(p.m), uintptr(p.n), uintptr(p.k), uintptr(alpha), p.a, uintptr(p.strideA),
		p.b, uintptr(p.strideB), uintptr(beta), p.c, uintptr(p.strideC)))
}
