package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The codecs of Arrow IPC.
const (
	ipcLZ4  = 0
	ipcZstd = 1
)

var errFrameEnd = errors.New("its compressed bytes end before they should")

// zstdDecoders keep their tables and window from buffer to buffer. They work in
// the goroutine that calls them.
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	return d
}}

var lz4Decoders = sync.Pool{New: func() any { return lz4.NewReader(nil) }}

// unpackWhole decodes packed into to, which it fills to its length and no
// further: what is decoded must be as long as that, packed must end where its
// frame does, and checksums that are there must agree.
func unpackWhole(codec int64, packed, to []byte) error {
	if codec == ipcZstd {
		d, ok := zstdDecoders.Get().(*zstd.Decoder)
		if !ok {
			return errors.New("the decoder of zstd cannot be made")
		}
		defer zstdDecoders.Put(d)
		got, err := d.DecodeAll(packed, to[:0:len(to)])
		switch {
		case errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return fmt.Errorf("it unpacks to more than the %d bytes that it announces", len(to))
		case err != nil:
			return plainly(err)
		case len(got) != len(to):
			return fmt.Errorf("it unpacks to %d bytes and announces %d", len(got), len(to))
		case len(got) > 0 && &got[0] != &to[0]:
			copy(to, got)
		}
		return nil
	}
	return unpackStream(context.Background(), codec, packed, int64(len(to)), func(from, n int64) []byte { return to[from : from+n] })
}

// unpackStream is unpackWhole of n bytes that are too many to be decoded in one
// go: room gives the place of each part of them when its turn comes.
func unpackStream(ctx context.Context, codec int64, packed []byte, n int64, room func(from, n int64) []byte) error {
	var r io.Reader
	switch codec {
	case ipcZstd:
		d, ok := zstdDecoders.Get().(*zstd.Decoder)
		if !ok {
			return errors.New("the decoder of zstd cannot be made")
		}
		defer zstdDecoders.Put(d)
		if err := d.Reset(bytes.NewReader(packed)); err != nil {
			return plainly(err)
		}
		r = d
	default:
		if err := checkLZ4(packed, n); err != nil {
			return err
		}
		d := lz4Decoders.Get().(*lz4.Reader)
		defer lz4Decoders.Put(d)
		d.Reset(bytes.NewReader(packed))
		r = d
	}
	for at := int64(0); at < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		got, err := io.ReadFull(r, room(at, min(readStep, n-at)))
		at += int64(got)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("it unpacks to %d bytes and announces %d", at, n)
		}
		if err != nil {
			return plainly(err)
		}
	}
	switch got, err := io.ReadFull(r, make([]byte, 1)); { // also what makes the decoders compare checksums
	case got > 0:
		return fmt.Errorf("it unpacks to more than the %d bytes that it announces", n)
	case !errors.Is(err, io.EOF):
		return plainly(err)
	}
	return nil
}

// plainly says what the decoders' errors mean.
func plainly(err error) error {
	switch {
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, lz4.ErrInvalidFrameChecksum), errors.Is(err, lz4.ErrInvalidBlockChecksum), errors.Is(err, lz4.ErrInvalidHeaderChecksum):
		return errors.New("its checksum says that it is damaged")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errFrameEnd
	}
	return err
}

// checkLZ4 walks a frame of LZ4 (github.com/lz4/lz4, doc/lz4_Frame_format.md):
// its decoder takes the end of the bytes for the end of the frame, where that
// has a mark.
func checkLZ4(b []byte, content int64) error {
	if len(b) < 7 {
		return errFrameEnd
	}
	flags := b[4]
	if binary.LittleEndian.Uint32(b) != 0x184D2204 || flags>>6 != 1 {
		return errors.New("it is no frame of LZ4")
	}
	at := 7 // behind the flags, the size of blocks, and the header's own checksum
	if flags&1 != 0 {
		return errors.New("its frame of LZ4 wants a dictionary")
	}
	if flags&8 != 0 {
		at += 8
		if len(b) < at {
			return errFrameEnd
		}
		if n := binary.LittleEndian.Uint64(b[6:]); n != uint64(content) {
			return fmt.Errorf("its frame has %d bytes and it announces %d", n, content)
		}
	}
	for {
		if len(b)-at < 4 {
			return errFrameEnd
		}
		size := int(binary.LittleEndian.Uint32(b[at:]) &^ (1 << 31))
		mark := binary.LittleEndian.Uint32(b[at:]) == 0
		if at += 4; mark {
			break
		}
		if flags&16 != 0 { // each block has a checksum
			size += 4
		}
		if size > len(b)-at {
			return errFrameEnd
		}
		at += size
	}
	if flags&4 != 0 { // the frame has one
		at += 4
	}
	switch {
	case at > len(b):
		return errFrameEnd
	case at < len(b):
		return fmt.Errorf("%d bytes follow the end of its frame", len(b)-at)
	}
	return nil
}
