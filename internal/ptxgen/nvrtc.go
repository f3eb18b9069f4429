package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// options are those of every module. Products and sums are not contracted to
// fused ones: a fused expression gives what the kernels one by one give.
var options = []string{"--gpu-architecture=compute_70", "--fmad=false"}

// wanted is the version that the embedded PTX is made with.
const wanted = "12.0"

// compiler is a loaded NVRTC.
type compiler struct {
	lib *dl.Library
	at  map[string]uintptr
}

func loadCompiler(path string) (*compiler, error) {
	// NVRTC opens its builtins by name; once loaded they are found.
	parts, err := filepath.Glob(filepath.Join(filepath.Dir(path), "libnvrtc-builtins.so.*"))
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if _, err := dl.Open(part); err != nil {
			return nil, err
		}
	}
	lib, err := dl.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w (scripts/gpu.sh fetches NVRTC)", err)
	}
	c := &compiler{lib, map[string]uintptr{}}
	for _, name := range []string{"nvrtcVersion", "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcDestroyProgram",
		"nvrtcGetPTXSize", "nvrtcGetPTX", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"} {
		if c.at[name], err = lib.Symbol(name); err != nil {
			return nil, err
		}
	}
	var major, minor int32
	dl.Call(c.at["nvrtcVersion"], uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	if v := fmt.Sprintf("%d.%d", major, minor); v != wanted {
		return nil, fmt.Errorf("%s is NVRTC %s, and the embedded PTX is made with %s", path, v, wanted)
	}
	return c, nil
}

// compile makes PTX of a module's text.
func (c *compiler) compile(name, text string) (string, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	source, title := cString(&pin, text), cString(&pin, name+".cu")
	var program uintptr
	if r := int32(dl.Call(c.at["nvrtcCreateProgram"], uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(source)),
		uintptr(unsafe.Pointer(title)), 0, 0, 0)); r != 0 {
		return "", fmt.Errorf("%s: nvrtcCreateProgram gives %d", name, r)
	}
	defer dl.Call(c.at["nvrtcDestroyProgram"], uintptr(unsafe.Pointer(&program)))
	args := make([]*byte, len(options))
	for i, o := range options {
		args[i] = cString(&pin, o)
	}
	pin.Pin(&args[0])
	r := int32(dl.Call(c.at["nvrtcCompileProgram"], program, uintptr(len(args)), uintptr(unsafe.Pointer(&args[0]))))
	log, err := c.text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog", program)
	if err != nil {
		return "", err
	}
	if r != 0 {
		return "", fmt.Errorf("%s: nvrtcCompileProgram gives %d\n%s", name, r, log)
	}
	return c.text("nvrtcGetPTXSize", "nvrtcGetPTX", program)
}

func (c *compiler) text(size, get string, program uintptr) (string, error) {
	var n uint64
	if r := int32(dl.Call(c.at[size], program, uintptr(unsafe.Pointer(&n)))); r != 0 || n == 0 {
		return "", fmt.Errorf("%s gives %d and a size of %d", size, r, n)
	}
	b := make([]byte, n)
	if r := int32(dl.Call(c.at[get], program, uintptr(unsafe.Pointer(&b[0])))); r != 0 {
		return "", fmt.Errorf("%s gives %d", get, r)
	}
	return strings.TrimRight(string(b), "\x00"), nil
}

// cString is a pinned copy of s that ends with a zero byte.
func cString(pin *runtime.Pinner, s string) *byte {
	b := append([]byte(s), 0)
	pin.Pin(&b[0])
	return &b[0]
}
