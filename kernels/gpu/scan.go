package gpu

import (
	"bytes"
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// scanTile is the number of rows that one group of scan.cl and scansum.cl takes.
const scanTile = 2048

// The tree of tiles of scansum.cl, and how many it holds: 3.4e10 rows.
const (
	scanSumChildren = 64
	scanSumLevels   = 4
	scanSumTiles    = scanSumChildren * scanSumChildren * scanSumChildren * scanSumChildren
)

// scan is the GPU's ScanFunc.
func (e *Engine) scan(ctx context.Context, s device.Stream, op kernels.ScanOp, col *memory.Column, o kernels.ScanOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := col.Len()
	k := kindOf(col.Type())
	out := c.result(int64(memory.Width(col.Type())) * n)
	floating := k == kindF32 || k == kindF64
	onePass := op == kernels.CumulativeSum && k != kindWide && (floating || !o.Checked)
	if onePass && groupsFor(n, scanTile) <= scanSumTiles {
		c.scanSum(out, k, col, o)
	} else {
		c.scanTiles(out, k, op, col, o)
	}
	return c.give(c.column(memory.Parts{
		Type: col.Type(), Len: n, Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{c.scanValidity(col, o), out},
	})), c.err
}

// scanValidity is the column's own, or with KeepNulls ones up to the first null.
func (c *call) scanValidity(col *memory.Column, o kernels.ScanOptions) *memory.Buffer {
	n := col.Len()
	if !o.KeepNulls || c.validity(col).buffer == nil || n == 0 {
		return c.mergeValidity(n, col)
	}
	_, _, limit := c.edges(c.validity(col), n)
	out := c.result(bitBytes(n))
	c.launch("scan", "scan_keep", groupsFor(n, 32*group), limit, out, n)
	return out
}

// scanSum is the running sum of integers and floats, in one pass. Floats never
// overflow, so that checking them changes nothing.
func (c *call) scanSum(out *memory.Buffer, k kind, col *memory.Column, o kernels.ScanOptions) {
	tiles := groupsFor(col.Len(), scanTile)
	if tiles == 0 {
		return
	}
	nodes := int64(0)
	for level, n := 0, tiles; level < scanSumLevels; level, n = level+1, groupsFor(n, scanSumChildren) {
		nodes += n
	}
	sums, ticket := c.zeroed(16*nodes), c.zeroed(4)
	c.launch("scansum", "scan_sum", tiles, int32(k), c.data(col), c.validity(col), col.Len(), flag(o.Exclusive), out, sums, ticket)
}

func flag(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

// scanTiles is every other running reduction, in a shape that depends on the
// number of rows alone.
func (c *call) scanTiles(out *memory.Buffer, k kind, op kernels.ScanOp, col *memory.Column, o kernels.ScanOptions) {
	tiles := groupsFor(col.Len(), scanTile)
	if tiles == 0 {
		return
	}
	totals := c.temp(16 * tiles)
	args := []any{int32(op), int32(k), c.data(col), c.validity(col), col.Len()}
	c.launch("scan", "scan_tiles", tiles, append(args[:len(args):len(args)], totals)...)
	c.launch("scan", "scan_totals", 1, int32(op), int32(k), totals, tiles)
	badArg := null()
	var bad *memory.Buffer
	if o.Checked && (op == kernels.CumulativeSum || op == kernels.CumulativeProduct) {
		bad = c.upload(bytes.Repeat([]byte{255}, 8))
		badArg = bad
	}
	c.launch("scan", "scan_rows", tiles, append(args, totals, flag(o.Exclusive), c.scanNone(op, col), out, badArg)...)
	if bad == nil {
		return
	}
	if row := c.readInt64(bad, 0); row >= 0 {
		c.scanOverflow(op, col, o, row)
	}
}

// scanNone is the word of the identity of a running minimum or maximum.
func (c *call) scanNone(op kernels.ScanOp, col *memory.Column) uint64 {
	v := kernels.ScanIdentity(op, col.Type())
	if kernels.FloatTypes.Has(col.Type().ID()) {
		return kernels.Float64(v.Float64()).Uint64()
	}
	return v.Uint64()
}

// scanOverflow fails where a result shows the sum that row, the first, made too
// big: an exclusive one only does at the next value, and one that is null never.
func (c *call) scanOverflow(op kernels.ScanOp, col *memory.Column, o kernels.ScanOptions, row int64) {
	v, n := c.validity(col), col.Len()
	if o.Exclusive {
		row++
		if v.buffer != nil && row < n {
			next, _, _ := c.edges(vector{v.buffer, v.at + row}, n-row)
			row += next
		}
	}
	if row >= n {
		return
	}
	if _, _, firstNull := c.edges(v, n); o.KeepNulls && firstNull < row {
		return
	}
	c.failf(device.ErrValue, "row %d: %s overflows %s", row, op, col.Type())
}
