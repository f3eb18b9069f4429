package gpu

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// concatDictionary is the indices of dictionary columns end to end, and their
// dictionary: the one that all share, or theirs made one. That is done on the
// host, from copies of the dictionaries: next to the rows they are small, and
// it happens once where chunks meet.
func (c *call) concatDictionary(cols []*memory.Column, n int64) (*memory.Buffer, *memory.Column) {
	shared := true
	for _, col := range cols {
		shared = shared && sameWindow(col.Dictionary(), cols[0].Dictionary())
	}
	if shared {
		return c.concatFixed(cols, n), c.own(cols[0].Dictionary().Retain())
	}
	t := cols[0].Type().(*arrow.DictionaryType)
	u := c.unify(t, cols)
	if !c.ok() {
		return nil, nil
	}
	width := memory.Width(t)
	out, at := c.result(int64(width)*n), int64(0)
	for i, col := range cols {
		numbers := make([]byte, 0, 8*len(u.numbers[i]))
		for _, v := range u.numbers[i] {
			numbers = binary.LittleEndian.AppendUint64(numbers, v)
		}
		c.launch("concat", "concat_indices", c.strided(col.Len()), int32(kindOf(t.IndexType)), c.values(col, width), c.validity(col),
			c.upload(numbers), int32(width), out, at, col.Len())
		at += col.Len()
	}
	return out, u.values
}

// sameWindow reports whether two columns show the same buffers.
func sameWindow(a, b *memory.Column) bool {
	if a == b {
		return true
	}
	if a.Len() != b.Len() || a.Offset() != b.Offset() || a.NumChildren() > 0 || a.Dictionary() != nil {
		return false
	}
	for i := range 3 {
		if a.Buffer(i) != b.Buffer(i) {
			return false
		}
	}
	return true
}

// unified is several dictionaries made one.
type unified struct {
	values  *memory.Column
	numbers [][]uint64 // for each column the new numbers of its dictionary's entries
}

// unify joins the dictionaries of columns, each distinct entry once, in order
// of first appearance. Where the indices cannot number them all, entries that no
// row uses are left out, and what is then too many is an ErrValue.
func (c *call) unify(t *arrow.DictionaryType, cols []*memory.Column) *unified {
	dicts := make([]*memory.Column, len(cols))
	for i, col := range cols {
		for j := range i {
			if dicts[i] == nil && sameWindow(cols[j].Dictionary(), col.Dictionary()) {
				dicts[i] = dicts[j].Retain()
			}
		}
		if dicts[i] == nil {
			dicts[i] = c.toHost(col.Dictionary())
		}
		if !c.ok() {
			break
		}
	}
	defer func() {
		for _, d := range dicts {
			d.Release()
		}
	}()
	if !c.ok() {
		return nil
	}
	u, entries := c.numberEntries(dicts, nil)
	if limit := dictionaryLimit(t.IndexType); uint64(len(entries)) > limit {
		u, entries = c.numberEntries(dicts, c.usedEntries(cols))
		if uint64(len(entries)) > limit {
			c.failf(device.ErrValue, "%d distinct values in a dictionary with indices of %s: cast to a wider index type", len(entries), t.IndexType)
		}
	}
	if !c.ok() {
		return nil
	}
	host, err := kernels.FromScalars(memory.Heap, t.ValueType, entries)
	if err != nil {
		c.fail(err)
		return nil
	}
	defer host.Release()
	u.values = c.toDevice(host)
	return u
}

// numberEntries gives the distinct entries of dictionaries, those used where that is
// given, and each entry its number among them.
func (c *call) numberEntries(dicts []*memory.Column, used [][]byte) (*unified, []kernels.Scalar) {
	u := &unified{numbers: make([][]uint64, len(dicts))}
	seen := map[string]uint64{}
	var entries []kernels.Scalar
	for k, d := range dicts {
		u.numbers[k] = make([]uint64, d.Len())
		for i := range d.Len() {
			if i%4096 == 0 && !c.ok() {
				return u, nil
			}
			if used != nil && used[k][4*i] == 0 {
				continue
			}
			v := kernels.ScalarAt(d, i)
			key := entryKey(v)
			number, have := seen[key]
			if !have {
				number = uint64(len(entries))
				seen[key] = number
				entries = append(entries, v)
			}
			u.numbers[k][i] = number
		}
	}
	return u, entries
}

// entryKey is a text that only equal entries have.
func entryKey(v kernels.Scalar) string {
	switch id := v.Type().ID(); {
	case !v.Valid():
		return "n"
	case kernels.BinaryTypes.Has(id):
		return "v" + v.Text()
	case kernels.DecimalTypes.Has(id):
		d := v.Decimal()
		return "v" + string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, d.LowBits()), uint64(d.HighBits())))
	default:
		return "v" + string(binary.LittleEndian.AppendUint64(nil, v.Uint64()))
	}
}

// dictionaryLimit is how many values indices of a type can number.
func dictionaryLimit(t arrow.DataType) uint64 {
	bits := t.(arrow.FixedWidthDataType).BitWidth()
	if kernels.SignedTypes.Has(t.ID()) {
		bits--
	}
	return 1 << min(bits, 63)
}

// usedEntries tells which entries of each column's dictionary its rows use:
// four bytes an entry, the first 1 for those.
func (c *call) usedEntries(cols []*memory.Column) [][]byte {
	used := make([][]byte, len(cols))
	for i, col := range cols {
		t := col.Type().(*arrow.DictionaryType)
		size := 4 * col.Dictionary().Len()
		flags := c.zeroed(size)
		c.launch("concat", "concat_used", c.strided(col.Len()), int32(kindOf(t.IndexType)), c.values(col, memory.Width(t)), c.validity(col), flags, col.Len())
		used[i] = c.read(flags, 0, size)
		c.drop(flags)
	}
	return used
}
