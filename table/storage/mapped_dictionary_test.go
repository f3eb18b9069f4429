package storage_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// span is from the first to the last byte of a column's buffers, those of its parts too.
func span(c *memory.Column, first, last uintptr) (uintptr, uintptr) {
	for i := range 3 {
		if b := c.Buffer(i); b != nil && b.Len() > 0 {
			at := uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes())))
			first, last = min(first, at), max(last, at+uintptr(b.Len()))
		}
	}
	for i := range c.NumChildren() {
		first, last = span(c.Child(i), first, last)
	}
	if c.Dictionary() != nil {
		first, last = span(c.Dictionary(), first, last)
	}
	return first, last
}

// rowsOf are the rows of a table as JSON.
func rowsOf(t *testing.T, of *table.Table) (all []string) {
	for _, chunk := range of.Chunks() {
		lines := make([]string, chunk.Len())
		for _, c := range chunk.Columns() {
			a, err := memory.ToArrow(c)
			require.NoError(t, err)
			for row := range a.Len() {
				one := array.NewSlice(a, int64(row), int64(row+1))
				text, err := json.Marshal(one)
				one.Release()
				require.NoError(t, err)
				lines[row] += string(text)
			}
			a.Release()
		}
		all = append(all, lines...)
	}
	return all
}

// Dictionaries are mapped with their indices, also those in structs, and several of one file: all buffers lie in the one file.
func TestMapDictionaries(t *testing.T) {
	ctx, b := context.Background(), backend(t)
	if !b.Device.Place().HostAccessible() {
		_, err := storage.MapIPC(ctx, b, storage.IPC("testdata/polars.arrow"), nil)
		wantError(t, err, device.ErrUnsupported)
		return
	}
	small := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	wide := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int64}
	fields := []arrow.Field{{Name: "a", Type: small, Nullable: true}, {Name: "b", Type: wide, Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "d", Type: small, Nullable: true}), Nullable: true}}
	schema := arrow.NewSchema(fields, nil)
	one := `{"a": "x", "b": 5, "s": {"d": "p"}}, {"a": null, "b": 6, "s": {"d": null}}, {"a": "yy", "b": null, "s": null}, {"a": "x", "b": 5, "s": {"d": "q"}}`
	rec, _, err := array.RecordFromJSON(arrowmem.DefaultAllocator, schema, strings.NewReader("["+strings.Repeat(one+",", 2000)+one+"]"))
	require.NoError(t, err)
	made, err := table.BatchOf(rec)
	require.NoError(t, err)
	var chunks []*table.Batch
	for at := int64(0); at < made.Len(); at += 1003 {
		chunk, err := made.Slice(at, min(1003, made.Len()-at))
		require.NoError(t, err)
		chunks = append(chunks, chunk)
	}
	made.Release()
	whole, err := table.NewTable(b, schema, chunks)
	require.NoError(t, err)
	defer whole.Release()
	path := filepath.Join(t.TempDir(), "d.arrow")
	require.NoError(t, storage.WriteIPC(ctx, whole, path, storage.IPCOptions{}))
	info, err := os.Stat(path)
	require.NoError(t, err)
	for _, columns := range [][]string{{"a", "b", "s"}, {"a"}, {"b", "s"}} {
		mapped, err := storage.MapIPC(ctx, b, storage.IPC(path), columns)
		require.NoError(t, err)
		first, last := uintptr(math.MaxUint), uintptr(0)
		for _, chunk := range mapped.Chunks() {
			for _, c := range chunk.Columns() {
				first, last = span(c, first, last)
			}
		}
		require.Less(t, int64(last-first), info.Size(), "a buffer lies elsewhere")
		var items []any
		for _, c := range columns {
			items = append(items, c)
		}
		want, err := whole.Query().Select(items...).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, rowsOf(t, want), rowsOf(t, mapped))
		want.Release()
		mapped.Release()
	}
}
