package storage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/volley-go/volley/memory"
)

// errLongTexts says that the texts of one batch are more than its offsets or
// the file's size admit: to be tried again with fewer rows.
var errLongTexts = errors.New("too many bytes of text in one batch")

// textValues are strings and binary values with offsets of type T.
type textValues[T int32 | int64] struct {
	from  memory.Allocator
	wide  int64 // bytes of an offset
	most  int64 // bytes of one column's values
	texts bool  // to be UTF-8

	held  *memory.Buffer // the dictionary page's bytes
	dict  []byte
	ends  []span32
	valid bool   // the whole dictionary is UTF-8
	long  uint32 // the longest value of it
	ones  []byte // its values, where each is one byte

	offsets *memory.Buffer
	off     []T
	room    *memory.Buffer
	used    int64
	rows    int64 // of the column, asked for
	done    int64 // of these
	checked bool  // every text so far is of a valid dictionary
	average int64 // bytes of a row of the column before
}

// span32 is where a value of the dictionary lies.
type span32 struct{ from, length uint32 }

func (v *textValues[T]) dictionary(b []byte, n int64, page **memory.Buffer) (err error) {
	if int64(len(b))/4 < n {
		return errValuesEnd
	}
	if *page != nil { // slack bytes lie behind the values there too
		v.held, *page = *page, nil
	} else if v.held, err = memory.New(v.from, int64(len(b))+slack); err != nil {
		return err
	} else {
		copy(v.held.Bytes(), b)
	}
	v.dict = v.held.Bytes()
	v.ends = make([]span32, n)
	v.valid = true
	v.average = int64(len(b))/max(n, 1) - 3
	at, single := 0, true
	for i := range v.ends {
		length, err := textAt(b, at)
		if err != nil {
			return err
		}
		v.ends[i] = span32{uint32(at + 4), uint32(length)}
		v.long, single = max(v.long, uint32(length)), single && length == 1
		v.valid = v.valid && v.texts && utf8.Valid(b[at+4:at+4+length])
		at += 4 + length
	}
	if single {
		v.ones = make([]byte, n)
		for i, s := range v.ends {
			v.ones[i] = v.dict[s.from]
		}
	}
	return nil
}

// textAt is the length of the value whose length is written at b[at:], which
// is wholly in b.
func textAt(b []byte, at int) (int, error) {
	if len(b)-at < 4 {
		return 0, errValuesEnd
	}
	n := int(binary.LittleEndian.Uint32(b[at:]))
	if n > len(b)-at-4 {
		return 0, errValuesEnd
	}
	return n, nil
}

func (v *textValues[T]) begin(rows int64) (err error) {
	if v.offsets, err = memory.New(v.from, roomFor((rows+1)*v.wide)); err != nil {
		return err
	}
	v.off = memory.View[T](v.offsets)
	v.off[0] = 0
	v.used, v.rows, v.done, v.checked = 0, rows, 0, true
	return nil
}

// grow makes room for n bytes more and as many as the rows behind them will
// take, by those before.
func (v *textValues[T]) grow(n int64) error {
	need := v.used + n
	if need > v.most {
		return errLongTexts
	}
	expect := v.average * v.rows
	if v.done > 0 {
		expect = v.used / v.done * (v.rows - v.done) * 17 / 16
		expect += v.used
	}
	size := min(max(need, min(expect, 8*need+1<<20), v.used+v.used/4), v.most)
	b, err := memory.New(v.from, roomFor(size+slack))
	if err != nil {
		return err
	}
	if v.room != nil {
		copy(b.Bytes(), v.room.Bytes()[:v.used])
		v.room.Release()
	}
	v.room = b
	return nil
}

// put appends a value, which slack bytes follow in memory.
func (v *textValues[T]) put(row int64, b []byte) error {
	n := int64(len(b))
	if v.room == nil || v.used+n+slack > v.room.Len() {
		v.done = row
		if err := v.grow(n); err != nil {
			return err
		}
	}
	to := v.room.Bytes()[v.used:]
	if n <= 16 {
		copy(to[:16], b[:16]) // of constant length: two moves and no call
	} else {
		copy(to, b)
	}
	v.used += n
	v.off[row+1] = T(v.used)
	return nil
}

func (v *textValues[T]) take(p *pageValues, at, rows, present int64, valid memory.Bitmap) error {
	if present == rows {
		valid = nil
	}
	if p.coded {
		v.checked = v.checked && v.valid
		return v.look(p, at, rows, present, valid)
	}
	v.checked = false
	if v.average == 0 {
		v.average = p.average
	}
	b, pos := p.plain, 0
	for row := at; row < at+rows; row++ {
		if valid == nil {
			var done int64
			done, pos = v.short(v.off[row+1:at+rows+1], b, pos)
			if row += done; row == at+rows {
				break
			}
		}
		if valid != nil && !valid.Get(row) {
			v.off[row+1] = T(v.used)
			continue
		}
		n, err := textAt(b, pos)
		if err != nil {
			return err
		}
		pos += 4
		if err := v.put(row, b[pos:pos+n]); err != nil {
			return err
		}
		pos += n
	}
	p.plain = b[pos:]
	return nil
}

// short appends values of up to 16 bytes, for which there is room, one for
// each offset, and says how many and where the next one's length is. It stops
// at what put has to look at.
func (v *textValues[T]) short(off []T, b []byte, pos int) (done int64, next int) {
	if v.room == nil {
		return 0, pos
	}
	to, used := v.room.Bytes(), int(v.used)
	last := len(to) - slack
	page := b[:len(b)+slack-4]
	for i := range off {
		if pos+4 > len(b) || used > last {
			break
		}
		n := int(binary.LittleEndian.Uint32(page[pos:]))
		if n > 16 || n > len(b)-pos-4 {
			break
		}
		copy(to[used:used+16], page[pos+4:pos+20])
		used, pos = used+n, pos+4+n
		off[i] = T(used)
		done++
	}
	v.used = int64(used)
	return done, pos
}

// look takes values of the dictionary.
func (v *textValues[T]) look(p *pageValues, at, rows, present int64, valid memory.Bitmap) error {
	block := codeBlocks.Get().(*[chosenBlock]uint32)
	defer codeBlocks.Put(block)
	for row := at; present > 0; {
		indices := block[:min(present, int64(len(block)))]
		largest, err := p.read(indices)
		if err != nil {
			return err
		}
		if int(largest) >= len(v.ends) {
			return errIndex(largest, len(v.ends))
		}
		present -= int64(len(indices))
		if row, err = v.given(indices, row, at+rows, valid); err != nil {
			return err
		}
	}
	return v.nulls(at, rows, valid)
}

// given appends values of the dictionary, which are there, for the next rows that have one,
// from a row on, and gives the row behind the last of them.
func (v *textValues[T]) given(indices []uint32, row, end int64, valid memory.Bitmap) (int64, error) {
	if valid == nil {
		return row + int64(len(indices)), v.append(indices, row)
	}
	for _, k := range indices {
		for ; row < end && !valid.Get(row); row++ {
			v.off[row+1] = T(v.used)
		}
		s := v.ends[k]
		if err := v.put(row, v.dict[s.from:s.from+s.length]); err != nil {
			return 0, err
		}
		row++
	}
	return row, nil
}

// nulls are the offsets of the rows behind the last value.
func (v *textValues[T]) nulls(at, rows int64, valid memory.Bitmap) error {
	for row := at + rows; valid != nil && row > at && !valid.Get(row-1); row-- {
		v.off[row] = T(v.used)
	}
	return nil
}

// append appends values of the dictionary, one for each row from a row on. Short ones are
// copied by two moves: what is behind them is overwritten by the next.
func (v *textValues[T]) append(indices []uint32, row int64) error {
	off := v.off[row+1:][:len(indices)]
	total := int64(len(indices))
	if v.ones == nil {
		total = 0
		for _, k := range indices {
			total += int64(v.ends[k].length)
		}
	}
	if v.room == nil || v.used+total+slack > v.room.Len() {
		v.done = row
		if err := v.grow(total); err != nil {
			return err
		}
	}
	to, used := v.room.Bytes(), int(v.used)
	switch {
	case v.ones != nil:
		for i, k := range indices {
			to[used+i] = v.ones[k]
			off[i] = T(used + i + 1)
		}
	case v.long <= 16:
		for i, k := range indices {
			s := v.ends[k]
			copy(to[used:used+16], v.dict[s.from:s.from+16])
			used += int(s.length)
			off[i] = T(used)
		}
	default:
		for i, k := range indices {
			s := v.ends[k]
			used += copy(to[used:], v.dict[s.from:s.from+s.length])
			off[i] = T(used)
		}
	}
	v.used += total
	return nil
}

func (v *textValues[T]) pick(p *pageValues, n int64, sel []int32, base int32, at, rows int64, valid memory.Bitmap) error {
	if int64(len(sel)) == rows {
		valid = nil
	}
	if p.coded {
		v.checked = v.checked && v.valid
		var failed error
		row := at
		if err := p.chosen(n, sel, base, len(v.ends), func(_ int, codes []uint32) {
			if failed == nil {
				row, failed = v.given(codes, row, at+rows, valid)
			}
		}); err != nil || failed != nil {
			return cmp.Or(failed, err)
		}
		return v.nulls(at, rows, valid)
	}
	v.checked = false
	if v.average == 0 {
		v.average = p.average
	}
	b, pos, row, next := p.plain, 0, at, 0
	for i := int32(0); int64(i) < n; i++ {
		length, err := textAt(b, pos)
		if err != nil {
			return err
		}
		pos += 4
		if next < len(sel) && sel[next]-base == i {
			for next++; valid != nil && !valid.Get(row); row++ {
				v.off[row+1] = T(v.used)
			}
			if err := v.put(row, b[pos:pos+length]); err != nil {
				return err
			}
			row++
		}
		pos += length
	}
	p.plain = b[pos:]
	return v.nulls(at, rows, valid)
}

func (v *textValues[T]) skip(p *pageValues, n int64) error {
	if p.coded {
		return p.skipFixed(n, 1)
	}
	pos := 0
	for range n {
		length, err := textAt(p.plain, pos)
		if err != nil {
			return err
		}
		pos += 4 + length
	}
	p.plain = p.plain[pos:]
	return nil
}

func (v *textValues[T]) size() int { return len(v.ends) }

func (v *textValues[T]) end(rows int64) ([]*memory.Buffer, error) {
	b := []*memory.Buffer{v.offsets, nil}
	if v.room == nil {
		v.room = memory.Wrap(nil, nil)
	}
	var err error
	b[1], err = v.room.Slice(0, v.used)
	v.room.Release() // the slice keeps it
	v.offsets, v.room = nil, nil
	if rows > 0 {
		v.average = v.used/rows + 1
	}
	return b, err
}

func (v *textValues[T]) unchecked() bool { return v.texts && !v.checked }

func (v *textValues[T]) close() {
	for _, b := range []*memory.Buffer{v.held, v.offsets, v.room} {
		b.Release()
	}
	v.held, v.offsets, v.room = nil, nil, nil
}
