package storage

import (
	"context"
	"fmt"
	"math/bits"
	"sort"

	"github.com/volley-go/volley/memory"
)

// seek goes on to a row: pages before it are not read.
func (c *chunkReader) seek(ctx context.Context, row int64) error {
	if row < c.row {
		return damaged(c.file.path, c.part, "internal error: column %q is at row %d, before row %d", c.name, c.row, row)
	}
	return c.leave(ctx, row-c.row)
}

// leave leaves out n rows.
func (c *chunkReader) leave(ctx context.Context, n int64) error {
	for n > 0 {
		if c.left == 0 {
			if k := c.whole(n); k > 0 {
				n -= k
			} else if err := c.turn(ctx); err != nil {
				return c.fault(err)
			}
			continue
		}
		k := min(c.left, n)
		if err := c.leaveOf(k); err != nil {
			return c.fault(err)
		}
		n -= k
	}
	return nil
}

// leaveOf leaves out rows of the page at hand.
func (c *chunkReader) leaveOf(n int64) (err error) {
	present := n
	if c.optional {
		if present, err = c.levels.ones(n); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
	}
	c.left, c.row = c.left-n, c.row+n
	return c.values.skip(&c.body, present)
}

// whole leaves out the next pages of data as long as they have no more than n rows together,
// and gives how many these have. A dictionary waits until a page that is read needs it.
func (c *chunkReader) whole(n int64) (rows int64) {
	for len(c.pages) > 0 {
		at := 0
		if c.pages[0].Kind == pageDictionary && len(c.pages) > 1 {
			at = 1
		}
		p := &c.pages[at]
		switch {
		case p.Kind == pageIndex:
		case p.Kind == pageDictionary || p.Values > n-rows:
			return rows
		default:
			rows, c.row = rows+p.Values, c.row+p.Values
		}
		c.pages[at] = c.pages[0]
		c.pages = c.pages[1:]
	}
	return rows
}

// picked is the column of those of the next rows whose numbers are in sel, which rise.
func (c *chunkReader) picked(ctx context.Context, rows int64, sel []int32) (_ *memory.Column, err error) {
	var bitmap *memory.Buffer
	defer func() { bitmap.Release() }()
	n := int64(len(sel))
	if c.optional {
		if bitmap, err = memory.NewZeroed(c.from, memory.BitmapBytes(n)); err != nil {
			return nil, c.fault(err)
		}
	}
	if err := c.values.begin(n); err != nil {
		return nil, c.fault(err)
	}
	at, done, nulls := int64(0), int64(0), int64(0)
	for done < n {
		if c.left == 0 {
			if k := c.whole(int64(sel[done]) - at); k > 0 {
				at += k
			} else if err := c.turn(ctx); err != nil {
				return nil, c.fault(err)
			}
			continue
		}
		k := min(c.left, rows-at)
		part := sel[done:]
		part = part[:sort.Search(len(part), func(i int) bool { return int64(part[i]) >= at+k })]
		if len(part) == 0 {
			err = c.leaveOf(k)
		} else {
			var none int64
			none, err = c.pickOf(k, at, done, part, bitmap)
			nulls += none
		}
		if err != nil {
			return nil, c.fault(err)
		}
		at, done = at+k, done+int64(len(part))
	}
	if err := c.leave(ctx, rows-at); err != nil {
		return nil, err
	}
	return c.column(n, nulls, &bitmap)
}

// pickOf takes chosen rows of the next k of the page at hand, which are from row `first` on of
// the batch, and puts them at row `to`. It gives how many are null.
func (c *chunkReader) pickOf(k, first, to int64, part []int32, bitmap *memory.Buffer) (nulls int64, err error) {
	n, present := int64(len(part)), k
	var valid memory.Bitmap
	if c.optional {
		valid = bitmap.Bytes()
		c.scratch(k)
		if present, err = c.levels.bits(c.bits, 0, k); err != nil {
			return 0, fmt.Errorf("definition levels: %w", err)
		}
	}
	c.left, c.row = c.left-k, c.row+k
	if present == k {
		if c.optional {
			valid.Fill(to, n, true)
		}
		return 0, c.values.pick(&c.body, present, part, int32(first), to, n, valid)
	}
	c.order = c.order[:0]
	word, before := int64(0), 0 // values in the words before
	for i, row := range part {
		at := int64(row) - first
		for ; word < at>>6; word++ {
			before += bits.OnesCount64(c.bits.Word(word<<6, min(64, k-word<<6)))
		}
		if c.bits.Get(at) {
			valid.Set(to + int64(i))
			c.order = append(c.order, int32(before+bits.OnesCount64(c.bits.Word(word<<6, at&63))))
		}
	}
	return n - int64(len(c.order)), c.values.pick(&c.body, present, c.order, 0, to, n, valid)
}

// scratch makes room for so many bits.
func (c *chunkReader) scratch(n int64) {
	if need := memory.BitmapBytes(n); int64(len(c.bits)) < need {
		c.bits = make(memory.Bitmap, need)
	}
}

// coded reports whether the next n rows all refer to the dictionary, whose values are no more
// than most, and reads that.
func (c *chunkReader) coded(ctx context.Context, n, most int64) (bool, error) {
	if c.left > 0 && !c.body.coded {
		return false, nil
	}
	n -= c.left
	for i := 0; i < len(c.pages) && n > 0; i++ {
		switch p := &c.pages[i]; {
		case p.Kind == pageIndex:
		case p.Kind == pageDictionary:
			if p.Values > most {
				return false, nil
			}
		case p.Encoding != encodingDictionary && p.Encoding != encodingPlainDictionary:
			return false, nil
		default:
			n -= p.Values
		}
	}
	if _, bools := c.values.(*boolValues); bools || !c.dict && (len(c.pages) == 0 || c.pages[0].Kind != pageDictionary) {
		return false, nil
	}
	if !c.dict {
		if err := c.turn(ctx); err != nil {
			return false, c.fault(err)
		}
	}
	return int64(c.values.size()) <= most, nil
}

// codes are the indices of the next rows, which coded has looked at; null is that behind the last. It
// gives how many are null.
func (c *chunkReader) codes(ctx context.Context, to []uint32) (nulls int64, err error) {
	size := c.values.size()
	for len(to) > 0 {
		if c.left == 0 {
			if err := c.turn(ctx); err != nil {
				return 0, c.fault(err)
			}
			continue
		}
		k := min(c.left, int64(len(to)))
		present := k
		if c.optional {
			c.scratch(k)
			if present, err = c.levels.bits(c.bits, 0, k); err != nil {
				return 0, c.fault(fmt.Errorf("definition levels: %w", err))
			}
		}
		largest, err := c.body.read(to[:present])
		if err == nil && present > 0 && int(largest) >= size {
			err = errIndex(largest, size)
		}
		if err != nil {
			return 0, c.fault(err)
		}
		nulls += k - present
		for i := k - 1; i >= 0 && present < k; i-- {
			if c.bits.Get(i) {
				present--
				to[i] = to[present]
			} else {
				to[i] = uint32(size)
			}
		}
		c.left, c.row, to = c.left-k, c.row+k, to[k:]
	}
	return nulls, nil
}

// dictionary is the values of the dictionary as a column, and behind them a null where
// there may be nulls.
func (c *chunkReader) dictionary() (_ *memory.Column, err error) {
	n := int64(c.values.size())
	codes := make([]uint32, n)
	for i := range codes {
		codes[i] = uint32(i)
	}
	return c.ofCodes(codes, c.optional)
}

// ofCodes is the column of values of the dictionary, and behind them a null.
func (c *chunkReader) ofCodes(codes []uint32, null bool) (_ *memory.Column, err error) {
	var bitmap *memory.Buffer
	defer func() { bitmap.Release() }()
	size, rows := uint32(c.values.size()), int64(len(codes))
	if null {
		rows++
	}
	present := int64(0)
	for _, k := range codes {
		if k < size {
			present++
		}
	}
	var valid memory.Bitmap
	if present < rows {
		if bitmap, err = memory.NewZeroed(c.from, memory.BitmapBytes(rows)); err != nil {
			return nil, c.fault(err)
		}
		valid = bitmap.Bytes()
		there := make([]uint32, 0, present)
		for i, k := range codes {
			if k < size {
				valid.Set(int64(i))
				there = append(there, k)
			}
		}
		codes = there
	}
	if err := c.values.begin(rows); err != nil {
		return nil, c.fault(err)
	}
	if err := c.values.take(&pageValues{coded: true, codes: codes}, 0, rows, present, valid); err != nil {
		return nil, c.fault(err)
	}
	return c.column(rows, rows-present, &bitmap)
}
