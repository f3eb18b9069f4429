package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/volley-go/volley/memory"
)

// ipcMagic is what an IPC file begins and ends with; a stream does not.
const ipcMagic = "ARROW1"

// largestMeta is the most that the metadata of one message may take.
const largestMeta = 64 << 20

// ipcFile is an open IPC file whose footer and messages were checked.
type ipcFile struct {
	*input
	arena   *arena
	reader  *ipc.FileReader
	schema  *arrow.Schema
	batches []ipcBlock
	serial  *sync.Mutex    // nil where batches may be decoded in parallel
	mapped  *memory.Buffer // the file, where it is mapped, else nil
}

// openIPCFile reads the footer and the dictionaries of a file. ctx ends later
// reads too.
func openIPCFile(ctx context.Context, in *input, from memory.Allocator) (f *ipcFile, err error) {
	return openIPCWith(in, newArena(from, largestBlock(in.size)), func(a *arena) (*ipc.FileReader, error) {
		return ipc.NewFileReader(&until{ctx: ctx, in: in}, ipc.WithAllocator(a), ipc.WithBodySizeLimit(0), ipc.WithMetadataSizeLimit(largestMeta))
	})
}

// openMapped is openIPCFile of a file that is mapped. It takes over the
// reference to the mapping when it succeeds.
func openMapped(in *input, mapped *memory.Buffer) (*ipcFile, error) {
	a := newArena(memory.Heap, largestBlock(in.size))
	a.mapped = mapped
	f, err := openIPCWith(in, a, func(a *arena) (*ipc.FileReader, error) {
		return ipc.NewMappedFileReader(mapped.Bytes(), ipc.WithAllocator(a), ipc.WithBodySizeLimit(0), ipc.WithMetadataSizeLimit(largestMeta))
	})
	if err != nil {
		return nil, err
	}
	f.mapped = mapped
	return f, nil
}

// openIPCWith checks a file before open makes the reader of it.
func openIPCWith(in *input, a *arena, open func(*arena) (*ipc.FileReader, error)) (f *ipcFile, err error) {
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	defer guard(in.path, "footer", &err)
	dictionaries, batches, err := ipcFooter(in)
	if err != nil {
		return nil, err
	}
	if a.mapped != nil && len(dictionaries) > 0 { // arrow-go's reader of mapped files has nowhere to keep them
		return nil, unsupported(in.path, "", "columns of dictionaries can be read but not mapped")
	}
	for i, b := range dictionaries {
		if err := checkBlock(in, b, ipcDictionary); err != nil {
			return nil, inFile(in.path, fmt.Sprintf("dictionary %d", i), err, ErrFormat)
		}
	}
	reader, err := open(a)
	if err != nil {
		return nil, inFile(in.path, "footer", err, ErrFormat)
	}
	f = &ipcFile{input: in, arena: a, reader: reader, schema: memory.HeldSchema(arrow.NewSchema(reader.Schema().Fields(), nil)), batches: batches}
	for _, field := range f.schema.Fields() {
		if hasDictionary(field.Type) {
			// arrow-go says that several goroutines may decode, but looks up
			// dictionaries through one hash that all of them write.
			f.serial = new(sync.Mutex)
		}
	}
	return f, distinctNames(in.path, f.schema)
}

// hasDictionary reports whether there is a dictionary in a type.
func hasDictionary(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return true
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if hasDictionary(f.Type) {
				return true
			}
		}
	}
	return false
}

// ipcFooter reads and walks the footer.
func ipcFooter(in *input) (dictionaries, batches []ipcBlock, err error) {
	const tail = 4 + len(ipcMagic)
	if in.size < int64(len(ipcMagic)+2+tail) {
		return nil, nil, damaged(in.path, "", "%d bytes are too few for an Arrow IPC file", in.size)
	}
	end := make([]byte, tail)
	if _, err := in.ReadAt(end, in.size-int64(tail)); err != nil {
		return nil, nil, err
	}
	if string(end[4:]) != ipcMagic {
		return nil, nil, damaged(in.path, "", "it begins but does not end as an Arrow IPC file does: truncated")
	}
	n := int64(int32(binary.LittleEndian.Uint32(end)))
	if n <= 0 || n > in.size-int64(len(ipcMagic)+2+tail) {
		return nil, nil, damaged(in.path, "footer", "it should be %d bytes long in a file of %d", n, in.size)
	}
	footer := make([]byte, n)
	if _, err := in.ReadAt(footer, in.size-int64(tail)-n); err != nil {
		return nil, nil, err
	}
	dictionaries, batches, ok := checkFooter(footer)
	if !ok {
		return nil, nil, damaged(in.path, "footer", "its counts and offsets do not fit its %d bytes", n)
	}
	return dictionaries, batches, nil
}

// checkBlock walks the metadata of a message before it is decoded.
func checkBlock(in *input, b ipcBlock, want int64) error {
	if b.offset < 0 || b.meta < 8 || b.meta > largestMeta || b.body < 0 || b.offset > in.size || b.meta > in.size-b.offset || b.body > in.size-b.offset-b.meta {
		return fmt.Errorf("%d + %d bytes at offset %d of a file of %d", b.meta, b.body, b.offset, in.size)
	}
	meta := make([]byte, b.meta)
	if _, err := in.ReadAt(meta, b.offset); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(meta) == 0xFFFFFFFF {
		meta = meta[4:]
	}
	if kind, body, ok := checkMessage(meta[4:]); !ok || kind != want || body != b.body {
		return fmt.Errorf("the message at offset %d is damaged", b.offset)
	}
	return nil
}

// record decodes batch i; the caller releases it. Several goroutines may.
func (f *ipcFile) record(i int) (rec arrow.RecordBatch, err error) {
	defer guard(f.path, recordBatch(i), &err)
	if err := checkBlock(f.input, f.batches[i], ipcBatch); err != nil {
		return nil, inFile(f.path, recordBatch(i), err, ErrFormat)
	}
	if f.serial != nil {
		f.serial.Lock()
		defer f.serial.Unlock()
	}
	rec, err = f.reader.RecordBatchAt(i)
	return rec, inFile(f.path, recordBatch(i), err, ErrFormat)
}

// close gives back what no column holds.
func (f *ipcFile) close() {
	f.reader.Close()
	f.arena.close()
	f.mapped.Release()
	f.input.close()
}

func recordBatch(i int) string { return fmt.Sprintf("record batch %d", i) }
