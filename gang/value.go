package gang

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// Blob is a value that was encoded elsewhere, such as by Python's pickle: it goes as it is.
type Blob struct {
	Codec string
	Data  []byte
}

// The kinds of values. What can be sent is nil, bool, integers, float64, string, []byte, *table.Table, Ref, Blob, and []any and
// map[string]any of these.
const (
	isNil byte = iota
	isFalse
	isTrue
	isInt
	isFloat
	isString
	isBytes
	isTable
	isRef
	isBlob
	isList
	isMap
)

// deepest bounds lists within lists.
const deepest = 64

func appendBytes[T string | []byte](b []byte, v T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

// encode appends a value.
func encode(ctx context.Context, b []byte, v any, depth int) ([]byte, error) {
	if depth > deepest {
		return nil, device.Errorf(device.ErrMismatch, "", "gang", "lists within lists, %d deep", depth)
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, isNil), nil
	case bool:
		if v {
			return append(b, isTrue), nil
		}
		return append(b, isFalse), nil
	case int:
		return binary.AppendVarint(append(b, isInt), int64(v)), nil
	case int32:
		return binary.AppendVarint(append(b, isInt), int64(v)), nil
	case int64:
		return binary.AppendVarint(append(b, isInt), v), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, isFloat), math.Float64bits(v)), nil
	case string:
		return appendBytes(append(b, isString), v), nil
	case []byte:
		return appendBytes(append(b, isBytes), v), nil
	case *table.Table:
		var text bytes.Buffer
		if err := storage.WriteIPCTo(ctx, v, &text, storage.IPCOptions{Stream: true}); err != nil {
			return nil, err
		}
		return appendBytes(append(b, isTable), text.Bytes()), nil
	case Ref:
		return appendBytes(append(b, isRef), v.String()), nil
	case Blob:
		return appendBytes(appendBytes(append(b, isBlob), v.Codec), v.Data), nil
	case []any:
		b = binary.AppendUvarint(append(b, isList), uint64(len(v)))
		for _, x := range v {
			if b, err = encode(ctx, b, x, depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	case map[string]any:
		b = binary.AppendUvarint(append(b, isMap), uint64(len(v)))
		for k, x := range v {
			if b, err = encode(ctx, appendBytes(b, k), x, depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return nil, device.Errorf(device.ErrUnsupported, "", "gang", "a value of type %T cannot be sent: nil, bool, int, int64, float64, string, []byte, *table.Table, Ref, Blob, []any and map[string]any can", v)
}

// decoder takes values apart.
type decoder struct {
	ctx     context.Context
	backend *kernels.Backend
	rest    []byte
}

var errValue = fmt.Errorf("%w: bytes that are no value", device.ErrMismatch)

func (d *decoder) number() (uint64, error) {
	n, k := binary.Uvarint(d.rest)
	if k <= 0 {
		return 0, errValue
	}
	d.rest = d.rest[k:]
	return n, nil
}

func (d *decoder) bytes() ([]byte, error) {
	n, err := d.number()
	if err != nil || n > uint64(len(d.rest)) {
		return nil, errValue
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b, nil
}

func (d *decoder) value(depth int) (any, error) {
	if len(d.rest) == 0 || depth > deepest {
		return nil, errValue
	}
	is := d.rest[0]
	d.rest = d.rest[1:]
	switch is {
	case isNil:
		return nil, nil
	case isFalse, isTrue:
		return is == isTrue, nil
	case isInt:
		n, k := binary.Varint(d.rest)
		if k <= 0 {
			return nil, errValue
		}
		d.rest = d.rest[k:]
		return n, nil
	case isFloat:
		if len(d.rest) < 8 {
			return nil, errValue
		}
		bits := binary.LittleEndian.Uint64(d.rest)
		d.rest = d.rest[8:]
		return math.Float64frombits(bits), nil
	case isList:
		return d.list(depth)
	case isMap:
		return d.mapping(depth)
	}
	return d.long(is)
}

// long is a value that has its length in front.
func (d *decoder) long(is byte) (any, error) {
	b, err := d.bytes()
	if err != nil {
		return nil, err
	}
	switch is {
	case isString:
		return string(b), nil
	case isBytes:
		return b, nil
	case isTable:
		return readTable(d.backend, b)
	case isRef:
		return ParseRef(string(b))
	case isBlob:
		data, err := d.bytes()
		return Blob{string(b), data}, err
	}
	return nil, errValue
}

func (d *decoder) list(depth int) (any, error) {
	n, err := d.number()
	if err != nil || n > uint64(len(d.rest)) {
		return nil, errValue
	}
	all := make([]any, n)
	for i := range all {
		if all[i], err = d.value(depth + 1); err != nil {
			release(all[:i])
			return nil, err
		}
	}
	return all, nil
}

func (d *decoder) mapping(depth int) (any, error) {
	n, err := d.number()
	if err != nil || n > uint64(len(d.rest)) {
		return nil, errValue
	}
	all := make(map[string]any, n)
	for range n {
		k, err := d.bytes()
		if err == nil {
			all[string(k)], err = d.value(depth + 1)
		}
		if err != nil {
			release(all)
			return nil, err
		}
	}
	return all, nil
}

// decode is a value that is all of the bytes.
func decode(ctx context.Context, backend *kernels.Backend, b []byte) (any, error) {
	d := decoder{ctx, backend, b}
	v, err := d.value(0)
	if err == nil && len(d.rest) > 0 {
		release(v)
		err = errValue
	}
	return v, err
}

// release drops the tables of a value.
func release(v any) {
	switch v := v.(type) {
	case *table.Table:
		v.Release()
	case []any:
		for _, x := range v {
			release(x)
		}
	case map[string]any:
		for _, x := range v {
			release(x)
		}
	}
}

// plain is the value with the types that it has on another member.
func plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case []any:
		all := make([]any, len(v))
		for i, x := range v {
			all[i] = plain(x)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for k, x := range v {
			all[k] = plain(x)
		}
		return all
	}
	return v
}

// retain is the value for another holder.
func retain(v any) any {
	switch v := v.(type) {
	case *table.Table:
		v.Retain()
	case []any:
		for _, x := range v {
			retain(x)
		}
	case map[string]any:
		for _, x := range v {
			retain(x)
		}
	}
	return v
}

// readTable reads the streaming format.
func readTable(backend *kernels.Backend, b []byte) (_ *table.Table, err error) {
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errValue, err)
	}
	defer r.Release()
	var chunks []*table.Batch
	for r.Next() {
		c, err := table.BatchOf(r.RecordBatch())
		if err != nil {
			releaseAll(chunks)
			return nil, err
		}
		chunks = append(chunks, c)
	}
	if err := r.Err(); err != nil {
		releaseAll(chunks)
		return nil, fmt.Errorf("%w: %w", errValue, err)
	}
	return table.NewTable(backend, r.Schema(), chunks)
}

func releaseAll(chunks []*table.Batch) {
	for _, c := range chunks {
		c.Release()
	}
}
