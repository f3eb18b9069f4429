package gpu

import (
	"context"
	"encoding/binary"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// topkSpare is how many more candidates than twice k are sorted rather than
// looked at again.
const topkSpare = 1024

// topK is the GPU's TopKFunc: rows that cannot be among the first k by the
// first 64 bits of their keys are left out of the sort.
func (e *Engine) topK(ctx context.Context, s device.Stream, keys []kernels.SortKey, k int64) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := keys[0].Values.Len()
	if k == 0 {
		return c.give(c.rowsColumn(nil, 0, n)), c.err
	}
	list := sortList{n: n, width: rowWidth(n)}
	if 2*k+topkSpare >= n {
		return c.give(c.rowsColumn(c.sortList(keys, list), k, n)), c.err
	}
	words, bits, exact := c.topkWords(keys, list)
	if bits == 0 {
		if !exact {
			return c.give(c.rowsColumn(c.sortList(keys, list), k, n)), c.err
		}
		return c.give(c.rowsColumn(c.iota(k, list.width), k, n)), c.err
	}
	t := c.topkNarrow(words, bits, n, k)
	if exact && t.shift == 0 && t.less+t.equal > 2*k+topkSpare {
		return c.give(c.topkExact(keys, t, words, list, k)), c.err
	}
	list.rows, list.n = c.topkRows(t, words, list, true, true)
	c.drop(words)
	return c.give(c.rowsColumn(c.sortList(keys, list), k, n)), c.err
}

// topkWords is the keys' first bits, up to 64 of them, as words in their order:
// exact where that is all of the keys. No key is made of ranks of texts.
func (c *call) topkWords(keys []kernels.SortKey, list sortList) (words *memory.Buffer, bits int, exact bool) {
	for i, key := range keys {
		if !isText(key.Values.Type()) {
			continue
		}
		if fields := c.sortFields(keys[:i], list); len(fields) > 0 {
			words, bits, _ = c.topkFields(fields, list)
			return words, bits, false
		}
		words = c.temp(8 * list.n)
		args := c.textWordArgs(key, &textStep{list: list}, words)
		c.launch(rowsModule("sorttext", list.width), "text_words", c.strided(list.n), args...)
		return words, 64, false
	}
	return c.topkFields(c.sortFields(keys, list), list)
}

func (c *call) topkFields(fields []sortField, list sortList) (words *memory.Buffer, bits int, exact bool) {
	total := 0
	for _, f := range fields {
		total += f.bits
	}
	words, bits = c.sortWords(fields, 0, min(total, 64), list)
	for _, f := range fields {
		c.drop(f.codes)
	}
	return words, bits, total <= 64
}

// topkCut is what is known of the k-th word: its bits from shift on are prefix.
// less words are below that, equal ones the same so far.
type topkCut struct {
	module      string
	shift       int
	prefix      uint64
	less, equal int64
}

// topkNarrow looks for the k-th of n words, digit by digit from the top, until
// few words are left that it may be.
func (c *call) topkNarrow(words *memory.Buffer, bits int, n, k int64) topkCut {
	t := topkCut{module: rowsModule("topk", wordWidth(bits)), shift: (bits + 7) / 8 * 8, equal: n}
	counts := c.zeroed(8 * radixBins)
	for t.shift > 0 && t.less+t.equal > 2*k+topkSpare && c.ok() {
		t.shift -= 8
		c.fill(counts, 0)
		c.launch(t.module, "topk_count", c.strided((n+3)/4), words, n, int32(t.shift), t.prefix, counts)
		content := c.read(counts, 0, 8*radixBins)
		for b := range radixBins {
			t.equal = int64(binary.LittleEndian.Uint64(content[8*b:]))
			if t.less+t.equal >= k || b == radixBins-1 {
				t.prefix = t.prefix<<8 | uint64(b)
				break
			}
			t.less += t.equal
		}
	}
	c.drop(counts)
	return t
}

// topkRows is the rows whose words are below the cut, or at it.
func (c *call) topkRows(t topkCut, words *memory.Buffer, list sortList, less, equal bool) (*memory.Buffer, int64) {
	mask := c.temp(bitBytes(list.n))
	c.launch(t.module, "topk_mask", groupsFor(list.n, 4096), words, list.n, int32(t.shift), t.prefix, boolArg(less), boolArg(equal), mask)
	rows, n := c.compact(vector{mask, 0}, list.n, list.width)
	c.drop(mask)
	return rows, n
}

// topkExact is the first k rows where the word of the k-th is known to be the
// cut: those below it sorted, then the first rows that have that word.
func (c *call) topkExact(keys []kernels.SortKey, t topkCut, words *memory.Buffer, list sortList, k int64) *memory.Column {
	n, width := list.n, int64(list.width)
	below := list
	below.rows, below.n = c.topkRows(t, words, list, true, false)
	same, count := c.topkRows(t, words, list, false, true)
	c.drop(words)
	if c.ok() && below.n+count < k {
		c.failf(nil, "%d rows below and at the %d-th", below.n+count, k)
	}
	out := c.temp(k * width)
	c.copy(out, 0, c.sortList(keys, below), 0, below.n*width)
	c.copy(out, below.n*width, same, 0, (k-below.n)*width)
	return c.rowsColumn(out, k, n)
}
