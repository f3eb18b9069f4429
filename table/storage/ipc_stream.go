package storage

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/memory"
)

// ipcStream is an open IPC stream in a file.
type ipcStream struct {
	*input
	arena  *arena
	reader *ipc.Reader
	schema *arrow.Schema
}

// openIPCStream reads the schema of a stream. ctx ends later reads too.
func openIPCStream(ctx context.Context, in *input, from memory.Allocator) (s *ipcStream, err error) {
	a := newArena(from, largestBlock(in.size))
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	defer guard(in.path, "schema", &err)
	messages := &ipcMessages{in: in, r: bufio.NewReaderSize(&until{ctx: ctx, in: in}, 1<<16), arena: a}
	reader, err := ipc.NewReaderFromMessageReader(messages, ipc.WithAllocator(a))
	if err != nil {
		return nil, inFile(in.path, "schema", err, ErrFormat)
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
		return nil, inFile(s.path, recordBatch(i), err, ErrFormat)
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
	in    *input
	r     *bufio.Reader
	pos   int64
	arena *arena
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
	_, body, ok := checkMessage(meta)
	if !ok || body > m.in.size-m.pos {
		return nil, damaged(m.in.path, "", "the message that ends at offset %d is damaged or cut short", m.pos)
	}
	buf := arrowmem.NewResizableBuffer(m.arena)
	defer buf.Release()
	buf.Resize(int(body))
	if err := m.read(buf.Bytes()); err != nil {
		return nil, err
	}
	head := arrowmem.NewBufferBytes(meta)
	defer head.Release()
	m.last = ipc.NewMessage(head, buf)
	return m.last, nil
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
