package storage

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// ipcFeed is arrow-go's reader of streams and the messages that it is to be given
// next: batches of a file are decoded by it too, one by one, since its reader of
// files reads and unpacks messages itself.
type ipcFeed struct {
	reader *ipc.Reader
	next   []*ipc.Message
	last   *ipc.Message
}

// newFeed begins with a schema.
func newFeed(a *arena, schema []byte) (*ipcFeed, error) {
	f := &ipcFeed{}
	f.add(schema, arrowmem.NewBufferBytes(nil))
	reader, err := ipc.NewReaderFromMessageReader(f, ipc.WithAllocator(a))
	if err != nil {
		f.Release()
		return nil, err
	}
	f.reader = reader
	return f, nil
}

// add puts a message behind those that wait. It takes over the body.
func (f *ipcFeed) add(meta []byte, body *arrowmem.Buffer) {
	head := arrowmem.NewBufferBytes(meta)
	f.next = append(f.next, ipc.NewMessage(head, body))
	head.Release()
	body.Release()
}

// Message is the next message, valid until the one after it.
func (f *ipcFeed) Message() (*ipc.Message, error) {
	if f.last != nil {
		f.last.Release()
		f.last = nil
	}
	if len(f.next) == 0 {
		return nil, io.EOF
	}
	f.last, f.next = f.next[0], f.next[1:]
	return f.last, nil
}

// Retain is for sharing, which nobody does here.
func (f *ipcFeed) Retain() {}

// Release drops all messages.
func (f *ipcFeed) Release() {
	if f.last != nil {
		f.next = append(f.next, f.last)
	}
	for _, m := range f.next {
		m.Release()
	}
	f.last, f.next = nil, nil
}

// close ends the reader.
func (f *ipcFeed) close() {
	if f != nil {
		f.reader.Release()
	}
}

// feed makes a reader of the file's batches.
func (f *ipcFile) feed() (*ipcFeed, error) { return newFeed(f.arena, f.message) }

// give reads a message of the file, checks it, and gives it to a feed unpacked.
func (f *ipcFile) give(to *ipcFeed, at filemeta.Block, kind int64, types []arrow.DataType) (b ipcBody, err error) {
	meta, err := checkBlock(f.input, at, kind)
	if err != nil {
		return b, err
	}
	if b, err = bodyOf(meta, kind, at.Body); err == nil && kind == filemeta.KindBatch {
		err = b.check(types)
	}
	if err != nil {
		return b, err
	}
	body, err := f.body(at)
	if err != nil {
		return b, err
	}
	defer body.Release()
	unpacked, err := unpacker{f.ctx, f.arena, f.most}.unpack(meta, &b, body)
	if err != nil {
		return b, err
	}
	to.add(meta, unpacked)
	return b, nil
}

// body is that of a message: where it lies in a file that is mapped, else what is read.
func (f *ipcFile) body(at filemeta.Block) (*arrowmem.Buffer, error) {
	from := at.Offset + at.Meta
	if f.mapped != nil {
		return arrowmem.NewBufferBytes(f.mapped.Bytes()[from : from+at.Body : from+at.Body]), nil
	}
	body := arrowmem.NewResizableBuffer(f.arena)
	body.Resize(int(at.Body))
	if _, err := (&until{ctx: f.ctx, in: f.input}).ReadAt(body.Bytes(), from); err != nil {
		body.Release()
		return nil, err
	}
	return body, nil
}

// batch decodes batch i, which the caller releases.
func (f *ipcFile) batch(by *ipcFeed, i int) (arrow.RecordBatch, error) {
	if _, err := f.give(by, f.batches[i], filemeta.KindBatch, f.types); err != nil {
		return nil, err
	}
	rec, err := by.reader.Read()
	switch {
	case err == io.EOF || err == nil && rec == nil:
		return nil, fmt.Errorf("its dictionaries are not there")
	case err != nil:
		return nil, err
	}
	rec.Retain()
	return rec, nil
}

// keep makes the reader of a file with dictionaries, and gives it these.
func (f *ipcFile) keep() (err error) {
	feed, err := f.feed()
	if err != nil {
		return inFile(f.path, "footer", decoderError(err), ErrFormat)
	}
	defer func() {
		if err != nil {
			feed.close()
		}
	}()
	seen := map[int64]bool{}
	for i, at := range f.dicts {
		part := fmt.Sprintf("dictionary %d", i)
		b, err := f.give(feed, at, filemeta.KindDictionary, nil)
		if err != nil {
			return inFile(f.path, part, err, ErrFormat)
		}
		if seen[b.id] && !b.delta {
			return &Error{Path: f.path, Part: part, Kind: ErrFormat, Text: "it replaces another, which a file, unlike a stream, cannot have"}
		}
		seen[b.id] = true
	}
	f.kept = feed
	return nil
}
