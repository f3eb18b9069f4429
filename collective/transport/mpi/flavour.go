package mpi

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// handle is an MPI object: a pointer or, in MPICH, an int in the low half.
type handle = uintptr

// flavour is what a binary interface fixes: handles are constants or addresses of
// symbols, numbers are its own. Statuses are not looked into, as each has another
// layout: 64 bytes hold the longest.
type flavour struct {
	name                  string
	world, bytes, returns handle // MPI_COMM_WORLD, MPI_BYTE, MPI_ERRORS_RETURN
	anySource             int
	tagLimit              int    // the keyval MPI_TAG_UB
	levels                [4]int // MPI_THREAD_SINGLE, FUNNELED, SERIALIZED, MULTIPLE
}

// standard is the ABI of MPI 5.0, from its mpi_abi.h.
var standard = flavour{name: "the standard ABI", world: 0x101, bytes: 0x247, returns: 0x143,
	anySource: -1, tagLimit: 501, levels: [4]int{0, 1024, 2048, 4096}}

// mpich is the interface that MPICH, Intel MPI and MVAPICH share, from MPICH's mpi.h.
var mpich = flavour{name: "MPICH's ABI", world: 0x44000000, bytes: 0x4c00010d, returns: 0x54000001,
	anySource: -2, tagLimit: 0x64400001, levels: [4]int{0, 1, 2, 3}}

// symbols is a *dl.Library, or a test's.
type symbols interface {
	Path() string
	Symbol(name string) (uintptr, error)
	Optional(name string) uintptr
}

// detect tells which interface a library has. The standard's is asked for first: a
// library that has it may have its implementation's own symbols too.
func detect(lib symbols) (flavour, error) {
	if fn := lib.Optional("MPI_Abi_get_version"); fn != 0 {
		var major, minor int32
		if dl.Call(fn, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))&0xffffffff == 0 && major == 1 {
			return standard, nil
		}
	}
	if world := lib.Optional("ompi_mpi_comm_world"); world != 0 {
		bytes, err := lib.Symbol("ompi_mpi_byte")
		returns, err2 := lib.Symbol("ompi_mpi_errors_return")
		return flavour{name: "Open MPI's ABI", world: world, bytes: bytes, returns: returns,
			anySource: -1, tagLimit: 0, levels: [4]int{0, 1, 2, 3}}, errors.Join(err, err2)
	}
	if lib.Optional("MPIR_Dup_fn") != 0 { // its mpi.h has programs refer to it
		return mpich, nil
	}
	return flavour{}, fmt.Errorf("%s has neither the standard ABI, nor Open MPI's nor MPICH's", lib.Path())
}
