package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sort"
	"sync"

	"github.com/volley-go/volley/memory"
)

// pageValues are the values of the data page at hand, without its levels.
type pageValues struct {
	plain   []byte   // PLAIN: yet to read
	bit     int64    // PLAIN bools: of the next one
	runs    hybrid   // indices of the dictionary, or bools
	coded   bool     // the values are indices
	codes   []uint32 // in place of runs: indices that were read before, and are within the dictionary
	average int64    // bytes of a row of a PLAIN page
}

// read takes the next indices and gives the largest, 0 of those that were read before.
func (p *pageValues) read(to []uint32) (largest uint32, err error) {
	if p.codes != nil {
		p.codes = p.codes[copy(to, p.codes):]
		return 0, nil
	}
	return p.runs.read(to)
}

// chosenBlock is how many indices are unpacked at once.
const chosenBlock = 1024

// codeBlocks are where indices go between a page and the values that they stand for.
var codeBlocks = sync.Pool{New: func() any { return new([chosenBlock]uint32) }}

// chosenFew is how many values there are for a chosen one where each is taken by itself out of what is
// packed.
const chosenFew = 8

// chosen hands the indices of those of the next n values, numbered from base on, whose numbers
// are in sel to put, some at a time, from the first of them on. All are within a dictionary of size values.
func (p *pageValues) chosen(n int64, sel []int32, base int32, size int, put func(first int, codes []uint32)) error {
	block := codeBlocks.Get().(*[chosenBlock]uint32)
	defer codeBlocks.Put(block)
	at, end := int64(base), int64(base)+n
	for i := 0; i < len(sel); {
		if err := p.runs.skip(int64(sel[i]) - at); err != nil {
			return err
		}
		at = int64(sel[i])
		part := sel[i:min(len(sel), i+chosenBlock)]
		k := int64(part[len(part)-1]) + 1 - at
		var largest uint32
		var err error
		if k > chosenFew*int64(len(part)) {
			largest, err = p.runs.some(block[:len(part)], part, int32(at))
		} else {
			k = min(chosenBlock, end-at)
			part = part[:sort.Search(len(part), func(j int) bool { return int64(part[j]) >= at+k })]
			if largest, err = p.runs.read(block[:k]); int64(len(part)) < k {
				for j, row := range part { // in place: chosen ones lie behind
					block[j] = block[int64(row)-at]
				}
			}
		}
		if err == nil && int64(largest) >= int64(size) {
			err = errIndex(largest, size)
		}
		if err != nil {
			return err
		}
		put(i, block[:len(part)])
		i, at = i+len(part), at+k
	}
	return p.runs.skip(end - at)
}

// skipFixed leaves out n values of width bytes, where they are plain.
func (p *pageValues) skipFixed(n, width int64) error {
	switch {
	case p.codes != nil:
		p.codes = p.codes[n:]
	case p.coded:
		return p.runs.skip(n)
	case int64(len(p.plain))/width < n:
		return errValuesEnd
	default:
		p.plain = p.plain[n*width:]
	}
	return nil
}

// flatValues puts the values of pages together to columns.
type flatValues interface {
	// dictionary takes over the n values of a dictionary page. Where they lie at the front of the
	// buffer page, if that is not nil, it may keep that, and sets it nil then.
	dictionary(b []byte, n int64, page **memory.Buffer) error
	// begin makes room for a column of so many rows.
	begin(rows int64) error
	// take puts the next rows in place at row `at`. present of them have a
	// value; where that is fewer, valid says which, from bit `at` on.
	take(p *pageValues, at, rows, present int64, valid memory.Bitmap) error
	// pick is take of those of the next n values, numbered from base on, whose numbers are in
	// sel, which rise.
	pick(p *pageValues, n int64, sel []int32, base int32, at, rows int64, valid memory.Bitmap) error
	// skip leaves out n values.
	skip(p *pageValues, n int64) error
	// size is how many values the dictionary has.
	size() int
	// end gives the buffers behind the bitmap of a column of so many rows to
	// the caller.
	end(rows int64) ([]*memory.Buffer, error)
	// unchecked reports whether the column just ended has texts of which it is
	// not known that they are UTF-8.
	unchecked() bool
	// close gives back what is left.
	close()
}

var (
	errNoDictionary = errors.New("it refers to a dictionary that is not there")
	errValuesEnd    = errors.New("it ends before its values do")
)

func errIndex(index uint32, values int) error {
	return fmt.Errorf("it refers to value %d of a dictionary of %d", index, values)
}

// roomFor is up to an eighth more than so many bytes: batches of nearly as many rows then have
// memory of one size, which is used again.
func roomFor(n int64) int64 {
	step := int64(1) << max(6, bits.Len64(uint64(n))-4)
	return (n + step - 1) / step * step
}

// stored are the bits of values of up to eight bytes.
type stored interface {
	uint8 | uint16 | uint32 | uint64
}

// fixedValues are numbers of one width. Those of 8 and 16 bits are stored in
// 32, whose upper bits are cut off as arrow-go does.
type fixedValues[T stored] struct {
	from  memory.Allocator
	width int64 // in the file: 4 or 8
	wide  int64 // in the column
	held  *memory.Buffer
	dict  []T
	room  *memory.Buffer
	out   []T
}

func newFixed[T stored](from memory.Allocator, width, wide int64) flatValues {
	return &fixedValues[T]{from: from, width: width, wide: wide}
}

func (v *fixedValues[T]) dictionary(b []byte, n int64, page **memory.Buffer) (err error) {
	if int64(len(b))/v.width < n {
		return errValuesEnd
	}
	if v.width == 8 && v.wide == 8 && *page != nil {
		v.held, *page = *page, nil
		v.dict = memory.View[T](v.held)[:n:n]
		return nil
	}
	// There is room for as many values as the narrowest indices of them tell apart:
	// lookUp needs no comparison of each.
	if v.held, err = memory.NewZeroed(v.from, v.wide<<bits.Len64(uint64(max(n, 1)-1))); err != nil {
		return err
	}
	v.dict = memory.View[T](v.held)[:n]
	v.copy(v.dict, b)
	return nil
}

func (v *fixedValues[T]) begin(rows int64) (err error) {
	v.room, err = memory.New(v.from, roomFor(rows*v.wide))
	v.out = memory.View[T](v.room)
	return err
}

// copy fills to from values as they are stored, which are there.
func (v *fixedValues[T]) copy(to []T, b []byte) {
	if v.width == 8 {
		for i := range to {
			to[i] = T(binary.LittleEndian.Uint64(b[8*i:]))
		}
		return
	}
	for i := range to {
		to[i] = T(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

func (v *fixedValues[T]) take(p *pageValues, at, rows, present int64, valid memory.Bitmap) error {
	to := v.out[at : at+present]
	switch {
	case p.coded:
		if err := v.look(p, to); err != nil {
			return err
		}
	case int64(len(p.plain))/v.width < present:
		return errValuesEnd
	default:
		if size := present * v.width; v.width == v.wide {
			copy(v.room.Bytes()[at*v.wide:], p.plain[:size])
		} else {
			v.copy(to, p.plain)
		}
		p.plain = p.plain[present*v.width:]
	}
	if present < rows {
		spread(v.out[at:at+rows], present, valid, at)
	}
	return nil
}

// look takes values of the dictionary.
func (v *fixedValues[T]) look(p *pageValues, to []T) error {
	if words, ok := any(v.dict).([]uint32); ok && p.codes == nil {
		return lookUp(&p.runs, words, any(to).([]uint32))
	}
	block := codeBlocks.Get().(*[chosenBlock]uint32)
	defer codeBlocks.Put(block)
	for len(to) > 0 {
		indices := block[:min(len(to), len(block))]
		largest, err := p.read(indices)
		if err != nil {
			return err
		}
		if int(largest) >= len(v.dict) {
			return errIndex(largest, len(v.dict))
		}
		for i, k := range indices {
			to[i] = v.dict[k]
		}
		to = to[len(indices):]
	}
	return nil
}

func (v *fixedValues[T]) pick(p *pageValues, n int64, sel []int32, base int32, at, rows int64, valid memory.Bitmap) error {
	to := v.out[at:][:len(sel)]
	if p.coded {
		if err := p.chosen(n, sel, base, len(v.dict), func(first int, codes []uint32) {
			to := to[first:][:len(codes)]
			for i, k := range codes {
				to[i] = v.dict[k]
			}
		}); err != nil {
			return err
		}
	} else {
		if int64(len(p.plain))/v.width < n {
			return errValuesEnd
		}
		if v.width == 8 {
			for i, k := range sel {
				to[i] = T(binary.LittleEndian.Uint64(p.plain[8*int(k-base):]))
			}
		} else {
			for i, k := range sel {
				to[i] = T(binary.LittleEndian.Uint32(p.plain[4*int(k-base):]))
			}
		}
		p.plain = p.plain[n*v.width:]
	}
	if int64(len(sel)) < rows {
		spread(v.out[at:at+rows], int64(len(sel)), valid, at)
	}
	return nil
}

func (v *fixedValues[T]) skip(p *pageValues, n int64) error { return p.skipFixed(n, v.width) }
func (v *fixedValues[T]) size() int                         { return len(v.dict) }

// spread moves the values, which lie at the front, to the rows that have one.
// Nulls get 0.
func spread[T stored](out []T, present int64, valid memory.Bitmap, at int64) {
	for i := int64(len(out)) - 1; i >= 0; i-- {
		if valid.Get(at + i) {
			present--
			out[i] = out[present]
		} else {
			out[i] = 0
		}
	}
}

func (v *fixedValues[T]) end(rows int64) ([]*memory.Buffer, error) {
	b := v.room
	v.room, v.out = nil, nil
	return []*memory.Buffer{b}, nil
}

func (v *fixedValues[T]) unchecked() bool { return false }

func (v *fixedValues[T]) close() {
	v.held.Release()
	v.room.Release()
	v.held, v.room = nil, nil
}

// boolValues are bools, a bit each.
type boolValues struct {
	from memory.Allocator
	room *memory.Buffer
}

func (v *boolValues) dictionary([]byte, int64, **memory.Buffer) error {
	return errors.New("bools have no dictionary")
}

func (v *boolValues) begin(rows int64) (err error) {
	v.room, err = memory.NewZeroed(v.from, memory.BitmapBytes(rows))
	return err
}

func (v *boolValues) take(p *pageValues, at, rows, present int64, valid memory.Bitmap) error {
	out := memory.Bitmap(v.room.Bytes())
	if p.coded {
		if _, err := p.runs.bits(out, at, present); err != nil {
			return err
		}
	} else {
		if 8*int64(len(p.plain))-p.bit < present {
			return errValuesEnd
		}
		out.CopyFrom(at, p.plain, p.bit, present)
		p.bit += present
	}
	for i := rows - 1; i >= 0 && present < rows; i-- {
		if valid.Get(at + i) {
			present--
			out.Put(at+i, out.Get(at+present))
		} else {
			out.Clear(at + i)
		}
	}
	return nil
}

func (v *boolValues) pick(p *pageValues, n int64, sel []int32, base int32, at, rows int64, valid memory.Bitmap) error {
	bits, from := memory.Bitmap(p.plain), p.bit
	if p.coded {
		bits, from = make(memory.Bitmap, memory.BitmapBytes(n)), 0
		if _, err := p.runs.bits(bits, 0, n); err != nil {
			return err
		}
	} else if err := v.skip(p, n); err != nil {
		return err
	}
	out := memory.Bitmap(v.room.Bytes())
	for i, row := 0, at; row < at+rows; row++ {
		if valid == nil || valid.Get(row) {
			out.Put(row, bits.Get(from+int64(sel[i]-base)))
			i++
		}
	}
	return nil
}

func (v *boolValues) skip(p *pageValues, n int64) error {
	if p.coded {
		return p.runs.skip(n)
	}
	if 8*int64(len(p.plain))-p.bit < n {
		return errValuesEnd
	}
	p.bit += n
	return nil
}

func (v *boolValues) size() int { return 0 }

func (v *boolValues) end(rows int64) ([]*memory.Buffer, error) {
	b := v.room
	v.room = nil
	return []*memory.Buffer{b}, nil
}

func (v *boolValues) unchecked() bool { return false }

func (v *boolValues) close() {
	v.room.Release()
	v.room = nil
}
