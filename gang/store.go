package gang

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/volley-go/volley/collective/transport/mesh"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// kept is a value that this member holds.
type kept struct {
	name  string
	value any
}

// Put keeps a value here under a name, which need not be unique, and gives the reference to it. Of a table nothing is copied.
func (m *member) Put(ctx context.Context, name string, value any) (Ref, error) {
	if err := ctx.Err(); err != nil {
		return Ref{}, m.named(ctx, "Put", err)
	}
	if _, isTable := value.(*table.Table); !isTable { // what cannot be sent is found out now
		if _, err := encode(ctx, nil, value, 0); err != nil {
			return Ref{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		return Ref{}, &device.Error{Call: "gang.Put", Kind: device.ErrClosed}
	}
	m.last++
	m.values[m.last] = &kept{name, retain(plain(value))}
	rows := int64(-1)
	if t, ok := value.(*table.Table); ok {
		rows = t.NumRows()
	}
	return Ref{Run: m.invitation.run, Generation: m.invitation.generation, Name: name, Parts: []Part{{m.Rank(), m.last, rows}}}, nil
}

// value is one that this member holds, retained for the caller; of a table those rows, if rows is not negative.
func (m *member) value(number uint64, offset, rows int64) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.values[number]
	if k == nil {
		return nil, fmt.Errorf("%w: rank %d has no value %d any more", ErrNotFound, m.Rank(), number)
	}
	if rows < 0 {
		return retain(k.value), nil
	}
	t, ok := k.value.(*table.Table)
	if !ok {
		return nil, device.Errorf(device.ErrMismatch, "", "gang", "value %d of rank %d, %q, is no table", number, m.Rank(), k.name)
	}
	return window(t, offset, rows)
}

// window is some rows of a table, over the same memory.
func window(t *table.Table, offset, rows int64) (*table.Table, error) {
	if offset < 0 || rows < 0 || offset > t.NumRows()-rows {
		return nil, device.Errorf(device.ErrMismatch, "", "gang", "rows %d to %d of a table of %d", offset, offset+rows, t.NumRows())
	}
	var chunks []*table.Batch
	for _, c := range t.Chunks() {
		n := min(rows, c.Len()-offset)
		if n <= 0 {
			offset = max(0, offset-c.Len())
			continue
		}
		part, err := c.Slice(offset, n)
		if err != nil {
			releaseAll(chunks)
			return nil, err
		}
		chunks = append(chunks, part)
		offset, rows = 0, rows-n
	}
	return table.NewTable(t.Backend(), t.Schema(), chunks)
}

// drop forgets a value.
func (m *member) drop(number uint64) {
	m.mu.Lock()
	k := m.values[number]
	delete(m.values, number)
	m.mu.Unlock()
	if k != nil {
		release(k.value)
	}
}

// dropAll forgets all of them, for good.
func (m *member) dropAll() {
	m.mu.Lock()
	all := m.values
	m.values = nil
	m.mu.Unlock()
	for _, k := range all {
		release(k.value)
	}
}

// wanted is a question for a value.
type wanted struct {
	number       uint64
	offset, rows int64
	machine      string // of who asks, where it can map files
}

func (w wanted) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(nil, w.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(w.offset))
	return append(binary.LittleEndian.AppendUint64(b, uint64(w.rows)), w.machine...)
}

func asked(b []byte) (w wanted, err error) {
	if len(b) < 24 {
		return w, errValue
	}
	return wanted{binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:])), string(b[24:])}, nil
}

// The first byte of an answer: a value follows, or the name of a file with a table.
const (
	byValue byte = 'v'
	byFile  byte = 'f'
)

// least is how many rows make a table worth a file.
const least = 4096

// hand answers a question for a value: a table for a member on this machine goes as a file in its memory.
func (m *member) hand(ctx context.Context, body []byte) (mesh.Answer, error) {
	w, err := asked(body)
	if err != nil {
		return mesh.Answer{}, err
	}
	v, err := m.value(w.number, w.offset, w.rows)
	if err != nil {
		return mesh.Answer{}, err
	}
	defer release(v)
	t, ok := v.(*table.Table)
	if !ok {
		b, err := encode(ctx, []byte{byValue}, v, 0)
		return mesh.Answer{Parts: [][]byte{b}}, err
	}
	if m.machine != "" && w.machine == m.machine && t.NumRows() >= least {
		if name, err := m.write(ctx, w.number, t); err == nil { // where the memory is full, bytes go instead
			return mesh.Answer{Parts: [][]byte{{byFile}, []byte(name)}}, nil
		}
	}
	var text bytes.Buffer
	if err := storage.WriteIPCTo(ctx, t, &text, storage.IPCOptions{Stream: true}); err != nil {
		return mesh.Answer{}, err
	}
	return mesh.Answer{Parts: [][]byte{binary.AppendUvarint([]byte{byValue, isTable}, uint64(text.Len())), text.Bytes()}}, nil
}

// write puts a table into a file of the generation's folder, whose name has rank and number.
func (m *member) write(ctx context.Context, number uint64, t *table.Table) (string, error) {
	m.mu.Lock()
	m.files++
	name := fmt.Sprintf("%d-%d-%d.arrow", m.Rank(), number, m.files)
	m.mu.Unlock()
	return name, storage.WriteIPC(ctx, t, filepath.Join(m.invitation.folder, name), storage.IPCOptions{})
}

// take reads an answer.
func (m *member) take(ctx context.Context, answer []byte) (any, error) {
	if len(answer) == 0 {
		return nil, errValue
	}
	if answer[0] == byValue {
		return decode(ctx, m.backend, answer[1:])
	}
	name := string(answer[1:])
	if answer[0] != byFile || name != filepath.Base(name) {
		return nil, errValue
	}
	path := filepath.Join(m.invitation.folder, name)
	defer os.Remove(path) // the mapping holds what it needs
	return mapped(ctx, m.backend, path)
}
