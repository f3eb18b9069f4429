package main

// #include "base.h"
import "C"

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/volley-go/volley/device"
)

// text reads a text that C gave.
func text(name string, p *C.char) (string, error) {
	if p == nil {
		return "", mismatch("%s is NULL", name)
	}
	return optional(name, p)
}

// optional reads a text that may be NULL, which is "".
func optional(name string, p *C.char) (string, error) {
	s := C.GoString(p)
	if !utf8.ValidString(s) {
		return "", mismatch("%s is not UTF-8: %q", name, s)
	}
	return s, nil
}

// texts reads n texts.
func texts(name string, p **C.char, n C.int64_t) ([]string, error) {
	k, err := count(name, p, n)
	if err != nil {
		return nil, err
	}
	all := make([]string, k)
	for i, c := range unsafe.Slice(p, k) {
		if all[i], err = text(name, c); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// giveText hands a text to C, which frees it. C's texts end with a NUL, so one that holds a NUL cannot be handed out.
func giveText(out **C.char, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return device.Errorf(device.ErrUnsupported, "", "text", "%q holds a NUL", s)
	}
	*out = C.CString(s)
	return nil
}

// interned is a text in C's memory that lives as long as the process, for the few that structures show.
func interned(s string) *C.char {
	p := C.CString(s)
	defer C.free(unsafe.Pointer(p))
	return C.vly_intern(p)
}
