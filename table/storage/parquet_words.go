package storage

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sort"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/bitpack"
	"github.com/volley-go/volley/memory"
)

// Words is where the values of a column of 32 bits go: that of row i to element
// i·Stride of To.
type Words struct {
	To     []uint32
	Stride int64
}

const (
	// wordRows is how many rows are decoded of wordColumns columns before they are laid
	// by rows: 32 KiB, since with fewer a dictionary is brought to the first-level cache
	// too often, and about as many as a run that writers pack has, 504.
	wordRows    = 512
	wordColumns = 16
	// Where a page's runs stand is remembered every markRows values.
	markRows = 2048
)

// errNotWords is what a row group fails of that is to be read as columns.
var errNotWords = errors.New("its values are not all words")

// WordGroup is a row group whose pages are in memory, uncompressed, and of which any
// rows can be decoded straight to where they are wanted: indices are unpacked and
// looked up by one loop, and what lies beside each other in rows is laid there by
// another. Its Read may be called from any goroutine.
//
// It is designed for what the processor does of a value: one and a half loads and as
// many stores for it and its index, all in the first-level cache, and a sixteenth of
// a store to its row. Types other than that of the words are converted once for each
// value of a dictionary.
type WordGroup struct {
	path, part string
	rows       int64
	columns    []wordColumn
	held       *memory.Buffer // pages and dictionaries, all in one: groups of a file are as large, so that one can have the memory of another
	room       []byte         // of it, yet to use
}

// wordColumn is a column of a WordGroup.
type wordColumn struct {
	name  string
	dict  []uint32 // with room for as many as the narrowest indices of them tell apart
	plain toWords
	width int64 // bytes of a plain value
	pages []wordPage
}

// wordPage is a page of data.
type wordPage struct {
	first, rows int64
	offset      int64    // in the file
	plain       []byte   // nil where there are runs
	marks       []hybrid // the runs at every markRows-th value
}

// words opens a row group for columns as they are given in as; nil where a column has
// nulls, or another encoding or type.
func (r *groupReader) words(ctx context.Context, as []arrow.DataType) (g *WordGroup, err error) {
	defer guard(r.file.path, rowGroup(r.g), &err)
	room := r.memory.borrow()
	defer r.memory.giveBack(room)
	r.checked = true // columns that arrow-go reads are none of words
	leaves, _, _, err := r.open(ctx)
	defer r.close()
	if err != nil || len(leaves) > 0 {
		return nil, err
	}
	one, ok := &WordGroup{path: r.file.path, part: rowGroup(r.g), rows: r.file.meta.RowGroup(r.g).NumRows()}, false
	defer func() {
		if !ok {
			one.Close()
		}
	}()
	size := int64(0)
	for _, c := range r.flat {
		size += c.wordsSize()
	}
	if one.held, err = memory.New(r.from, r.memory.sizeFor(size)); err != nil {
		return nil, inFile(one.path, one.part, err, nil)
	}
	one.room = one.held.Bytes()
	for k, c := range r.flat {
		if err := canceled(ctx, r.file.path); err != nil {
			return nil, err
		}
		err := one.addIn(ctx, room, c, as[k])
		if errors.Is(err, errNotWords) {
			return nil, nil
		}
		if err != nil {
			return nil, c.fault(err)
		}
	}
	ok = true
	return one, nil
}

// wordsSize is the room that a WordGroup needs for a column.
func (c *chunkReader) wordsSize() (size int64) {
	for i := range c.pages {
		switch p := &c.pages[i]; p.Kind {
		case pageData, pageDataV2:
			size += memory.Padded(p.Uncompressed + slack)
		case pageDictionary: // which has four bytes of a value at least
			size += memory.Padded(tableBytes(min(p.Values, p.Uncompressed/4)))
		}
	}
	return size
}

// tableBytes is the size of a dictionary of n words with room for as many as the
// narrowest indices of them tell apart: lookUp needs no comparison of each.
func tableBytes(n int64) int64 { return 4 << bits.Len64(uint64(max(n, 1)-1)) }

// take gives n bytes of the room.
func (g *WordGroup) take(n int64) []byte {
	b := g.room[:n:n]
	g.room = g.room[memory.Padded(n):]
	return b
}

// addIn is add of a column whose pages are read and unpacked in a room.
func (g *WordGroup) addIn(ctx context.Context, room *groupRoom, c *chunkReader, as arrow.DataType) error {
	c.packed, c.page = room.packed, room.page
	defer func() { room.packed, room.page, c.packed, c.page = c.packed, c.page, nil, nil }()
	return g.add(ctx, c, as)
}

// add reads the pages of a column and looks that they have as many values as the
// group has rows.
func (g *WordGroup) add(ctx context.Context, c *chunkReader, as arrow.DataType) error {
	column := wordColumn{name: c.name}
	_, bools := c.values.(*boolValues)
	if bools {
		if column.dict = boolWords(as); column.dict == nil {
			return errNotWords
		}
	} else {
		column.plain, column.width = toWordsOf(c.typ, as)
		if column.plain == nil {
			return errNotWords
		}
		c.values = &wordValues{c.values, g, &column}
	}
	c.into = g.take
	column.pages = make([]wordPage, 0, len(c.pages))
	room := make([]hybrid, 0, g.rows/markRows+int64(len(c.pages)))
	for at := int64(0); at < g.rows; {
		c.left = 0
		if err := c.turn(ctx); err != nil {
			return err
		}
		n := min(c.left, g.rows-at)
		if n <= 0 {
			continue
		}
		if c.optional {
			present, err := c.levels.ones(n)
			if err != nil {
				return fmt.Errorf("definition levels: %w", err)
			}
			if present < n {
				return errNotWords
			}
		}
		p, err := pageOf(&c.body, bools, column.width, n, &room)
		if err != nil {
			return err
		}
		p.first, p.offset = at, c.at
		column.pages = append(column.pages, p)
		at += n
	}
	g.columns = append(g.columns, column)
	return nil
}

// pageOf is a page with n values, whose marks go into room.
func pageOf(b *pageValues, bools bool, width, n int64, room *[]hybrid) (p wordPage, err error) {
	p.rows = n
	runs := b.runs
	switch {
	case b.coded:
	case bools:
		runs = hybrid{width: 1, packed: b.plain, left: 8 * int64(len(b.plain))}
	case int64(len(b.plain))/width < n:
		return p, errValuesEnd
	default:
		p.plain = b.plain
		return p, nil
	}
	from := len(*room)
	for at := int64(0); at < n; at += markRows {
		*room = append(*room, runs)
		if err := runs.skip(min(markRows, n-at)); err != nil {
			return p, err
		}
	}
	p.marks = (*room)[from:]
	return p, nil
}

// Rows is how many rows there are.
func (g *WordGroup) Rows() int64 { return g.rows }

// Bytes is the memory that is held.
func (g *WordGroup) Bytes() int64 { return g.held.Len() }

// Close gives the pages back. No Read may run.
func (g *WordGroup) Close() {
	g.held.Release()
	g.held, g.room, g.columns = nil, nil, nil
}

// wordCursor is how far a Read is in a column.
type wordCursor struct {
	page  int
	left  int64 // values of it
	runs  hybrid
	plain []byte
}

// wordRoom is what a Read works in.
type wordRoom struct {
	at    []wordCursor // of each column
	block [wordColumns * wordRows]uint32
}

// wordRooms are those that no Read uses.
var wordRooms = sync.Pool{New: func() any { return new(wordRoom) }}

// Read decodes n rows from row first on, of each column to its place. An index that
// the dictionary has not is an ErrFormat that names file, row group and column; some
// values are stored then.
func (g *WordGroup) Read(first, n int64, to []Words) (err error) {
	if len(to) != len(g.columns) || first < 0 || n < 0 || first > g.rows-n {
		return device.Errorf(device.ErrMismatch, "", "storage", "%d rows from row %d on of %d, into %d columns of %d", n, first, g.rows, len(to), len(g.columns))
	}
	for k, w := range to {
		if n > 0 && (w.Stride < 1 || int64(len(w.To)) < (n-1)*w.Stride+1) {
			return device.Errorf(device.ErrMismatch, "", "storage", "%d elements, every %d-th of them, for %d rows of column %q", len(w.To), w.Stride, n, g.columns[k].name)
		}
	}
	defer guard(g.path, g.part, &err)
	room := wordRooms.Get().(*wordRoom)
	defer wordRooms.Put(room)
	if len(room.at) < len(to) {
		room.at = make([]wordCursor, len(to))
	}
	defer clear(room.at) // which hold pages
	for row := int64(0); row < n; row += wordRows {
		for k := 0; k < len(to); {
			beside := besides(to[k:], n)
			if err := g.block(room, first, row, min(wordRows, n-row), to[k:k+beside], k); err != nil {
				return err
			}
			k += beside
		}
	}
	return nil
}

// besides is how many of the columns, one to wordColumns, lie beside each other in rows.
func besides(to []Words, rows int64) (n int) {
	room := int64(len(to[0].To)) - (rows-1)*to[0].Stride
	for n = 1; n < min(len(to), wordColumns); n++ {
		before, w := &to[n-1], &to[n]
		if int64(n) == min(room, w.Stride) || w.Stride != before.Stride || len(before.To) < 2 || &w.To[0] != &before.To[1] {
			return n
		}
	}
	return n
}

// block decodes rows, counted from the first that is read, of columns beside each other
// from column `from` on.
func (g *WordGroup) block(room *wordRoom, first, row, n int64, to []Words, from int) error {
	stride := to[0].Stride
	for i := range to {
		k := from + i
		c, at := &g.columns[k], &room.at[k]
		if row == 0 {
			if err := at.seek(c, first); err != nil {
				return g.fault(c, at, err)
			}
		}
		into := room.block[i*wordRows:][:n]
		if stride == 1 {
			into = to[i].To[row:][:n]
		}
		if err := at.read(c, into); err != nil {
			return g.fault(c, at, err)
		}
	}
	if stride > 1 {
		bitpack.Best().Rows(to[0].To[row*stride:], int(stride), room.block[:], wordRows, len(to), int(n))
	}
	return nil
}

func (g *WordGroup) fault(c *wordColumn, at *wordCursor, err error) error {
	return &Error{Path: g.path, Part: g.part, Name: c.name, Kind: ErrFormat, Text: fmt.Sprintf("page at offset %d", c.pages[at.page].offset), Cause: err}
}

// seek goes to a row.
func (at *wordCursor) seek(c *wordColumn, row int64) error {
	at.page = sort.Search(len(c.pages)-1, func(i int) bool { return c.pages[i+1].first > row })
	p := &c.pages[at.page]
	row -= p.first
	at.left = p.rows - row
	if at.plain = p.plain; p.plain != nil {
		at.plain = p.plain[row*c.width:]
		return nil
	}
	at.runs = p.marks[row/markRows]
	return at.runs.skip(row % markRows)
}

// read stores the next values, which are there.
func (at *wordCursor) read(c *wordColumn, to []uint32) error {
	for {
		k := min(int64(len(to)), at.left)
		if at.plain != nil {
			c.plain(to[:k], at.plain)
			at.plain = at.plain[k*c.width:]
		} else if err := lookUp(&at.runs, c.dict, to[:k]); err != nil {
			return err
		}
		at.left -= k
		if to = to[k:]; len(to) == 0 {
			return nil
		}
		at.page++
		p := &c.pages[at.page]
		at.left, at.plain = p.rows, p.plain
		if p.plain == nil {
			at.runs = p.marks[0]
		}
	}
}
