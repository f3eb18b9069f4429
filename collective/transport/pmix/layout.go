package pmix

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// The structures that cross to the library, as pmix_common.h of OpenPMIx 4.2.2 has them on
// machines with 64-bit pointers: 260, 32, 552 and 16 bytes. They have been the same since
// version 3, and are in 5.

// proc is a pmix_proc_t.
type proc struct {
	namespace [256]byte // PMIX_MAX_NSLEN and a zero
	rank      uint32
}

// value is a pmix_value_t. A union of 24 bytes follows the type.
type value struct {
	typ  uint16
	_    [6]byte
	data [3]uint64
}

// info is a pmix_info_t.
type info struct {
	key   [512]byte // PMIX_MAX_KEYLEN and a zero
	flags uint32
	_     [4]byte
	value value
}

// byteObject is a pmix_byte_object_t.
type byteObject struct {
	bytes *byte
	size  uintptr
}

// Sizes that the compiler holds against those above: a difference does not compile.
var (
	_ [260]byte = [unsafe.Sizeof(proc{})]byte{}
	_ [32]byte  = [unsafe.Sizeof(value{})]byte{}
	_ [552]byte = [unsafe.Sizeof(info{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(byteObject{})]byte{}
)

// The versions of OpenPMIx whose structures these are.
const (
	firstVersion = 3
	lastVersion  = 5
	firstOnce    = 5 // whose libraries are entered once in a process
)

// supported gives a library's major version, by what PMIx_Get_version says, "OpenPMIx 4.2.2
// (PMIx Standard: 4.2, …)" or "3.2.3", and refuses other ones than those.
func supported(version string) (major int, err error) {
	for _, word := range strings.Fields(version) {
		first, _, _ := strings.Cut(word, ".")
		n, err := strconv.Atoi(strings.TrimRight(first, ","))
		if err != nil {
			continue
		}
		if n < firstVersion || n > lastVersion {
			return 0, fmt.Errorf("it is version %q, and the structures of %d to %d are known", version, firstVersion, lastVersion)
		}
		return n, nil
	}
	return 0, fmt.Errorf("it calls its version %q, in which there is no number", version)
}

// Types of values, results and ranks, of pmix_common.h.
const (
	typeBool       = 1
	typeSize       = 4
	typeInt        = 6
	typeUint8      = 12
	typeUint16     = 13
	typeUint32     = 14
	typeUint64     = 15
	typeByteObject = 27

	success     = 0
	errTimeout  = -24
	errNotFound = -46

	scopeGlobal  = 3
	rankWildcard = 1<<32 - 2
)

// Keys of pmix_common.h.
const (
	keyJobSize     = "pmix.job.size"
	keyLocalRank   = "pmix.lrank"
	keyLocalSize   = "pmix.local.size"
	keyImmediate   = "pmix.immediate"
	keyCollectData = "pmix.collect"
	keyTimeout     = "pmix.timeout"
)

// number is an unsigned value, or an int that is none below 0.
func (v *value) number() (int, error) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], v.data[0])
	n := uint64(0)
	switch v.typ {
	case typeUint8:
		n = uint64(b[0])
	case typeUint16:
		n = uint64(binary.NativeEndian.Uint16(b[:]))
	case typeInt, typeUint32:
		n = uint64(binary.NativeEndian.Uint32(b[:]))
	case typeUint64, typeSize:
		n = v.data[0]
	default:
		return 0, fmt.Errorf("a value of type %d, not a number", v.typ)
	}
	if n > 1<<24 {
		return 0, fmt.Errorf("the number %d", n)
	}
	return int(n), nil
}

// flag is a bool among the infos of a call, seconds an int.
func flag(key string) info {
	i := info{value: value{typ: typeBool}}
	copy(i.key[:], key)
	*(*bool)(unsafe.Pointer(&i.value.data)) = true
	return i
}

func seconds(key string, n int32) info {
	i := info{value: value{typ: typeInt}}
	copy(i.key[:], key)
	*(*int32)(unsafe.Pointer(&i.value.data)) = n
	return i
}
