package nccl

import (
	"fmt"

	"github.com/volley-go/volley/device"
)

// result is a ncclResult_t.
type result int32

const (
	success    result = 0
	systemFail result = 2
	badValue   result = 4
	badUsage   result = 5
	remoteFail result = 6
	inProgress result = 7
)

// oldest is the version that has nonblocking communicators.
const oldest = 21400

// handle is a pointer of the library's: a communicator or a stream.
type handle = uintptr

// idBytes is the length of an ID.
const idBytes = 128

// ID names a communicator that is to be made. One rank makes it, all ranks join it.
type ID [idBytes]byte

// Type is a ncclDataType_t.
type Type int32

// The types. There are none of 16-bit integers.
const (
	Int8 Type = iota
	Uint8
	Int32
	Uint32
	Int64
	Uint64
	Float16
	Float32
	Float64
	BFloat16
)

// Width is the bytes of an element, 0 for an unknown type.
func (t Type) Width() int64 {
	widths := [...]int64{1, 1, 4, 4, 8, 8, 2, 4, 8, 2}
	if t < 0 || int(t) >= len(widths) {
		return 0
	}
	return widths[t]
}

// Op is a ncclRedOp_t.
type Op int32

// The reductions.
const (
	Sum Op = iota
	Prod
	Max
	Min
	Avg
)

// driver is what is used of the library. text may be nil.
type driver struct {
	library string // its path
	version int    // 22703 is 2.27.3

	text func(result) string // of the last failure, with what the library says of it
	id   func(*ID) result

	// begin starts to make a communicator, in *comm, which the library keeps the address
	// of until that is made.
	begin    func(comm *handle, size int, id *ID, rank int) result
	state    func(comm handle) (state, r result)
	finalize func(comm handle) result
	destroy  func(comm handle) result
	abort    func(comm handle) result

	groupStart, groupEnd func() result

	allReduce     func(from, to uintptr, n int64, t Type, op Op, comm, stream handle) result
	reduce        func(from, to uintptr, n int64, t Type, op Op, root int, comm, stream handle) result
	reduceScatter func(from, to uintptr, n int64, t Type, op Op, comm, stream handle) result
	broadcast     func(from, to uintptr, n int64, t Type, root int, comm, stream handle) result
	allGather     func(from, to uintptr, n int64, t Type, comm, stream handle) result
	send          func(from uintptr, n int64, t Type, peer int, comm, stream handle) result
	recv          func(to uintptr, n int64, t Type, peer int, comm, stream handle) result
}

var resultNames = map[result]string{1: "a CUDA call failed", systemFail: "a system call failed", 3: "internal error", badValue: "invalid argument",
	badUsage: "invalid usage", remoteFail: "a rank is gone or the network failed", inProgress: "in progress", 8: "timeout"}

// failure is the error of a result that is none of success and inProgress.
func (d *driver) failure(name, call string, r result) error {
	if r == success || r == inProgress {
		return nil
	}
	text := resultNames[r]
	if d.text != nil {
		text = d.text(r)
	}
	kind := device.ErrLost
	if r == badValue || r == badUsage {
		kind = device.ErrMismatch
	}
	return &device.Error{Device: name, Call: call, Code: int(r), Kind: kind, Text: text}
}

// versionText is a version as people write it: 22703 is 2.27.3.
func versionText(v int) string {
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}
