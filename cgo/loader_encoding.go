package main

// #include "base.h"
import "C"

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader"
)

// tensorType reads the name of the type of a tensor's elements; "" is nil.
func tensorType(name string) (arrow.DataType, error) {
	switch name {
	case "":
		return nil, nil
	case "bfloat16": // Arrow has not got it
		return dataloader.BFloat16, nil
	}
	return typeNamed(name)
}

// encodings reads what becomes of columns.
func encodings(p *C.volley_encoding, n C.int64_t) (map[string]*dataloader.Encoding, error) {
	k, err := count("encodings", p, n)
	if err != nil {
		return nil, err
	}
	made := make(map[string]*dataloader.Encoding, k)
	for _, c := range unsafe.Slice(p, k) {
		column, err := text("column of an encoding", c.column)
		if err != nil {
			return nil, err
		}
		if made[column] != nil {
			return nil, mismatch("column %q has two encodings", column)
		}
		if made[column], err = encoding(c); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func encoding(c C.volley_encoding) (*dataloader.Encoding, error) {
	kind, err := text("kind of an encoding", c.kind)
	if err != nil {
		return nil, err
	}
	values, err := texts("values of an encoding", c.values, c.values_count)
	if err != nil {
		return nil, err
	}
	var e *dataloader.Encoding
	switch kind {
	case "categories":
		e = dataloader.Categories(values...)
	case "one_hot":
		e = dataloader.OneHot(values...)
	case "padded":
		e = dataloader.Padded(int64(c.length), float64(c.pad))
	case "ragged":
		e = dataloader.Ragged(int64(c.length))
	default:
		return nil, mismatch("there is no encoding %q; there are categories, one_hot, padded, ragged", kind)
	}
	if c.lenient != 0 {
		e = e.Unknown().Cut()
	}
	return e, nil
}
