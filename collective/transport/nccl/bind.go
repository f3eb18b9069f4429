package nccl

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// needed are the functions without which a library is of no use; all are in 2.14.
var needed = []string{"ncclGetVersion", "ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError", "ncclCommFinalize", "ncclCommDestroy",
	"ncclCommAbort", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce", "ncclReduce", "ncclReduceScatter", "ncclBroadcast", "ncclAllGather",
	"ncclSend", "ncclRecv"}

// symbols is a loaded library.
type symbols interface {
	Path() string
	Optional(name string) uintptr
}

// bind makes the driver of a library. One without a function that is needed is an error
// that names all that are missing.
func bind(lib symbols) (*driver, error) {
	at := make(map[string]uintptr, len(needed))
	var missing []string
	for _, name := range needed {
		if at[name] = lib.Optional(name); at[name] == 0 {
			missing = append(missing, name)
		}
	}
	if at["ncclGetVersion"] == 0 {
		return nil, fmt.Errorf("it has no ncclGetVersion")
	}
	var version int32
	if r := result(dl.Call(at["ncclGetVersion"], uintptr(unsafe.Pointer(&version)))); r != success {
		return nil, fmt.Errorf("ncclGetVersion gives %d", r)
	}
	if version < oldest {
		return nil, fmt.Errorf("it is NCCL %s, and %s or later is needed, whose calls can be ended when a rank is lost", versionText(int(version)), versionText(oldest))
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("it is NCCL %s and has no %s", versionText(int(version)), strings.Join(missing, ", "))
	}
	d := &driver{library: lib.Path(), version: int(version)}
	b := binding{at}
	b.communicators(d)
	b.operations(d)
	if at := lib.Optional("ncclGetErrorString"); at != 0 {
		last := lib.Optional("ncclGetLastError")
		d.text = func(r result) string { return errorText(at, last, r) }
	}
	return d, nil
}

type binding struct{ at map[string]uintptr }

func (b binding) communicators(d *driver) {
	one := func(name string) func(handle) result {
		f := b.at[name]
		return func(comm handle) result { return result(dl.Call(f, comm)) }
	}
	none := func(name string) func() result {
		f := b.at[name]
		return func() result { return result(dl.Call(f)) }
	}
	d.finalize, d.destroy, d.abort = one("ncclCommFinalize"), one("ncclCommDestroy"), one("ncclCommAbort")
	d.groupStart, d.groupEnd = none("ncclGroupStart"), none("ncclGroupEnd")
	id, begin, state := b.at["ncclGetUniqueId"], b.at["ncclCommInitRankConfig"], b.at["ncclCommGetAsyncError"]
	d.id = func(to *ID) result { return result(dl.Call(id, uintptr(unsafe.Pointer(to)))) }
	d.begin = func(comm *handle, size int, id *ID, rank int) result { return initRank(begin, comm, size, id, rank) }
	d.state = func(comm handle) (result, result) {
		var now int32
		r := result(dl.Call(state, comm, uintptr(unsafe.Pointer(&now))))
		return result(now), r
	}
}

// config is a ncclConfig_t of version 2.14 that asks for a nonblocking communicator;
// later libraries fill in what it has not got.
type config struct {
	size           uint64
	magic, version uint32
	blocking, pad  int32
}

func nonblocking() config {
	return config{size: uint64(unsafe.Sizeof(config{})), magic: 0xcafebeef, version: oldest, pad: math.MinInt32}
}

// initRank calls ncclCommInitRankConfig, whose ID is passed by value: on the stack on
// amd64, where the other arguments fill four of the six registers and the last two are
// left empty; as the address of a copy on arm64.
func initRank(f uintptr, comm *handle, size int, id *ID, rank int) result {
	c, own := nonblocking(), *id
	if runtime.GOARCH != "amd64" {
		return result(dl.Call(f, uintptr(unsafe.Pointer(comm)), uintptr(size), uintptr(unsafe.Pointer(&own)), uintptr(rank), uintptr(unsafe.Pointer(&c))))
	}
	var w [idBytes / 8]uintptr
	for i := range w {
		w[i] = uintptr(binary.NativeEndian.Uint64(own[8*i:]))
	}
	return result(dl.Call(f, uintptr(unsafe.Pointer(comm)), uintptr(size), uintptr(rank), uintptr(unsafe.Pointer(&c)), 0, 0,
		w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15]))
}

func (b binding) operations(d *driver) {
	allReduce, reduce, scatter := b.at["ncclAllReduce"], b.at["ncclReduce"], b.at["ncclReduceScatter"]
	broadcast, gather, send, recv := b.at["ncclBroadcast"], b.at["ncclAllGather"], b.at["ncclSend"], b.at["ncclRecv"]
	d.allReduce = func(from, to uintptr, n int64, t Type, op Op, comm, stream handle) result {
		return result(dl.Call(allReduce, from, to, uintptr(n), uintptr(t), uintptr(op), comm, stream))
	}
	d.reduce = func(from, to uintptr, n int64, t Type, op Op, root int, comm, stream handle) result {
		return result(dl.Call(reduce, from, to, uintptr(n), uintptr(t), uintptr(op), uintptr(root), comm, stream))
	}
	d.reduceScatter = func(from, to uintptr, n int64, t Type, op Op, comm, stream handle) result {
		return result(dl.Call(scatter, from, to, uintptr(n), uintptr(t), uintptr(op), comm, stream))
	}
	d.broadcast = func(from, to uintptr, n int64, t Type, root int, comm, stream handle) result {
		return result(dl.Call(broadcast, from, to, uintptr(n), uintptr(t), uintptr(root), comm, stream))
	}
	d.allGather = func(from, to uintptr, n int64, t Type, comm, stream handle) result {
		return result(dl.Call(gather, from, to, uintptr(n), uintptr(t), comm, stream))
	}
	d.send = func(from uintptr, n int64, t Type, peer int, comm, stream handle) result {
		return result(dl.Call(send, from, uintptr(n), uintptr(t), uintptr(peer), comm, stream))
	}
	d.recv = func(to uintptr, n int64, t Type, peer int, comm, stream handle) result {
		return result(dl.Call(recv, to, uintptr(n), uintptr(t), uintptr(peer), comm, stream))
	}
}

// errorText is the library's text for a result, with the last failure's, where it has
// one: the second is what helps.
func errorText(text, last uintptr, r result) string {
	s := cText(dl.Call(text, uintptr(r)))
	if last != 0 {
		if more := cText(dl.Call(last, 0)); more != "" {
			s += ": " + more
		}
	}
	return s
}

// cText reads a constant of the library's; it comes as a number, which is read in its
// place as the pointer that it is.
func cText(at uintptr) string {
	p := *(**byte)(unsafe.Pointer(&at))
	if p == nil {
		return ""
	}
	n := 0
	for n < 1024 && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return strings.TrimSpace(string(unsafe.Slice(p, n)))
}
