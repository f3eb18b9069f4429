package bitpack

import "encoding/binary"

// shapeBytes is the size of a shape: of each of sixteen numbers the word of 32 bits
// that is brought to its place, the bytes there that it is in, by how much they are
// shifted and which bits are left; then how many bytes sixteen numbers have. A lane
// of 16 bytes has four numbers. Those of the first half stand for eight numbers.
const shapeBytes = 4*64 + 8

// shapes are those of all widths.
var shapes = func() (all [Widest + 1][shapeBytes]byte) {
	for width := 1; width <= Widest; width++ {
		s := &all[width]
		word := func(table, i, v int) { binary.LittleEndian.PutUint32(s[64*table+4*i:], uint32(v)) }
		for i := range 16 {
			first := i / 4 * 4 * width / 32 // word of the lane
			bit := i*width - 32*first
			word(0, i, first+i%4)
			for k := range 4 {
				s[64+4*i+k] = byte(bit/8 + k)
			}
			word(2, i, bit%8)
			word(3, i, 1<<width-1)
		}
		binary.LittleEndian.PutUint64(s[256:], uint64(2*width))
	}
	return all
}()

func shapeOf(width uint) *[shapeBytes]byte { return &shapes[width] }
