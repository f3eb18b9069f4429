package cpu

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// concatDictionary joins dictionary columns. Where all share one dictionary so
// does the result; otherwise theirs are unified and indices rewritten.
func concatDictionary(ctx context.Context, s device.Stream, o *out, j *joined) error {
	dict := j.cols[0].Dictionary()
	shared := true
	for _, c := range j.cols {
		shared = shared && sameWindow(c.Dictionary(), dict)
	}
	if shared {
		o.parts.Dictionary = dict.Retain()
		return concatFixed(ctx, o, j)
	}
	u, err := unify(ctx, s, o.parts.Type.(*arrow.DictionaryType), j, nil)
	if err != nil {
		return err
	}
	if u == nil { // too many for the type of the indices: leave out those not in use
		used, err := usedEntries(ctx, j)
		if err == nil {
			u, err = unify(ctx, s, o.parts.Type.(*arrow.DictionaryType), j, used)
		}
		if err != nil {
			return err
		}
	}
	o.parts.Dictionary = u.values
	if err := o.values(); err != nil {
		return err
	}
	width := int64(memory.Width(o.parts.Type))
	dst := o.parts.Buffers[1].Bytes()
	return parallel(ctx, j.rows(), func(_ int, m span) error {
		j.pieces(m.from, m.to, func(k int, a, b, at int64) {
			c, numbers := j.cols[k], u.numbers[k]
			for i := a; i < b; i++ {
				to := dst[(at+i-a)*width:][:width]
				if c.IsNull(i) {
					clear(to)
				} else {
					putIndex(to, numbers[c.Index(i)])
				}
			}
		})
		return nil
	})
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

func putIndex(b []byte, v uint64) {
	switch len(b) {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// unified is several dictionaries made one.
type unified struct {
	values  *memory.Column
	numbers [][]uint64 // for each dictionary the new numbers of its entries
}

// unify joins the dictionaries of columns, each distinct entry once, in order
// of first appearance. Entries that are not used, where that is given, are left
// out. Without it, more entries than the indices can number give nil, with it
// an ErrValue.
func unify(ctx context.Context, s device.Stream, t *arrow.DictionaryType, j *joined, used [][]bool) (*unified, error) {
	var dicts []*memory.Column
	for _, c := range j.cols {
		dicts = append(dicts, c.Dictionary())
	}
	all, err := concat(ctx, s, dicts)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	u := &unified{numbers: make([][]uint64, len(dicts))}
	seen := map[string]uint64{}
	first := make([]int64, 0, all.Len())
	row := int64(0)
	for k, d := range dicts {
		u.numbers[k] = make([]uint64, d.Len())
		for i := range d.Len() {
			if row%morsel == 0 {
				if err := device.Canceled(ctx, "", ""); err != nil {
					return nil, err
				}
			}
			if used == nil || used[k][i] {
				key := entryKey(all, row)
				number, have := seen[key]
				if !have {
					number = uint64(len(first))
					seen[key] = number
					first = append(first, row)
				}
				u.numbers[k][i] = number
			}
			row++
		}
	}
	if limit := dictionaryLimit(t.IndexType); uint64(len(first)) > limit {
		if used == nil {
			return nil, nil
		}
		return nil, device.Errorf(device.ErrValue, "", "", "%d distinct values in a dictionary with indices of %s: cast to a wider index type", len(first), t.IndexType)
	}
	rows, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: int64(len(first)), Place: memory.Host,
		Buffers: []*memory.Buffer{nil, memory.Wrap(arrow.Int64Traits.CastToBytes(first), nil)}})
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	u.values, err = plainLoops.takeColumn(ctx, s, all, rows, kernels.TakeOptions{Trusted: true})
	return u, err
}

// entryKey is a text that only equal entries have.
func entryKey(c *memory.Column, i int64) string {
	v := kernels.ScalarAt(c, i)
	if !v.Valid() {
		return "n"
	}
	if t := v.Text(); t != "" {
		return "v" + t
	}
	if kernels.DecimalTypes.Has(c.Type().ID()) {
		d := v.Decimal()
		return "v" + string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, d.LowBits()), uint64(d.HighBits())))
	}
	if kernels.BinaryTypes.Has(c.Type().ID()) {
		return "v"
	}
	return "v" + string(binary.LittleEndian.AppendUint64(nil, v.Uint64()))
}

// dictionaryLimit is how many values indices of a type can number.
func dictionaryLimit(t arrow.DataType) uint64 {
	bits := t.(arrow.FixedWidthDataType).BitWidth()
	if kernels.SignedTypes.Has(t.ID()) {
		bits--
	}
	return 1 << min(bits, 63)
}

// usedEntries tells which entries of each column's dictionary its rows use.
func usedEntries(ctx context.Context, j *joined) ([][]bool, error) {
	used := make([][]bool, len(j.cols))
	return used, tasks(ctx, len(j.cols), func(_, k int) error {
		c := j.cols[k]
		used[k] = make([]bool, c.Dictionary().Len())
		for i := range c.Len() {
			if i%morsel == 0 {
				if err := device.Canceled(ctx, "", ""); err != nil {
					return err
				}
			}
			if !c.IsNull(i) {
				used[k][c.Index(i)] = true
			}
		}
		return nil
	})
}
