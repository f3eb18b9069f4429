package storage

import (
	"encoding/binary"

	"github.com/volley-go/volley/memory"
)

// wideValues are numbers of 16 bytes, stored as they are or as signed ones of 4 or 8.
type wideValues struct {
	from  memory.Allocator
	width int64 // of a stored number
	held  *memory.Buffer
	dict  []int64     // of numbers of up to 8 bytes
	large [][2]uint64 // of others
	room  *memory.Buffer
	out   [][2]uint64
}

func (v *wideValues) dictionary(b []byte, n int64, page **memory.Buffer) (err error) {
	if int64(len(b))/v.width < n {
		return errValuesEnd
	}
	if v.width == 8 && *page != nil {
		v.held, *page = *page, nil
		v.dict = memory.View[int64](v.held)[:n:n]
		return nil
	}
	if v.held, err = memory.New(v.from, roomFor(max(8, v.width)*n)); err != nil {
		return err
	}
	switch v.width {
	case 4:
		v.dict = memory.View[int64](v.held)[:n]
		for i := range v.dict {
			v.dict[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case 8:
		v.dict = memory.View[int64](v.held)[:n]
		for i := range v.dict {
			v.dict[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	default:
		v.large = memory.View[[2]uint64](v.held)[:n]
		v.copy(v.large, b)
	}
	return nil
}

func (v *wideValues) begin(rows int64) (err error) {
	v.room, err = memory.New(v.from, roomFor(16*rows))
	v.out = memory.View[[2]uint64](v.room)
	return err
}

// copy fills to from numbers as they are stored, which are there.
func (v *wideValues) copy(to [][2]uint64, b []byte) {
	switch v.width {
	case 4:
		b = b[:4*len(to)]
		for i := range to {
			n := int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
			to[i] = [2]uint64{uint64(n), uint64(n >> 63)}
		}
	case 8:
		b = b[:8*len(to)]
		for i := range to {
			n := int64(binary.LittleEndian.Uint64(b[8*i:]))
			to[i] = [2]uint64{uint64(n), uint64(n >> 63)}
		}
	default:
		b = b[:16*len(to)]
		for i := range to {
			to[i] = [2]uint64{binary.LittleEndian.Uint64(b[16*i:]), binary.LittleEndian.Uint64(b[16*i+8:])}
		}
	}
}

func (v *wideValues) take(p *pageValues, at, rows, present int64, valid memory.Bitmap) error {
	to := v.out[at : at+rows]
	switch {
	case p.coded:
		if err := v.look(p, to[:present]); err != nil {
			return err
		}
	case int64(len(p.plain))/v.width < present:
		return errValuesEnd
	default:
		v.copy(to[:present], p.plain)
		p.plain = p.plain[present*v.width:]
	}
	v.spread(to, at, present, valid)
	return nil
}

// spread moves the values, which lie at the front, to the rows that have one.
func (v *wideValues) spread(to [][2]uint64, at, present int64, valid memory.Bitmap) {
	for i := int64(len(to)) - 1; i >= 0 && present < int64(len(to)); i-- {
		if valid.Get(at + i) {
			present--
			to[i] = to[present]
		} else {
			to[i] = [2]uint64{}
		}
	}
}

func (v *wideValues) pick(p *pageValues, n int64, sel []int32, base int32, at, rows int64, valid memory.Bitmap) error {
	to := v.out[at : at+rows]
	if p.coded {
		if err := p.chosen(n, sel, base, v.size(), func(first int, codes []uint32) {
			to := to[first:][:len(codes)]
			if v.large != nil {
				for i, k := range codes {
					to[i] = v.large[k]
				}
				return
			}
			for i, k := range codes {
				x := v.dict[k]
				to[i] = [2]uint64{uint64(x), uint64(x >> 63)}
			}
		}); err != nil {
			return err
		}
	} else {
		if int64(len(p.plain))/v.width < n {
			return errValuesEnd
		}
		for i, k := range sel {
			v.copy(to[i:i+1], p.plain[int64(k-base)*v.width:])
		}
		p.plain = p.plain[n*v.width:]
	}
	v.spread(to, at, int64(len(sel)), valid)
	return nil
}

func (v *wideValues) skip(p *pageValues, n int64) error { return p.skipFixed(n, v.width) }
func (v *wideValues) size() int                         { return max(len(v.dict), len(v.large)) }

// look takes values of the dictionary.
func (v *wideValues) look(p *pageValues, to [][2]uint64) error {
	block := codeBlocks.Get().(*[chosenBlock]uint32)
	defer codeBlocks.Put(block)
	for len(to) > 0 {
		indices := block[:min(len(to), len(block))]
		largest, err := p.read(indices)
		if err != nil {
			return err
		}
		if int(largest) >= v.size() {
			return errIndex(largest, v.size())
		}
		if v.large != nil {
			for i, k := range indices {
				to[i] = v.large[k]
			}
		} else {
			for i, k := range indices {
				x := v.dict[k]
				to[i] = [2]uint64{uint64(x), uint64(x >> 63)}
			}
		}
		to = to[len(indices):]
	}
	return nil
}

func (v *wideValues) end(int64) ([]*memory.Buffer, error) {
	b := v.room
	v.room, v.out = nil, nil
	return []*memory.Buffer{b}, nil
}

func (v *wideValues) unchecked() bool { return false }

func (v *wideValues) close() {
	v.held.Release()
	v.room.Release()
	v.held, v.room, v.out = nil, nil, nil
}
