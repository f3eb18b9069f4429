package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// ipcMagic is what an IPC file begins and ends with; a stream does not.
const ipcMagic = "ARROW1"

// largestMeta is the most that the metadata of one message may take.
const largestMeta = 64 << 20

// ipcFile is an open IPC file whose footer and messages were checked.
type ipcFile struct {
	*input
	ctx     context.Context // that reads end with
	arena   *arena
	schema  *arrow.Schema
	types   []arrow.DataType // of the columns, as the file has them
	message []byte           // the schema's
	most    int64            // IPCReadOptions.MaxUnpacked
	dicts   []filemeta.Block
	batches []filemeta.Block

	// A file with dictionaries is decoded by one reader, which keeps them.
	serial *sync.Mutex
	kept   *ipcFeed

	reader *ipc.FileReader // of a mapped file
	mapped *memory.Buffer  // the file, where it is mapped, else nil
}

// openIPCFile reads the footer of a file. ctx ends later reads too.
func openIPCFile(ctx context.Context, in *input, from memory.Allocator, o IPCReadOptions) (f *ipcFile, err error) {
	return openIPCWith(&ipcFile{input: in, ctx: ctx, arena: newArena(from, largestBlock(in.size)), most: o.MaxUnpacked})
}

// openMapped is openIPCFile of a file that is mapped. It takes over the
// reference to the mapping when it succeeds.
func openMapped(ctx context.Context, in *input, mapped *memory.Buffer) (*ipcFile, error) {
	f := &ipcFile{input: in, ctx: ctx, arena: newArena(memory.Heap, largestBlock(in.size))}
	f.arena.mapped = mapped
	if _, err := openIPCWith(f); err != nil {
		return nil, err
	}
	if err := f.readMapped(mapped); err != nil {
		f.arena.close()
		return nil, err
	}
	f.mapped = mapped
	return f, nil
}

// readMapped makes the reader of a mapped file.
func (f *ipcFile) readMapped(mapped *memory.Buffer) (err error) {
	defer guard(f.path, "footer", &err)
	if f.serial != nil { // arrow-go's reader of mapped files has nowhere to keep dictionaries: record has one that has
		return nil
	}
	f.reader, err = ipc.NewMappedFileReader(mapped.Bytes(), ipc.WithAllocator(f.arena), ipc.WithBodySizeLimit(0), ipc.WithMetadataSizeLimit(largestMeta))
	return inFile(f.path, "footer", decoderError(err), ErrFormat)
}

// openIPCWith checks the footer of a file and reads the schema in it.
func openIPCWith(f *ipcFile) (_ *ipcFile, err error) {
	defer func() {
		if err != nil {
			f.arena.close()
		}
	}()
	defer guard(f.path, "footer", &err)
	footer, err := ipcFooter(f.input)
	if err != nil {
		return nil, err
	}
	f.dicts, f.batches, f.message = footer.Dictionaries, footer.Batches, footer.Schema
	for i, b := range f.dicts {
		if _, err := checkBlock(f.input, b, filemeta.KindDictionary); err != nil {
			return nil, inFile(f.path, fmt.Sprintf("dictionary %d", i), err, ErrFormat)
		}
	}
	feed, err := f.feed()
	if err != nil {
		return nil, inFile(f.path, "footer", decoderError(err), ErrFormat)
	}
	defer feed.close()
	fields := feed.reader.Schema().Fields()
	for _, field := range fields {
		f.types = append(f.types, field.Type)
		if hasDictionary(field.Type) {
			// arrow-go says that several goroutines may decode, but looks up
			// dictionaries through one hash that all of them write.
			f.serial = new(sync.Mutex)
		}
	}
	f.schema = memory.HeldSchema(arrow.NewSchema(fields, nil))
	if err := f.checkFirstSchema(fields); err != nil {
		return nil, err
	}
	if err := f.checkLast(); err != nil {
		return nil, err
	}
	return f, distinctNames(f.path, f.schema)
}

// checkFirstSchema holds the schema of the footer against the one that the file
// begins with: nothing else tells a damaged name or type. Some writers put none
// there that can be read.
func (f *ipcFile) checkFirstSchema(fields []arrow.Field) error {
	message, err := f.messageAt(8, filemeta.KindSchema)
	if message == nil {
		return err
	}
	first, err := newFeed(f.arena, message)
	if err != nil {
		return nil
	}
	defer first.close()
	if arrow.NewSchema(first.reader.Schema().Fields(), nil).String() != arrow.NewSchema(fields, nil).String() {
		return damaged(f.path, "", "the schema that it begins with is not the one in its footer")
	}
	return nil
}

// checkLast looks that no batch or dictionary follows those that the footer names.
func (f *ipcFile) checkLast() error {
	end := int64(0)
	for _, b := range append(append([]filemeta.Block{}, f.dicts...), f.batches...) {
		if n := b.Offset + b.Meta + b.Body; b.Offset >= 0 && b.Meta >= 0 && b.Body >= 0 && n >= 0 {
			end = max(end, n)
		}
	}
	if end == 0 { // there are none: what follows the schema
		message, err := f.messageAt(8, filemeta.KindSchema)
		if message == nil {
			return err
		}
		end = 16 + int64(len(message))
	}
	for _, kind := range []int64{filemeta.KindDictionary, filemeta.KindBatch} {
		message, err := f.messageAt(end, kind)
		if err != nil {
			return err
		}
		if message != nil {
			return damaged(f.path, "footer", "it does not name the message at offset %d", end)
		}
	}
	return nil
}

// messageAt is the metadata of a message of a kind, which begins with the mark that
// they have since version 0.15 of the format; nil where there is none.
func (f *ipcFile) messageAt(at, kind int64) ([]byte, error) {
	head := make([]byte, 8)
	if at > f.size-int64(len(head)) {
		return nil, nil
	}
	if _, err := f.ReadAt(head, at); err != nil {
		return nil, inFile(f.path, "", err, device.ErrUnavailable)
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[4:])))
	if at += 8; binary.LittleEndian.Uint32(head) != 0xFFFFFFFF || n < 8 || n > largestMeta || n > f.size-at {
		return nil, nil
	}
	message := make([]byte, n)
	if _, err := f.ReadAt(message, at); err != nil {
		return nil, inFile(f.path, "", err, device.ErrUnavailable)
	}
	if is, _, ok := filemeta.CheckMessage(message); !ok || is != kind {
		return nil, nil
	}
	return message, nil
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
func ipcFooter(in *input) (f filemeta.Footer, err error) {
	const tail = 4 + len(ipcMagic)
	if in.size < int64(len(ipcMagic)+2+tail) {
		return f, damaged(in.path, "", "%d bytes are too few for an Arrow IPC file", in.size)
	}
	end := make([]byte, tail)
	if _, err := in.ReadAt(end, in.size-int64(tail)); err != nil {
		return f, err
	}
	if string(end[4:]) != ipcMagic {
		return f, damaged(in.path, "", "it begins but does not end as an Arrow IPC file does: truncated")
	}
	n := int64(int32(binary.LittleEndian.Uint32(end)))
	if n <= 0 || n > in.size-int64(len(ipcMagic)+2+tail) {
		return f, damaged(in.path, "footer", "it should be %d bytes long in a file of %d", n, in.size)
	}
	footer := make([]byte, n)
	if _, err := in.ReadAt(footer, in.size-int64(tail)-n); err != nil {
		return f, err
	}
	f, ok := filemeta.CheckFooter(footer)
	if !ok {
		return f, damaged(in.path, "footer", "its counts and offsets do not fit its %d bytes", n)
	}
	return f, nil
}

// checkBlock walks the metadata of a message before it is decoded, and gives it.
func checkBlock(in *input, b filemeta.Block, want int64) (meta []byte, err error) {
	if b.Offset < 0 || b.Meta < 8 || b.Meta > largestMeta || b.Body < 0 || b.Offset > in.size || b.Meta > in.size-b.Offset || b.Body > in.size-b.Offset-b.Meta {
		return nil, fmt.Errorf("%d + %d bytes at offset %d of a file of %d", b.Meta, b.Body, b.Offset, in.size)
	}
	meta = make([]byte, b.Meta)
	if _, err := in.ReadAt(meta, b.Offset); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(meta) == 0xFFFFFFFF {
		meta = meta[4:]
	}
	n := int64(int32(binary.LittleEndian.Uint32(meta)))
	meta = meta[4:]
	if kind, body, ok := filemeta.CheckMessage(meta); n != int64(len(meta)) || !ok || kind != want || body != b.Body {
		return nil, fmt.Errorf("the message at offset %d is damaged", b.Offset)
	}
	return meta, nil
}

// record decodes batch i; the caller releases it. Several goroutines may.
func (f *ipcFile) record(i int) (rec arrow.RecordBatch, err error) {
	defer guard(f.path, recordBatch(i), &err)
	if f.reader != nil {
		meta, err := checkBlock(f.input, f.batches[i], filemeta.KindBatch)
		if err != nil {
			return nil, inFile(f.path, recordBatch(i), err, ErrFormat)
		}
		b, err := bodyOf(meta, filemeta.KindBatch, f.batches[i].Body)
		if err == nil {
			err = b.check(f.types)
		}
		if at := f.batches[i]; err == nil {
			err = b.checkFull(f.mapped.Bytes()[at.Offset+at.Meta:])
		}
		if err != nil {
			return nil, inFile(f.path, recordBatch(i), err, ErrFormat)
		}
		rec, err = f.reader.RecordBatchAt(i)
		return rec, inFile(f.path, recordBatch(i), decoderError(err), ErrFormat)
	}
	if f.serial == nil {
		feed, err := f.feed()
		if err != nil {
			return nil, inFile(f.path, recordBatch(i), decoderError(err), ErrFormat)
		}
		defer feed.close()
		rec, err = f.batch(feed, i)
		return rec, inFile(f.path, recordBatch(i), decoderError(err), ErrFormat)
	}
	f.serial.Lock()
	defer f.serial.Unlock()
	if f.kept == nil {
		if err := f.keep(); err != nil {
			return nil, err
		}
	}
	whole := false
	defer func() {
		if !whole { // arrow-go's reader gives nothing after an error
			f.kept.close()
			f.kept = nil
		}
	}()
	rec, err = f.batch(f.kept, i)
	whole = err == nil
	return rec, inFile(f.path, recordBatch(i), decoderError(err), ErrFormat)
}

// close gives back what no column holds.
func (f *ipcFile) close() {
	if f.reader != nil {
		f.reader.Close()
	}
	f.kept.close()
	f.arena.close()
	f.mapped.Release()
	f.input.close()
}

func recordBatch(i int) string { return fmt.Sprintf("record batch %d", i) }
