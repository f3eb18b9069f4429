package gpu

import (
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// sortField is a sort key as a number of so many bits, in the order of the key.
type sortField struct {
	key     kernels.SortKey
	bits    int            // of the value, and one for nulls
	flagged bool           // the upper bit is for nulls
	codes   *memory.Buffer // ranks by row, or of a dictionary by index
	wide    bool           // codes of 8 bytes
	none    uint64         // the code of a null
}

// sortFields are the fields of keys, from the most significant on: of texts the
// ranks among the rows of the list. Keys that are null throughout have none.
func (c *call) sortFields(keys []kernels.SortKey, list sortList) []sortField {
	var fields []sortField
	for _, key := range keys {
		t := key.Values.Type()
		switch plain := plainType(t); {
		case plain.ID() == arrow.NULL:
		case t.ID() == arrow.DICTIONARY:
			fields = append(fields, c.dictionaryField(key))
		case isText(t):
			rows, ends := c.sortTexts(key, list)
			f := c.rankField(key, key, rows, ends, list)
			fields = append(fields, f)
		default:
			fields = append(fields, fixedField(c, key))
		}
	}
	return fields
}

func fixedField(c *call, key kernels.SortKey) sortField {
	f := sortField{key: key, bits: valueBits(key.Values.Type())}
	if !kernels.FloatTypes.Has(key.Values.Type().ID()) && c.validity(key.Values).buffer != nil {
		f.flagged = true
		f.bits++
	}
	return f
}

// valueBits is the bits of a value of a fixed width.
func valueBits(t arrow.DataType) int {
	if t.ID() == arrow.BOOL {
		return 1
	}
	return 8 * memory.Width(t)
}

// dictionaryField has the ranks of the dictionary's values for codes.
func (c *call) dictionaryField(key kernels.SortKey) sortField {
	values := key
	values.Values = key.Values.Dictionary()
	n := values.Values.Len()
	list := sortList{n: n, width: rowWidth(n)}
	if isText(values.Values.Type()) {
		rows, ends := c.sortTexts(values, list)
		return c.rankField(key, values, rows, ends, list)
	}
	rows, flags := c.sortList([]kernels.SortKey{values}, list), c.temp(4*n)
	args := []any{int32(kindOf(values.Values.Type())), c.data(values.Values), c.validity(values.Values), rows, flags, n}
	c.launch(rowsModule("sortranks", list.width), "rank_flags", c.strided(n), args...)
	return c.rankField(key, values, rows, flags, list)
}

// rankField gives the rows of a list, sorted, their ranks: ends has a 1 where a
// value begins. Ranks are stored by row of the column.
func (c *call) rankField(key, values kernels.SortKey, sorted, ends *memory.Buffer, list sortList) sortField {
	col := values.Values
	f := sortField{key: key, bits: bits.Len64(uint64(list.n) + 1), codes: c.temp(col.Len() * int64(list.width)), wide: list.width == 8}
	if !key.NullsFirst {
		f.none = 1<<f.bits - 1
	}
	before := c.prefix(ends, 4, list.n)
	c.launch(rowsModule("sortranks", list.width), "rank_rows", c.strided(list.n), sorted, before, c.validity(col), f.none, f.codes, list.n)
	c.drop(before)
	c.drop(ends)
	c.drop(sorted)
	return f
}

// sortList sorts the rows of a list by keys, stably. The list is used up.
func (c *call) sortList(keys []kernels.SortKey, list sortList) *memory.Buffer {
	if len(keys) == 1 && isText(keys[0].Values.Type()) {
		rows, ends := c.sortTexts(keys[0], list)
		c.drop(ends)
		return rows
	}
	fields := c.sortFields(keys, list)
	total := 0
	for _, f := range fields {
		total += f.bits
	}
	for end := total; end > 0; end = (end - 1) / 64 * 64 {
		words, width := c.sortWords(fields, (end-1)/64*64, end, list)
		list.rows = c.sortRows(words, width, list.rows, list.width, list.n)
	}
	for _, f := range fields {
		c.drop(f.codes)
	}
	if list.rows == nil {
		list.rows = c.iota(list.n, list.width)
	}
	return list.rows
}

// sortWords is a word for each row of the list: the bits from the one to the
// other of the row's fields, counted from the most significant on. It tells how
// many bits that is.
func (c *call) sortWords(fields []sortField, from, to int, list sortList) (words *memory.Buffer, width int) {
	width = to - from
	words = c.temp(int64(wordWidth(width)) * list.n)
	module := fmt.Sprintf("sortkeys.u%d_u%d", 8*wordWidth(width), 8*list.width)
	end, chained := 0, false
	for _, f := range fields {
		start := end
		end += f.bits
		if end <= from || start >= to {
			continue
		}
		entry, args := c.sortFieldArgs(f)
		args = append(append(args, list.args()...), list.n, words, int32(to-end), int32(width), boolArg(chained))
		c.launch(module, entry, c.strided(list.n), args...)
		chained = true
	}
	return words, width
}

func (c *call) sortFieldArgs(f sortField) (entry string, args []any) {
	col := f.key.Values
	if f.codes == nil {
		width := f.bits - int(boolArg(f.flagged))
		return "sort_fixed", []any{int32(kindOf(col.Type())), c.data(col), c.validity(col), int32(width), boolArg(f.key.Descending),
			boolArg(f.key.NullsFirst), boolArg(f.flagged)}
	}
	codes, index := kindU32, kindNull
	if f.wide {
		codes = kindU64
	}
	var indices, valid vector
	if d, ok := col.Type().(*arrow.DictionaryType); ok {
		index, indices, valid = kindOf(d.IndexType), c.values(col, memory.Width(d)), c.validity(col)
	}
	return "sort_codes", []any{f.codes, int32(codes), int32(index), indices, valid, f.none}
}
