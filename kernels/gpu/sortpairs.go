package gpu

import (
	"encoding/binary"
	"fmt"

	"github.com/volley-go/volley/memory"
)

const (
	radixBins  = 256
	radixSmall = 16 * group // keys that one group of sortpairs.cl places: of 32 bits with rows of 32 bits
	radixWide  = 12 * group // or where one of the two has 64
)

// sortPairs is a stable sort of n keys with a row beside each: by the low
// keyBits bits of the keys, which are 32-bit words for up to 32 of them, else
// 64-bit words. Rows are 4 or 8 bytes wide (rowWidth); nil stands for 0, 1, 2,
// and so on. Both buffers are used up. What is returned are scratch buffers,
// maybe the same ones. It waits for the stream once.
//
// A pass for each eight bits, after Adinets and Merrill ("Onesweep", 2022),
// but for those eight bits that are the same in all keys.
func (c *call) sortPairs(keys *memory.Buffer, keyBits int, rows *memory.Buffer, rowWidth int, n int64) (sortedKeys, sortedRows *memory.Buffer) {
	return c.radixSort(keys, wordWidth(keyBits), keyBits, rows, rowWidth, n, true)
}

// sortRows is sortPairs for those who do not need the keys afterwards.
func (c *call) sortRows(keys *memory.Buffer, keyBits int, rows *memory.Buffer, rowWidth int, n int64) *memory.Buffer {
	keys, rows = c.radixSort(keys, wordWidth(keyBits), keyBits, rows, rowWidth, n, false)
	c.drop(keys)
	return rows
}

// radixSort sorts keys of keyWidth bytes by their low keyBits bits, rounded up to
// whole bytes.
func (c *call) radixSort(keys *memory.Buffer, keyWidth, keyBits int, rows *memory.Buffer, rowWidth int, n int64, keep bool) (*memory.Buffer, *memory.Buffer) {
	module := fmt.Sprintf("sortpairs.u%d_u%d", 8*keyWidth, 8*rowWidth)
	digits := (keyBits + 7) / 8
	passes, bases := c.radixPasses(module, keys, digits, n)
	if len(passes) == 0 {
		if rows == nil {
			rows = c.temp(int64(rowWidth) * n)
			c.launch(module, "radix_rows", c.strided(n), rows, n)
		}
		return keys, rows
	}
	tile := int64(radixSmall)
	if keyWidth+rowWidth > 8 {
		tile = radixWide
	}
	tiles := groupsFor(n, tile)
	state := c.temp(8 * (tiles*radixBins + 1))
	keysTo, rowsTo := c.temp(int64(keyWidth)*n), c.temp(int64(rowWidth)*n)
	for i, digit := range passes {
		c.fill(state, 0)
		given, kept := rows != nil, keep || i < len(passes)-1
		if !given {
			rows = c.temp(int64(rowWidth) * n)
		}
		c.launch(module, "radix_scatter", tiles, keys, rows, keysTo, rowsTo, n, int32(8*digit), boolArg(given), boolArg(kept), bases,
			int64(digit*radixBins), state)
		keys, keysTo, rows, rowsTo = keysTo, keys, rowsTo, rows
	}
	c.drop(state)
	c.drop(bases)
	c.drop(keysTo)
	c.drop(rowsTo)
	return keys, rows
}

// radixPasses counts the digits of all keys and tells which digits there are
// passes for, and for each value of each digit how many keys have a smaller one.
func (c *call) radixPasses(module string, keys *memory.Buffer, digits int, n int64) (passes []int, bases *memory.Buffer) {
	if n == 0 || digits == 0 {
		return nil, nil
	}
	counts := c.radixCounts(module, keys, digits, n)
	for d := range digits {
		var sum, most uint64
		for b := d * radixBins; b < (d+1)*radixBins; b++ {
			most = max(most, counts[b])
			counts[b], sum = sum, sum+counts[b]
		}
		if most < uint64(n) {
			passes = append(passes, d)
		}
	}
	if len(passes) == 0 || !c.ok() {
		return nil, nil
	}
	content := make([]byte, 0, 8*len(counts))
	for _, v := range counts {
		content = binary.LittleEndian.AppendUint64(content, v)
	}
	return passes, c.upload(content)
}

// radixCounts is how many keys have each value of each digit.
func (c *call) radixCounts(module string, keys *memory.Buffer, digits int, n int64) []uint64 {
	size := int64(8 * digits * radixBins)
	b := c.zeroed(size)
	c.launch(module, "radix_count", c.strided((n+3)/4), keys, n, int32(digits), b)
	content := c.read(b, 0, size)
	c.drop(b)
	counts := make([]uint64, digits*radixBins)
	for i := range counts {
		counts[i] = binary.LittleEndian.Uint64(content[8*i:])
	}
	return counts
}

// wordWidth is the width in bytes of keys of so many bits.
func wordWidth(keyBits int) int {
	if keyBits <= 32 {
		return 4
	}
	return 8
}
