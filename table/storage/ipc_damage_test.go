package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/volley-go/volley/table/storage/internal/filemeta"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// countedBackend is a backend on the host whose memory is counted.
func countedBackend(t *testing.T) *kernels.Backend {
	t.Helper()
	counted := memory.NewCounted(memory.Heap)
	b, err := cpu.New(host.New(host.WithAllocator(counted)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), counted.Check()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// smallRecord has numbers, nulls, texts, lists and a dictionary.
func smallRecord(t *testing.T, rows int) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "number", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "colour", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	}, nil)
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, `{"number": %d, "text": "text of row %d", "list": [%d, null, 7], "colour": "colour %d"}`+"\n", i*i, i, i, i%3)
		if i%10 == 3 {
			fmt.Fprintln(&text, `{"number": null, "text": null, "list": null, "colour": null}`)
		}
	}
	rec, err := array.NewRecordBuilder(arrowmem.DefaultAllocator, schema), error(nil)
	defer rec.Release()
	for _, line := range strings.Split(strings.TrimSpace(text.String()), "\n") {
		if err = rec.UnmarshalJSON([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	return rec.NewRecordBatch()
}

// ipcBytes writes a record as a file or stream.
func ipcBytes(t *testing.T, rec arrow.RecordBatch, stream bool, options ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	options = append(options, ipc.WithSchema(rec.Schema()))
	var w ipcWriter = ipc.NewWriter(&out, options...)
	if !stream {
		f, err := ipc.NewFileWriter(&out, options...)
		if err != nil {
			t.Fatal(err)
		}
		w = f
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// valuesOf reads a file and gives its schema and values as text.
func valuesOf(b *kernels.Backend, path string, o IPCReadOptions) (string, error) {
	got, err := Read(context.Background(), b, IPC(path).With(o), ReadOptions{})
	if err != nil {
		return "", err
	}
	defer got.Release()
	var text strings.Builder
	fmt.Fprintln(&text, got.Schema())
	for _, c := range got.Chunks() {
		for i := range c.NumColumns() {
			if err := c.Column(i).Validate(); err != nil {
				return "", fmt.Errorf("handed out: %w", err)
			}
			a, err := memory.ToArrow(c.Column(i))
			if err != nil {
				return "", err
			}
			json, err := a.MarshalJSON()
			a.Release()
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&text, "%s\n", json)
		}
	}
	return text.String(), nil
}

// damagedFile writes bytes, and says what reading gives.
func damagedFile(t *testing.T, b *kernels.Backend, path string, content []byte) (string, error) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := valuesOf(b, path, IPCReadOptions{})
	if err != nil && (!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "runtime error") || strings.Contains(err.Error(), "handed out")) {
		t.Errorf("the error names no file or shows a decoder's panic: %v", err)
	}
	return got, err
}

// schemaEnd is where the schema message of a stream ends: nothing in a stream tells
// whether a name or type in it is damaged.
func schemaEnd(whole []byte) int { return 8 + int(binary.LittleEndian.Uint32(whole[4:])) }

// withChecksums is a stream of LZ4 whose frames have checksums of their contents, as
// arrow-go does not write them and others may.
func withChecksums(t *testing.T, whole []byte) []byte {
	t.Helper()
	out := bytes.Clone(whole[:schemaEnd(whole)])
	for at := len(out); ; {
		n := int(binary.LittleEndian.Uint32(whole[at+4:]))
		if n == 0 {
			return append(out, whole[at:]...)
		}
		meta := bytes.Clone(whole[at+8 : at+8+n])
		kind, size, _ := filemeta.CheckMessage(meta)
		packed := whole[at+8+n:][:size]
		b, err := bodyOf(meta, kind, size)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		for _, one := range b.buffers {
			start := body.Len()
			if one.size > 0 {
				content := make([]byte, binary.LittleEndian.Uint64(packed[one.offset:]))
				if err := unpackWhole(ipcLZ4, packed[one.offset+8:one.offset+one.size], content); err != nil {
					t.Fatal(err)
				}
				body.Write(packed[one.offset:][:8])
				w := lz4.NewWriter(&body)
				if err := w.Apply(lz4.ChecksumOption(true)); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(content); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			binary.LittleEndian.PutUint64(meta[one.at:], uint64(start))
			binary.LittleEndian.PutUint64(meta[one.at+8:], uint64(body.Len()-start))
			body.Write(make([]byte, -body.Len()&7))
		}
		w := filemeta.NewFlatWalk(meta)
		binary.LittleEndian.PutUint64(meta[w.Field(w.U32(0), 3):], uint64(body.Len()))
		out = append(append(append(out, whole[at:at+8]...), meta...), body.Bytes()...)
		at += 8 + n + int(size)
	}
}

// TestIPCFlips flips every bit of small files, one at a time. What is read without an
// error must be what was written.
func TestIPCFlips(t *testing.T) {
	b := countedBackend(t)
	rec := smallRecord(t, 12)
	defer rec.Release()
	zstdStream := ipcBytes(t, rec, true, ipc.WithZstd())
	for name, whole := range map[string][]byte{
		"zstd.arrow":          ipcBytes(t, rec, false, ipc.WithZstd()),
		"zstd.arrows":         zstdStream,
		"lz4-checksums.arrow": withChecksums(t, ipcBytes(t, rec, true, ipc.WithLZ4())),
	} {
		path := filepath.Join(t.TempDir(), name)
		want, err := damagedFile(t, b, path, whole)
		if err != nil {
			t.Fatal(name, err)
		}
		first := 0
		if whole[0] == 0xff {
			first = schemaEnd(whole)
		}
		step := 1
		if backends.Brief() {
			step = 7
		}
		refused, fine := 0, 0
		for bit := 8 * first; bit < 8*len(whole); bit += step {
			damaged := bytes.Clone(whole)
			damaged[bit/8] ^= 1 << (bit % 8)
			got, err := damagedFile(t, b, path, damaged)
			switch {
			case err != nil:
				refused++
			case got != want:
				t.Errorf("%s: with bit %d of byte %d flipped, other values are read:\n%.200s", name, bit%8, bit/8, got)
			default:
				fine++
			}
		}
		t.Logf("%s: %d flips refused, %d in what does not matter", name, refused, fine)
	}
}

// TestIPCFlipsWithoutChecksums: of values in LZ4 as others write it no flip can be
// told, but lengths and ends can, and nothing else breaks.
func TestIPCFlipsWithoutChecksums(t *testing.T) {
	b := countedBackend(t)
	rec := smallRecord(t, 20)
	defer rec.Release()
	whole := ipcBytes(t, rec, false, ipc.WithLZ4())
	path := filepath.Join(t.TempDir(), "lz4.arrow")
	step := 1
	if backends.Brief() {
		step = 7
	}
	for bit := 0; bit < 8*len(whole); bit += step {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		damagedFile(t, b, path, damaged) // looks at what is read and at the error
	}
}

// TestIPCCut cuts small files at every byte.
func TestIPCCut(t *testing.T) {
	b := countedBackend(t)
	rec := smallRecord(t, 20)
	defer rec.Release()
	for name, option := range map[string]ipc.Option{"zstd.arrow": ipc.WithZstd(), "lz4.arrow": ipc.WithLZ4()} {
		whole := ipcBytes(t, rec, false, option)
		path := filepath.Join(t.TempDir(), name)
		for n := range whole {
			if _, err := damagedFile(t, b, path, whole[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes are read as a file", name, n, len(whole))
			}
		}
	}
}

// TestFrames gives the decoders frames that are cut short, too long, followed by
// something, or damaged, of a size that is unpacked at once and of one that is not.
func TestFrames(t *testing.T) {
	for _, size := range []int{100, readStep + 1000} {
		content := bytes.Repeat([]byte("some bytes "), size/11+1)[:size]
		var packed bytes.Buffer
		w := lz4.NewWriter(&packed)
		if err := w.Apply(lz4.ChecksumOption(true)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		for codec, frame := range map[int64][]byte{ipcLZ4: packed.Bytes(), ipcZstd: z.EncodeAll(content, nil)} {
			unpack := func(frame []byte, n int) ([]byte, error) {
				to := make([]byte, n)
				if n <= readStep {
					return to, unpackWhole(codec, frame, to)
				}
				return to, unpackStream(context.Background(), codec, frame, int64(n), func(from, n int64) []byte { return to[from : from+n] })
			}
			if got, err := unpack(frame, size); err != nil || !bytes.Equal(got, content) {
				t.Errorf("codec %d, %d bytes: %v", codec, size, err)
			}
			for _, n := range []int{size - 1, size + 1, 1, 2 * size} {
				if _, err := unpack(frame, n); err == nil {
					t.Errorf("codec %d: %d bytes are unpacked as %d", codec, size, n)
				}
			}
			for _, n := range []int{0, 1, 4, 6, len(frame) / 2, len(frame) - 5, len(frame) - 4, len(frame) - 1} {
				if _, err := unpack(frame[:n], size); err == nil {
					t.Errorf("codec %d: %d of %d bytes of a frame are unpacked", codec, n, len(frame))
				}
			}
			for _, more := range [][]byte{{0}, {0, 0, 0, 0}, frame} {
				if _, err := unpack(append(bytes.Clone(frame), more...), size); err == nil {
					t.Errorf("codec %d: %d bytes behind a frame are passed over", codec, len(more))
				}
			}
			for i := range frame {
				if len(frame) > 1000 && i > 64 && i < len(frame)-64 && i%97 != 0 {
					continue
				}
				damaged := bytes.Clone(frame)
				damaged[i] ^= 0x10
				if got, err := unpack(damaged, size); err == nil && !bytes.Equal(got, content) {
					t.Errorf("codec %d: damage at byte %d of a frame of %d bytes gives other bytes", codec, i, len(frame))
				}
			}
		}
	}
}

// announcing is a stream of one column whose values announce other bytes than they are.
func announcing(t *testing.T, option ipc.Option, rows int, announced int64) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "zeros", Type: arrow.PrimitiveTypes.Int64}}, nil)
	values := array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, rows, []*arrowmem.Buffer{nil, arrowmem.NewBufferBytes(make([]byte, 8*rows))}, nil, 0, 0))
	rec := array.NewRecordBatch(schema, []arrow.Array{values}, int64(rows))
	defer rec.Release()
	values.Release()
	whole := ipcBytes(t, rec, true, option)
	if announced > 0 {
		at := schemaEnd(whole)
		at += 8 + int(binary.LittleEndian.Uint32(whole[at+4:]))
		binary.LittleEndian.PutUint64(whole[at:], uint64(announced)) // what the first buffer begins with
	}
	return whole
}

// TestIPCAnnounced reads batches that announce far more than they hold, or than their
// compressed bytes may become: nothing is allocated by that.
func TestIPCAnnounced(t *testing.T) {
	for name, option := range map[string]ipc.Option{"zstd": ipc.WithZstd(), "lz4": ipc.WithLZ4()} {
		limited := memory.NewCounted(memory.NewLimited(memory.Heap, 64<<20))
		b, err := cpu.New(host.New(host.WithAllocator(limited)))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name+".arrows")
		read := func(content []byte, o IPCReadOptions) error {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := valuesOf(b, path, o)
			return err
		}
		if err := read(announcing(t, option, 1000, 1<<40), IPCReadOptions{}); !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "1099511627776") || !strings.Contains(err.Error(), "MaxUnpacked") {
			t.Errorf("%s: a terabyte is announced: %v", name, err)
		}
		// below the bound of 256 MiB, and more than the limit has room for
		if err := read(announcing(t, option, 1000, 200<<20), IPCReadOptions{}); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "209715200") {
			t.Errorf("%s: 200 MiB are announced for 8,000 bytes: %v", name, err)
		}
		if err := read(announcing(t, option, 1000, -5), IPCReadOptions{}); err != nil {
			t.Errorf("%s: nothing is changed: %v", name, err)
		}
		if err := read(announcing(t, option, 100_000, 0), IPCReadOptions{MaxUnpacked: 1000}); !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "800000") {
			t.Errorf("%s: a bound by option: %v", name, err)
		}
		if err := read(announcing(t, option, 100_000, 0), IPCReadOptions{MaxUnpacked: 800_000}); err != nil {
			t.Errorf("%s: a bound that is just enough: %v", name, err)
		}
		if err := read(announcing(t, option, 100, 0), IPCReadOptions{MaxUnpacked: -1}); !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%s: a negative bound: %v", name, err)
		}
		if err := errors.Join(b.Close(), limited.Check()); err != nil {
			t.Error(err)
		}
	}
}

// TestIPCGrows reads a batch of more than the room that its compressed bytes would
// suggest, which grows as it is unpacked.
func TestIPCGrows(t *testing.T) {
	b := countedBackend(t)
	for name, option := range map[string]ipc.Option{"zstd": ipc.WithZstd(), "lz4": ipc.WithLZ4()} {
		path := filepath.Join(t.TempDir(), name+".arrows")
		if err := os.WriteFile(path, announcing(t, option, 2_000_000, 0), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(context.Background(), b, IPC(path), ReadOptions{})
		if err != nil {
			t.Fatal(name, err)
		}
		rows := int64(0)
		for _, c := range got.Chunks() {
			values, err := memory.ToArrow(c.Column(0))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values.(*array.Int64).Int64Values() {
				if v != 0 {
					t.Fatal(name, "a zero became", v)
				}
			}
			values.Release()
			rows += c.Len()
		}
		if rows != 2_000_000 {
			t.Errorf("%s: %d rows", name, rows)
		}
		got.Release()
	}
}

// TestIPCMultiplied reads columns whose values are many times what is in the file: views of
// the same bytes, and lists of a fixed size whose items take none.
func TestIPCMultiplied(t *testing.T) {
	b := countedBackend(t)
	long := bytes.Repeat([]byte("x"), 1<<20)
	var views []byte
	for range 2000 {
		views = binary.LittleEndian.AppendUint32(views, uint32(len(long)))
		views = append(views, "xxxx\x00\x00\x00\x00\x00\x00\x00\x00"...)
	}
	nothing := array.NewNull(1 << 28)
	defer nothing.Release()
	lists := arrow.FixedSizeListOf(1, arrow.Null)
	for name, d := range map[string]arrow.ArrayData{
		"views": array.NewData(arrow.BinaryTypes.StringView, 2000, []*arrowmem.Buffer{nil, arrowmem.NewBufferBytes(views), arrowmem.NewBufferBytes(long)}, nil, 0, 0),
		"lists": array.NewData(lists, 1<<28, []*arrowmem.Buffer{nil}, []arrow.ArrayData{nothing.Data()}, 0, 0),
	} {
		column := array.MakeFromData(d)
		rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: d.DataType()}}, nil), []arrow.Array{column}, int64(column.Len()))
		path := filepath.Join(t.TempDir(), name+".arrow")
		if err := os.WriteFile(path, ipcBytes(t, rec, false), 0o600); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		column.Release()
		_, err := Read(context.Background(), b, IPC(path), ReadOptions{})
		if !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
