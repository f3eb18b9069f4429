package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// bindCompiler makes the compiler of a loaded NVRTC.
func bindCompiler(lib *dl.Library) (*compiler, error) {
	at := make(map[string]uintptr)
	var missing []string
	for _, name := range nvrtcRequired {
		if at[name] = lib.Optional(name); at[name] == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s has no %s", lib.Path(), strings.Join(missing, ", "))
	}
	for _, name := range nvrtcOptional {
		at[name] = lib.Optional(name)
	}
	var major, minor int32
	if r := int32(dl.Call(at["nvrtcVersion"], uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))); r != 0 {
		return nil, fmt.Errorf("%s: nvrtcVersion gives %d", lib.Path(), r)
	}
	c := &compiler{library: lib.Path(), version: int(major)*1000 + int(minor)*10}
	c.archs = supported(at, c.version)
	c.compile = func(name, text string, options []string) ([]byte, []byte, string, error) {
		return compileWith(at, name, text, options)
	}
	return c, nil
}

// supported are the architectures that NVRTC compiles for. Those before 11.2 do
// not tell.
func supported(at map[string]uintptr, version int) []int {
	count, list := at["nvrtcGetNumSupportedArchs"], at["nvrtcGetSupportedArchs"]
	old := []int{52, 60, 61, 70, 75, 80}
	if version > 11000 {
		old = append(old, 86)
	}
	if count == 0 || list == 0 {
		return old
	}
	var n int32
	if dl.Call(count, uintptr(unsafe.Pointer(&n))) != 0 || n < 1 {
		return old
	}
	archs := make([]int32, n)
	if dl.Call(list, uintptr(unsafe.Pointer(&archs[0]))) != 0 {
		return old
	}
	var all []int
	for _, a := range archs {
		all = append(all, int(a))
	}
	slices.Sort(all)
	return all
}

// nvrtcFailure is a result of NVRTC in its own words.
func nvrtcFailure(at map[string]uintptr, call string, r uintptr) error {
	if int32(r) == 0 {
		return nil
	}
	// The function returns a constant text; it comes as a number and is read in
	// its place on the stack as the pointer that it is.
	text := dl.Call(at["nvrtcGetErrorString"], r)
	p := *(**byte)(unsafe.Pointer(&text))
	if p == nil {
		return fmt.Errorf("%s gives %d", call, int32(r))
	}
	n := 0
	for n < 200 && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return fmt.Errorf("%s: %s (code %d)", call, unsafe.Slice(p, n), int32(r))
}

// compileWith compiles a text.
func compileWith(at map[string]uintptr, name, text string, options []string) (ptx, binary []byte, log string, err error) {
	if strings.ContainsRune(text, 0) {
		return nil, nil, "", errors.New("the text has a NUL byte")
	}
	var program uintptr
	source, title := append([]byte(text), 0), append([]byte(name), 0)
	r := dl.Call(at["nvrtcCreateProgram"], uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(&source[0])),
		uintptr(unsafe.Pointer(&title[0])), 0, 0, 0)
	if err := nvrtcFailure(at, "nvrtcCreateProgram", r); err != nil {
		return nil, nil, "", err
	}
	defer func() { _ = dl.Call(at["nvrtcDestroyProgram"], uintptr(unsafe.Pointer(&program))) }()

	words := make([]*byte, len(options)+1)
	var pin runtime.Pinner
	defer pin.Unpin()
	for i, o := range options {
		words[i] = unsafe.SliceData(append([]byte(o), 0))
		pin.Pin(words[i])
	}
	compiled := nvrtcFailure(at, "nvrtcCompileProgram",
		dl.Call(at["nvrtcCompileProgram"], program, uintptr(len(options)), uintptr(unsafe.Pointer(&words[0]))))
	written, err := fetch(at, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
	if err != nil {
		return nil, nil, "", errors.Join(compiled, err)
	}
	log = cString(written)
	if compiled != nil {
		return nil, nil, log, compiled
	}
	if ptx, err = fetch(at, program, "nvrtcGetPTXSize", "nvrtcGetPTX"); err != nil {
		return nil, nil, log, err
	}
	if strings.HasPrefix(options[0], "--gpu-architecture=sm_") {
		binary, err = fetch(at, program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
	}
	return []byte(cString(ptx)), binary, log, err
}

// fetch takes a result of a program, by the functions for its size and bytes.
func fetch(at map[string]uintptr, program uintptr, size, get string) ([]byte, error) {
	if at[size] == 0 || at[get] == 0 {
		return nil, fmt.Errorf("this NVRTC has no %s", get)
	}
	var n uint64
	if err := nvrtcFailure(at, size, dl.Call(at[size], program, uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	b := make([]byte, n+1)
	err := nvrtcFailure(at, get, dl.Call(at[get], program, uintptr(unsafe.Pointer(&b[0]))))
	return b[:n], err
}
