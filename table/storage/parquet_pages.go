package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// largestPage is the most that a page may hold uncompressed: what arrow-go
// takes at most by default, too.
const largestPage = 256 << 20

// largestHeader is the most that a page header may take, with its statistics.
const largestHeader = 16 << 20

// chunkPage is a page of a column chunk: its header, and where its body lies in
// the file.
type chunkPage struct {
	filemeta.PageHeader
	body int64
}

// largestOf is the most that one of the pages holds uncompressed.
func largestOf(pages []chunkPage) (largest int64) {
	for i := range pages {
		largest = max(largest, pages[i].Uncompressed)
	}
	return largest
}

// pagesOf walks the page headers of a column chunk before it is decoded.
// Sizes must fit the chunk, and compressed data must not claim to unpack to
// more than the header says: the decompressors allocate by that claim. What is
// in memory of the file is not read anew.
func (p *parquetFile) pagesOf(ctx context.Context, there *fetched, chunk *metadata.ColumnChunkMetaData, part, name string) (pages []chunkPage, err error) {
	fault := func(format string, args ...any) ([]chunkPage, error) {
		err := damaged(p.path, part, format, args...).(*Error)
		err.Name = name
		return nil, err
	}
	start, size := chunkSpan(chunk)
	values, buf := int64(0), []byte(nil)
	for at, end := start, start+size; at < end && values < chunk.NumValues(); {
		if err := canceled(ctx, p.path); err != nil {
			return nil, err
		}
		h, head, err := p.pageAt(there, &buf, at, end)
		if err != nil {
			return fault("page at offset %d: %v", at, err)
		}
		body := at + int64(h.Size)
		if h.Compressed > end-body || h.Uncompressed > largestPage || h.Levels > min(h.Compressed, h.Uncompressed) {
			return fault("page at offset %d claims %d bytes, %d uncompressed, where %d are left", at, h.Compressed, h.Uncompressed, end-body)
		}
		if h.Kind != 1 && !h.Plain {
			claim := unpacked(chunk.Compression(), head[min(h.Levels, int64(len(head))):])
			if claim > h.Uncompressed-h.Levels {
				return fault("page at offset %d: its data unpacks to %d bytes, its header says %d", at, claim, h.Uncompressed-h.Levels)
			}
		}
		if h.Kind == 0 || h.Kind == 3 {
			values += h.Values
		}
		pages = append(pages, chunkPage{h, body})
		at = body + h.Compressed
	}
	return pages, nil
}

// headBytes is how many bytes are read for a page header at first.
const headBytes = 1 << 12

// pageAt reads the header of the page at an offset and, as head, some bytes
// that follow it.
func (p *parquetFile) pageAt(there *fetched, buf *[]byte, at, end int64) (h filemeta.PageHeader, head []byte, err error) {
	if b := there.bytes(at, end-at); b != nil {
		if h, err = filemeta.ReadPageHeader(b[:min(largestHeader, len(b))]); err != nil {
			return h, nil, err
		}
		return h, b[h.Size:], nil
	}
	if *buf == nil {
		*buf = make([]byte, headBytes)
	}
	for {
		b := (*buf)[:min(int64(len(*buf)), end-at)]
		n, err := p.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return h, nil, err
		}
		h, err = filemeta.ReadPageHeader(b[:n])
		if err == nil {
			return h, b[h.Size:n], nil
		}
		if int64(n) == end-at || len(*buf) >= largestHeader {
			return h, nil, err
		}
		*buf = make([]byte, 4*len(*buf))
	}
}

// unpacked is how many bytes compressed data claims to become, 0 where its
// first bytes do not tell.
func unpacked(codec compress.Compression, b []byte) int64 {
	switch codec {
	case compress.Codecs.Snappy:
		if n, k := binary.Uvarint(b); k > 0 {
			return int64(min(n, 1<<62))
		}
	case compress.Codecs.Zstd:
		return zstdContent(b)
	}
	return 0
}

// zstdContent is the content size in a Zstandard frame header (RFC 8878,
// section 3.1.1.1), 0 where there is none.
func zstdContent(b []byte) int64 {
	if len(b) < 5 || binary.LittleEndian.Uint32(b) != 0xFD2FB528 {
		return 0
	}
	descriptor := b[4]
	at := 5
	if descriptor>>5&1 == 0 {
		at++ // window descriptor
	}
	at += []int{0, 1, 2, 4}[descriptor&3] // dictionary id
	width := []int{0, 2, 4, 8}[descriptor>>6]
	if width == 0 && descriptor>>5&1 == 1 {
		width = 1
	}
	if width == 0 || len(b) < at+width {
		return 0
	}
	raw := make([]byte, 8)
	copy(raw, b[at:at+width])
	n := binary.LittleEndian.Uint64(raw)
	if width == 2 {
		n += 256
	}
	return int64(min(n, 1<<62))
}
