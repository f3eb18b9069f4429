package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/volley-go/volley/memory"
)

var errLevelsEnd = errors.New("its definition levels are longer than it")

// turn goes on to the next page and finds its levels and values.
func (c *chunkReader) turn(ctx context.Context) error {
	if len(c.pages) == 0 {
		return damaged(c.file.path, c.part, "column %q: its pages do not hold the rows that it should have", c.name)
	}
	p := &c.pages[0]
	c.pages = c.pages[1:]
	if p.Kind == pageIndex {
		return nil
	}
	c.at = p.body - int64(p.Size)
	b, err := c.load(ctx, p)
	if err != nil {
		return err
	}
	if p.Kind == pageDictionary {
		c.dict = true
		if c.plainly == nil {
			return c.values.dictionary(b, p.Values, &c.page)
		}
		if b, err = c.plainly(b); err != nil {
			return err
		}
		var elsewhere *memory.Buffer
		return c.values.dictionary(b, p.Values, &elsewhere)
	}
	c.left = p.Values
	if c.optional {
		n, from := p.Levels, int64(0)
		if p.Kind == pageData {
			if len(b) < 4 {
				return errLevelsEnd
			}
			n, from = int64(binary.LittleEndian.Uint32(b)), 4
		}
		if n > int64(len(b))-from {
			return errLevelsEnd
		}
		c.levels, b = newHybrid(b[from:from+n], 1), b[from+n:]
	} else {
		b = b[min(p.Levels, int64(len(b))):]
	}
	return c.begin(p, b)
}

// begin makes the values of a data page ready.
func (c *chunkReader) begin(p *chunkPage, b []byte) error {
	_, bools := c.values.(*boolValues)
	switch p.Encoding {
	case encodingPlain, encodingDeltaBinary, encodingDeltaLengths, encodingDeltaBytes:
		if err := c.plain(p, &b); err != nil {
			return err
		}
		c.body = pageValues{plain: b, average: int64(len(b))/max(p.Values, 1) + 1}
		return nil
	case encodingRLE:
		if !bools {
			return errors.New("only bools may be written in runs")
		}
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b))-4 {
			return errValuesEnd
		}
		c.body = pageValues{coded: true, runs: newHybrid(b[4:4+binary.LittleEndian.Uint32(b)], 1)}
		return nil
	}
	if !c.dict || bools {
		return errNoDictionary
	}
	if len(b) == 0 { // a page of nulls
		c.body = pageValues{coded: true, runs: newHybrid(b, 0)}
		return nil
	}
	if b[0] > 32 {
		return fmt.Errorf("indices of %d bits", b[0])
	}
	c.body = pageValues{coded: true, runs: newHybrid(b[1:], uint(b[0]))}
	return nil
}

// check holds a page's body, as it lies in the file, against its checksum, if its writer
// has put one there.
func (p *chunkPage) check(body []byte) error {
	if p.Summed && crc32.ChecksumIEEE(body) != p.Sum {
		return errors.New("it is not what its checksum says")
	}
	return nil
}

// load reads the body of a page and gives it uncompressed, levels in front,
// with slack bytes of capacity behind. It is good until the next.
func (c *chunkReader) load(ctx context.Context, p *chunkPage) ([]byte, error) {
	var page []byte
	var err error
	if n := p.Uncompressed; c.into != nil && p.Kind != pageDictionary {
		page = c.into(n + slack)[:n]
	} else if page, err = roomIn(&c.page, c.from, n); err != nil {
		return nil, err
	}
	in := &until{ctx: ctx, in: c.file.input}
	if c.codec == nil || p.Plain {
		if p.Compressed != p.Uncompressed {
			return nil, fmt.Errorf("%d bytes that are not compressed should be %d", p.Compressed, p.Uncompressed)
		}
		if b := c.there.bytes(p.body, p.Compressed); b != nil {
			copy(page, b)
		} else if _, err := in.ReadAt(page, p.body); err != nil {
			return nil, err
		}
		return page, p.check(page)
	}
	packed := c.there.bytes(p.body, p.Compressed)
	if packed == nil {
		if packed, err = roomIn(&c.packed, c.from, p.Compressed); err != nil {
			return nil, err
		}
		if _, err := in.ReadAt(packed, p.body); err != nil {
			return nil, err
		}
	}
	if err := p.check(packed); err != nil {
		return nil, err
	}
	copy(page, packed[:p.Levels])
	want := page[p.Levels:]
	if len(want) == 0 { // nothing but levels; not every codec takes no bytes for no bytes
		return page, nil
	}
	// Of a decoder's room a part is beyond the page, so that it may take its
	// fast way to the end.
	got, err := compress.Decode(c.codec, want, packed[p.Levels:])
	if err != nil {
		return nil, err
	}
	if len(got) != len(want) {
		return nil, fmt.Errorf("it unpacks to %d bytes, its header says %d", int64(len(got))+p.Levels, p.Uncompressed)
	}
	if len(got) > 0 && &got[0] != &want[0] {
		copy(want, got)
	}
	return page, nil
}
