package mpi

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// needed are the functions without which a library is of no use. They are MPI 3's.
var needed = []string{"MPI_Initialized", "MPI_Init_thread", "MPI_Query_thread", "MPI_Finalize", "MPI_Get_library_version", "MPI_Error_string",
	"MPI_Comm_set_errhandler", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_get_attr", "MPI_Comm_idup",
	"MPI_Isend", "MPI_Issend", "MPI_Improbe", "MPI_Get_count", "MPI_Imrecv", "MPI_Test"}

// bind makes the driver of a loaded library. One without a function that is needed is an
// error that names all that are missing.
func bind(lib symbols) (*driver, error) {
	at := make(map[string]uintptr, len(needed))
	var missing []string
	for _, name := range needed {
		if at[name] = lib.Optional(name); at[name] == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("it has no %s", strings.Join(missing, ", "))
	}
	f, err := detect(lib)
	if err != nil {
		return nil, err
	}
	d := &driver{library: lib.Path(), flavour: f}
	b := binding{at, f}
	b.process(d)
	b.communicators(d)
	b.messages(d)
	return d, nil
}

// version is what a bound library calls itself; it may be asked before MPI starts.
func version(lib symbols) string {
	text := make([]byte, 8192) // MPI_MAX_LIBRARY_VERSION_STRING, the longest
	var n int32
	dl.Call(lib.Optional("MPI_Get_library_version"), uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n)))
	return cText(text)
}

func cText(b []byte) string {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return strings.TrimSpace(string(b))
}

// binding makes Go functions of C's. Handles that MPI writes go to cells of a pointer's
// length that were 0, which an int fills from below on these processors.
type binding struct {
	at map[string]uintptr
	f  flavour
}

// failed is the error of what a function returned, or nil.
func (b *binding) failed(call string, r uintptr) error {
	code := int32(r)
	if code == 0 {
		return nil
	}
	text := make([]byte, 512) // MPI_MAX_ERROR_STRING, the longest
	var n int32
	dl.Call(b.at["MPI_Error_string"], uintptr(code), uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n)))
	return &Error{Call: call, Code: int(code), Text: cText(text)}
}

// number binds a function of one result.
func (b *binding) number(name string) func() (int, error) {
	fn := b.at[name]
	return func() (int, error) {
		var v int32
		err := b.failed(name, dl.Call(fn, uintptr(unsafe.Pointer(&v))))
		return int(v), err
	}
}

// numberOf binds a function of a communicator with one result.
func (b *binding) numberOf(name string) func(handle) (int, error) {
	fn := b.at[name]
	return func(comm handle) (int, error) {
		var v int32
		err := b.failed(name, dl.Call(fn, comm, uintptr(unsafe.Pointer(&v))))
		return int(v), err
	}
}

func (b *binding) process(d *driver) {
	initialized, query := b.number("MPI_Initialized"), b.number("MPI_Query_thread")
	d.initialized = func() (bool, error) {
		v, err := initialized()
		return v != 0, err
	}
	initialize := b.at["MPI_Init_thread"]
	d.initialize = func(want level) (level, error) {
		var got int32
		err := b.failed("MPI_Init_thread", dl.Call(initialize, 0, 0, uintptr(b.f.levels[want]), uintptr(unsafe.Pointer(&got))))
		return b.level(int(got)), err
	}
	d.threads = func() (level, error) {
		v, err := query()
		return b.level(v), err
	}
	finalize := b.at["MPI_Finalize"]
	d.finalize = func() error { return b.failed("MPI_Finalize", dl.Call(finalize)) }
}

// level is the highest that the library's number reaches.
func (b *binding) level(v int) level {
	got := single
	for l, number := range b.f.levels {
		if v >= number {
			got = level(l)
		}
	}
	return got
}

func (b *binding) communicators(d *driver) {
	setHandler := b.at["MPI_Comm_set_errhandler"]
	d.quiet = func(comm handle) error {
		return b.failed("MPI_Comm_set_errhandler", dl.Call(setHandler, comm, b.f.returns))
	}
	d.rank, d.size = b.numberOf("MPI_Comm_rank"), b.numberOf("MPI_Comm_size")
	attribute := b.at["MPI_Comm_get_attr"]
	d.topTag = func(comm handle) (int, error) {
		var value *int32
		var there int32
		err := b.failed("MPI_Comm_get_attr", dl.Call(attribute, comm, uintptr(b.f.tagLimit), uintptr(unsafe.Pointer(&value)), uintptr(unsafe.Pointer(&there))))
		if err != nil || there == 0 || value == nil {
			return 32767, err // which every library has
		}
		return int(*value), nil
	}
	duplicate := b.at["MPI_Comm_idup"]
	d.twin = func(comm handle) (*twin, error) {
		t := &twin{}
		err := b.failed("MPI_Comm_idup", dl.Call(duplicate, comm, uintptr(unsafe.Pointer(&t.cell)), uintptr(unsafe.Pointer(&t.request))))
		return t, err
	}
}

func (b *binding) messages(d *driver) {
	plain, synchronous := b.at["MPI_Isend"], b.at["MPI_Issend"]
	d.send = func(comm handle, p []byte, to, tag int, sync bool) (handle, error) {
		name, fn := "MPI_Isend", plain
		if sync {
			name, fn = "MPI_Issend", synchronous
		}
		var request handle
		err := b.failed(name, dl.Call(fn, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), b.f.bytes, uintptr(to), uintptr(tag), comm,
			uintptr(unsafe.Pointer(&request))))
		return request, err
	}
	probe, count := b.at["MPI_Improbe"], b.at["MPI_Get_count"]
	d.probe = func(comm handle, from, tag int) (message handle, n int, ok bool, err error) {
		var there, length int32
		var status [64]byte
		err = b.failed("MPI_Improbe", dl.Call(probe, uintptr(from), uintptr(tag), comm, uintptr(unsafe.Pointer(&there)), uintptr(unsafe.Pointer(&message)),
			uintptr(unsafe.Pointer(&status))))
		if err == nil && there != 0 {
			err = b.failed("MPI_Get_count", dl.Call(count, uintptr(unsafe.Pointer(&status)), b.f.bytes, uintptr(unsafe.Pointer(&length))))
		}
		return message, int(length), err == nil && there != 0, err
	}
	receive, test := b.at["MPI_Imrecv"], b.at["MPI_Test"]
	d.receive = func(message handle, p []byte) (handle, error) {
		var request handle
		err := b.failed("MPI_Imrecv", dl.Call(receive, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), b.f.bytes, uintptr(unsafe.Pointer(&message)),
			uintptr(unsafe.Pointer(&request))))
		return request, err
	}
	d.finished = func(request *handle) (bool, error) {
		var done int32
		var status [64]byte
		err := b.failed("MPI_Test", dl.Call(test, uintptr(unsafe.Pointer(request)), uintptr(unsafe.Pointer(&done)), uintptr(unsafe.Pointer(&status))))
		return done != 0, err
	}
}
