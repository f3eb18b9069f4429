package storage

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// ipcStream is an open IPC stream in a file.
type ipcStream struct {
	*input
	arena  *arena
	reader *ipc.Reader
	schema *arrow.Schema
}

// openIPCStream reads the schema of a stream. ctx ends later reads too.
func openIPCStream(ctx context.Context, in *input, from memory.Allocator, o IPCReadOptions) (s *ipcStream, err error) {
	a := newArena(from, largestBlock(in.size))
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	defer guard(in.path, "schema", &err)
	messages := &ipcMessages{in: in, r: bufio.NewReaderSize(&until{ctx: ctx, in: in}, 1<<16), unpacker: unpacker{ctx, a, o.MaxUnpacked}}
	reader, err := ipc.NewReaderFromMessageReader(messages, ipc.WithAllocator(a))
	if err != nil {
		return nil, inFile(in.path, "schema", decoderError(err), ErrFormat)
	}
	for _, field := range reader.Schema().Fields() {
		messages.types = append(messages.types, field.Type)
	}
	s = &ipcStream{input: in, arena: a, reader: reader, schema: memory.HeldSchema(arrow.NewSchema(reader.Schema().Fields(), nil))}
	if err = distinctNames(in.path, s.schema); err != nil {
		reader.Release()
		return nil, err
	}
	return s, nil
}

// record is the next batch, valid until the next call, or io.EOF.
func (s *ipcStream) record(i int) (rec arrow.RecordBatch, err error) {
	defer guard(s.path, recordBatch(i), &err)
	rec, err = s.reader.Read()
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case err != nil:
		return nil, inFile(s.path, recordBatch(i), decoderError(err), ErrFormat)
	case rec == nil: // the stream ended between its schema and its dictionaries
		return nil, io.EOF
	}
	return rec, nil
}

// close gives back what no column holds.
func (s *ipcStream) close() {
	s.reader.Release()
	s.arena.close()
	s.input.close()
}

// ipcMessages cuts a stream into messages. It stands in for arrow-go's own so
// that each message is held against what is left of the file, and walked,
// before anything is allocated by what it says.
type ipcMessages struct {
	unpacker
	in    *input
	r     *bufio.Reader
	pos   int64
	types []arrow.DataType // of the columns, once they are known
	last  *ipc.Message
}

// Retain and Release are for sharing, which nobody does here.
func (m *ipcMessages) Retain() {}

// Release drops the last message.
func (m *ipcMessages) Release() {
	if m.last != nil {
		m.last.Release()
		m.last = nil
	}
}

// Message is the next message, valid until the next call, or io.EOF at the end
// of the stream: its end mark, or the end of the file between two messages.
func (m *ipcMessages) Message() (*ipc.Message, error) {
	m.Release()
	n, err := m.length()
	if err != nil {
		return nil, err
	}
	if n < 8 || n > largestMeta || n > m.in.size-m.pos {
		return nil, damaged(m.in.path, "", "a message at offset %d claims %d bytes of metadata in a file of %d", m.pos, n, m.in.size)
	}
	meta := make([]byte, n)
	if err := m.read(meta); err != nil {
		return nil, err
	}
	kind, size, ok := filemeta.CheckMessage(meta)
	if !ok || size > m.in.size-m.pos {
		return nil, damaged(m.in.path, "", "the message that ends at offset %d is damaged or cut short", m.pos)
	}
	buf := arrowmem.NewResizableBuffer(m.from)
	defer buf.Release()
	buf.Resize(int(size))
	at := m.pos - n
	if err := m.read(buf.Bytes()); err != nil {
		return nil, err
	}
	body, err := m.body(meta, kind, buf)
	if err != nil {
		return nil, inFile(m.in.path, fmt.Sprintf("message at offset %d", at), err, ErrFormat)
	}
	defer body.Release()
	head := arrowmem.NewBufferBytes(meta)
	defer head.Release()
	m.last = ipc.NewMessage(head, body)
	return m.last, nil
}

// body is a message's body, unpacked where it is a batch or a dictionary.
func (m *ipcMessages) body(meta []byte, kind int64, buf *arrowmem.Buffer) (*arrowmem.Buffer, error) {
	if kind != filemeta.KindBatch && kind != filemeta.KindDictionary {
		buf.Retain()
		return buf, nil
	}
	b, err := bodyOf(meta, kind, int64(buf.Len()))
	if err == nil {
		err = b.ends(int64(buf.Len()))
	}
	if err == nil && kind == filemeta.KindBatch {
		err = b.check(m.types)
	}
	if err != nil {
		return nil, err
	}
	return m.unpack(meta, &b, buf)
}

// length reads what stands in front of a message: since version 0.15 of the
// format a mark and the length of the metadata, before it the length alone.
func (m *ipcMessages) length() (int64, error) {
	if m.pos >= m.in.size {
		return 0, io.EOF
	}
	word := make([]byte, 4)
	if err := m.read(word); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(word)
	if n == 0xFFFFFFFF {
		if err := m.read(word); err != nil {
			return 0, err
		}
		n = binary.LittleEndian.Uint32(word)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return int64(int32(n)), nil
}

func (m *ipcMessages) read(p []byte) error {
	n, err := io.ReadFull(m.r, p)
	m.pos += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged(m.in.path, "", "it ends in the middle of a message, at offset %d", m.pos)
	}
	return err
}
