package pmix

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// needed are the functions without which a library is of no use.
var needed = []string{"PMIx_Get_version", "PMIx_Init", "PMIx_Finalize", "PMIx_Get", "PMIx_Put", "PMIx_Commit", "PMIx_Fence", "PMIx_Error_string"}

// symbols is a loaded library, or what a test has in its place.
type symbols interface {
	Path() string
	Optional(name string) uintptr
}

// bind makes the driver of a loaded library. One without a function that is needed, or of a
// version whose structures are not known, is an error.
func bind(lib symbols) (*driver, error) {
	at := make(map[string]uintptr, len(needed))
	var missing []string
	for _, name := range needed {
		if at[name] = lib.Optional(name); at[name] == 0 {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("it has no %s", strings.Join(missing, ", "))
	}
	d := &driver{path: lib.Path(), version: text(at["PMIx_Get_version"])}
	major, err := supported(d.version)
	if err != nil {
		return nil, err
	}
	d.once = major >= firstOnce
	d.initialize = func(self *proc) int32 {
		return int32(dl.Call(at["PMIx_Init"], uintptr(unsafe.Pointer(self)), 0, 0))
	}
	d.finalize = func() int32 { return int32(dl.Call(at["PMIx_Finalize"], 0, 0)) }
	d.commit = func() int32 { return int32(dl.Call(at["PMIx_Commit"])) }
	d.text = func(code int32) string { return text(at["PMIx_Error_string"], uintptr(code)) }
	d.fence = func(of []proc, with []info) int32 {
		return int32(dl.Call(at["PMIx_Fence"], uintptr(unsafe.Pointer(unsafe.SliceData(of))), uintptr(len(of)),
			uintptr(unsafe.Pointer(unsafe.SliceData(with))), uintptr(len(with))))
	}
	d.put = func(key string, bytes []byte) int32 {
		name := append([]byte(key), 0)
		v := &value{typ: typeByteObject}
		*(*byteObject)(unsafe.Pointer(&v.data)) = byteObject{unsafe.SliceData(bytes), uintptr(len(bytes))}
		var pin runtime.Pinner // the bytes, which v points to; the library copies them
		defer pin.Unpin()
		if len(bytes) > 0 {
			pin.Pin(unsafe.SliceData(bytes))
		}
		code := int32(dl.Call(at["PMIx_Put"], scopeGlobal, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(v))))
		runtime.KeepAlive(bytes)
		return code
	}
	free := freeing()
	d.get = func(of *proc, key string, with []info) (value, []byte, int32) {
		name := append([]byte(key), 0)
		var there *value // the library's, which is ours to free
		code := int32(dl.Call(at["PMIx_Get"], uintptr(unsafe.Pointer(of)), uintptr(unsafe.Pointer(&name[0])),
			uintptr(unsafe.Pointer(unsafe.SliceData(with))), uintptr(len(with)), uintptr(unsafe.Pointer(&there))))
		if code != success || there == nil {
			return value{}, nil, code
		}
		v := *there
		var bytes []byte
		if v.typ == typeByteObject {
			b := (*byteObject)(unsafe.Pointer(&there.data))
			if b.bytes != nil {
				bytes = slices.Clone(unsafe.Slice(b.bytes, b.size))
				free(unsafe.Pointer(b.bytes))
			}
		}
		free(unsafe.Pointer(there))
		return v, bytes, code
	}
	return d, nil
}

// text calls a function that gives a C string of the library's.
func text(at uintptr, args ...uintptr) string {
	var s string
	if at == 0 {
		return s
	}
	cell := struct{ p *byte }{}
	*(*uintptr)(unsafe.Pointer(&cell.p)) = dl.Call(at, args...)
	if cell.p == nil {
		return s
	}
	for n := 0; n < 4096; n++ {
		if *(*byte)(unsafe.Add(unsafe.Pointer(cell.p), n)) == 0 {
			return string(unsafe.Slice(cell.p, n))
		}
	}
	return s
}

// freeing is the C library's free, by which PMIX_VALUE_RELEASE frees; where it cannot be
// found the few values of a meeting stay.
func freeing() func(unsafe.Pointer) {
	c, err := dl.Open("libc.so.6", "/usr/lib/libSystem.B.dylib")
	if err != nil {
		return func(unsafe.Pointer) {}
	}
	at := c.Optional("free")
	if at == 0 {
		return func(unsafe.Pointer) {}
	}
	return func(p unsafe.Pointer) { dl.Call(at, uintptr(p)) }
}
