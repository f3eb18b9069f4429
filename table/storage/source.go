package storage

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// defaultRows is how many rows a batch has where nothing else is asked: small
// enough that a cancelled context is noticed within milliseconds.
const defaultRows = 1 << 16

// batchRows is how many rows a batch of that many columns should have.
func batchRows(asked int64, columns int) int64 {
	if asked > 0 {
		return min(asked, 1<<20)
	}
	return max(1<<10, min(defaultRows, 1<<22/int64(max(columns, 1))))
}

func nameOf(paths []string) string {
	switch len(paths) {
	case 0:
		return "storage"
	case 1:
		return paths[0]
	default:
		return fmt.Sprintf("%s and %d more", paths[0], len(paths)-1)
	}
}

// distinctNames checks that no two columns have one name.
func distinctNames(path string, s *arrow.Schema) error {
	for _, f := range s.Fields() {
		if n := len(s.FieldIndices(f.Name)); n > 1 {
			return &Error{Path: path, Name: f.Name, Kind: device.ErrMismatch, Text: fmt.Sprintf("%d columns have this name", n)}
		}
	}
	return nil
}

// project is the schema of the named columns in the order of s; nil names are
// all of them. An unknown name is an ErrMismatch that names the near ones.
func project(path string, s *arrow.Schema, names []string) (*arrow.Schema, error) {
	if names == nil {
		return s, nil
	}
	wanted := map[string]bool{}
	for _, n := range names {
		if len(s.FieldIndices(n)) == 0 {
			return nil, &Error{Path: path, Name: n, Kind: device.ErrMismatch, Text: "there is no such column" + nearest(n, s)}
		}
		wanted[n] = true
	}
	var fields []arrow.Field
	for _, f := range s.Fields() {
		if wanted[f.Name] {
			fields = append(fields, f)
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// nearest lists up to three column names that one might have meant.
func nearest(name string, s *arrow.Schema) string {
	var names, quoted []string
	for _, f := range s.Fields() {
		names = append(names, f.Name)
	}
	for _, n := range expr.Near(name, names) {
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	if len(quoted) == 0 {
		return ""
	}
	return "; near it: " + strings.Join(quoted, ", ")
}

// sameColumns checks that a further file has the columns of the first, by
// name and type, in any order, and where all are read no others: nobody would see
// that they are left out.
func sameColumns(path string, first, s *arrow.Schema, all bool) error {
	for _, f := range s.Fields() {
		if all && len(first.FieldIndices(f.Name)) == 0 {
			return &Error{Path: path, Name: f.Name, Kind: device.ErrMismatch, Text: "this file has this column and the first has not: say which columns to read, or put this file first"}
		}
	}
	for _, f := range first.Fields() {
		at := s.FieldIndices(f.Name)
		if len(at) == 0 {
			return &Error{Path: path, Name: f.Name, Kind: device.ErrMismatch, Text: "the first file has this column and this one has not"}
		}
		if g := s.Field(at[0]); !arrow.TypeEqual(f.Type, g.Type) {
			return &Error{Path: path, Name: f.Name, Kind: device.ErrMismatch, Text: fmt.Sprintf("of type %s here and %s in the first file", g.Type, f.Type)}
		}
	}
	return nil
}

// supported checks that volley holds columns of the field's type.
func supported(path string, f arrow.Field) error {
	if _, err := memory.Held(f.Type); err != nil {
		return unsupported(path, f.Name, "columns of type %s; choose columns without it", f.Type)
	}
	return nil
}

// hostMemory is the allocator that files are read into for a backend: the
// host's, pinned for the device.
func hostMemory(b *kernels.Backend) memory.Allocator { return b.Device.Pinned() }
