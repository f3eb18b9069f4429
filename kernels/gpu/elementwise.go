package gpu

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// elementTile is the number of rows of a group of the kernels that keep four
// rows of an item in flight.
const elementTile = 4 * group

// What can be wrong with a value: the bits of bad.h.
const (
	badOverflow uint32 = 1 << iota
	badZero
	badInexact
)

// variants are the kinds that modules with a variant for each number have.
var variants = map[kind]string{
	kindI8: "i8", kindI16: "i16", kindI32: "i32", kindI64: "i64",
	kindU8: "u8", kindU16: "u16", kindU32: "u32", kindU64: "u64", kindF32: "f32", kindF64: "f64",
}

// finding is where a kernel notes the first row with one of the errors that it
// looks for; it looks for none where lookFor is 0.
type finding struct {
	lookFor uint32
	word    *memory.Buffer
}

func (c *call) finding(lookFor uint32) finding {
	f := finding{lookFor: lookFor}
	if lookFor != 0 {
		f.word = c.noPosition()
	}
	return f
}

// args are the two arguments of a kernel that a finding is.
func (f finding) args() []any { return []any{f.lookFor, f.arg()} }

func (f finding) arg() any {
	if f.word == nil {
		return null()
	}
	return f.word
}

// check fails with what explain says about the row that was found. It waits for
// the stream if there is anything to find.
func (c *call) check(f finding, n int64, explain func(row int64) error) {
	if f.word == nil || n == 0 {
		return
	}
	row := c.readInt64(f.word, 0)
	if row < 0 || !c.ok() {
		return
	}
	if err := explain(row); c.ok() {
		c.fail(fmt.Errorf("row %d: %w", row, err))
	}
}

// scalarAt is row i of a Datum.
func (c *call) scalarAt(d kernels.Datum, i int64) kernels.Scalar {
	if v, ok := d.(kernels.Scalar); ok {
		return v
	}
	col := d.(*memory.Column)
	window, err := col.Slice(i, 1)
	if err != nil {
		c.fail(err)
		return kernels.Null(col.Type())
	}
	host := c.rowToHost(c.own(window))
	if !c.ok() {
		return kernels.Null(col.Type())
	}
	defer host.Release()
	return kernels.ScalarAt(host, 0)
}

// badValue is an ErrValue with a text; check names the row.
func badValue(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrValue}, args...)...)
}

// fixedColumn is a column of a call's values that is null where any of cols is.
func (c *call) fixedColumn(t arrow.DataType, values *memory.Buffer, n int64, cols ...*memory.Column) *memory.Column {
	return c.column(memory.Parts{
		Type: t, Len: n, Nulls: memory.UnknownNulls,
		Buffers: []*memory.Buffer{c.mergeValidity(n, cols...), values},
	})
}

// perDay is how many of t's units make a day: 1 for date32.
func perDay(t arrow.DataType) int64 {
	if t.ID() == arrow.DATE32 {
		return 1
	}
	return 86400 * kernels.PerSecond(kernels.UnitOf(t))
}
