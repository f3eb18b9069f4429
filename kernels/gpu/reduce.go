package gpu

import (
	"context"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// reduce is the GPU's ReduceFunc: groups reduce parts of the column, the host
// joins their few words. Sums of floats have the shape that the contract
// states, bit for bit.
func (e *Engine) reduce(ctx context.Context, s device.Stream, op kernels.Aggregation, col *memory.Column, o kernels.AggregateOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	t, err := kernels.AggregateType(op, col.Type())
	if err != nil {
		return nil, err
	}
	rows := col.Len()
	if op == kernels.ArgMin || op == kernels.ArgMax {
		t = kernels.IndexType(rows)
	}
	if op == kernels.CountAll {
		return c.give(c.scalarColumn(kernels.Int64(rows))), c.err
	}
	if op == kernels.CountDistinct {
		distinct := int64(0)
		if rows > 0 && col.Type().ID() != arrow.NULL {
			distinct = c.countDistinct(col)
		}
		return c.give(c.scalarColumn(kernels.Int64(distinct))), c.err
	}
	r := reduction{c, op, c.decode(col), t, o, rows, 0}
	if !c.ok() {
		return nil, c.err
	}
	if col.Type().ID() != arrow.NULL {
		r.valid = c.countBits(c.validity(r.col), rows)
	}
	return c.give(r.result()), c.err
}

// reduction is one call of reduce over a plain column.
type reduction struct {
	*call
	op          kernels.Aggregation
	col         *memory.Column
	t           arrow.DataType // of the result
	o           kernels.AggregateOptions
	rows, valid int64
}

func (r *reduction) result() *memory.Column {
	null := kernels.Null(r.t)
	switch r.op {
	case kernels.Count:
		return r.scalarColumn(kernels.Int64(r.valid))
	case kernels.Any, kernels.All:
		ones := int64(0)
		if r.valid > 0 {
			ones = r.trues()
		}
		if v, known := r.o.Judge(r.op, ones > 0, ones < r.valid, r.rows, r.valid); known {
			return r.scalarColumn(kernels.Bool(v))
		}
		return r.scalarColumn(null)
	}
	if r.o.Nulled(r.op, r.rows, r.valid) {
		return r.scalarColumn(null)
	}
	switch {
	case r.op == kernels.Sum || r.op == kernels.Product || r.op == kernels.SumWrapping:
		return r.scalarColumn(r.total().As(r.t))
	case r.valid == 0:
		return r.scalarColumn(null)
	case r.op == kernels.Mean || r.op == kernels.Var || r.op == kernels.Std:
		return r.scalarColumn(r.moment())
	default:
		return r.picked()
	}
}

// args are COLUMN of reduce.cl and the number of rows.
func (r *reduction) args() []any {
	return []any{int32(kindOf(r.col.Type())), r.data(r.col), r.validity(r.col), r.rows}
}

// partials runs an entry that leaves words 64-bit words for each group.
func (r *reduction) partials(entry string, words int64, args ...any) []uint64 {
	groups := r.strided(r.rows)
	out := r.temp(8 * words * groups)
	r.launch("reduce", entry, groups, append(args, out)...)
	return words64(r.read(out, 0, 8*words*groups))
}

func (r *reduction) float() bool { return kernels.FloatTypes.Has(r.col.Type().ID()) }

// total is Sum or Product.
func (r *reduction) total() kernels.Scalar {
	switch {
	case r.float():
		op := int32(0)
		if r.op == kernels.Product {
			op = 1
		}
		sum, _ := r.shaped(op, 0)
		return kernels.Float64(sum)
	case r.op == kernels.Product:
		product := uint64(1)
		if r.valid > 0 {
			for _, w := range r.partials("reduce_product", 1, r.args()...) {
				product *= w
			}
			near, _ := r.shaped(1, 0)
			if r.ok() && !holdsProduct(product, near, kernels.SignedTypes.Has(r.t.ID())) {
				r.overflow(r.op, r.t)
			}
		}
		return kernels.Int64(int64(product))
	default:
		v, err := kernels.Total(r.op, r.t, r.exact())
		if r.ok() {
			r.fail(err)
		}
		return v.As(r.t)
	}
}

// exact is the sum of integers, bools or unscaled decimals.
func (r *reduction) exact() *big.Int {
	sum := new(big.Int)
	if r.valid == 0 {
		return sum
	}
	if r.col.Type().ID() == arrow.BOOL {
		return sum.SetInt64(r.trues())
	}
	part := new(big.Int)
	for w := r.partials("reduce_sum", 3, r.args()...); len(w) >= 3; w = w[3:] {
		part.SetInt64(int64(w[2]))
		for _, word := range []uint64{w[1], w[0]} {
			part.Lsh(part, 64).Or(part, new(big.Int).SetUint64(word))
		}
		sum.Add(sum, part)
	}
	return sum
}

// shaped is the sum (op 0) or product (1) of the values as float64, or the sums
// of the differences from mean and of their squares (2).
func (r *reduction) shaped(op int32, mean float64) (sum, squares float64) {
	if r.rows == 0 {
		return float64(op), 0
	}
	scale := 1.0
	if d, ok := r.col.Type().(*arrow.Decimal128Type); ok {
		scale = math.Pow10(int(d.Scale))
	}
	blocks := groupsFor(r.rows, kernels.ReduceBlock)
	out := r.temp(8 * blocks)
	second := null()
	var squared *memory.Buffer
	if op == 2 {
		squared = r.temp(8 * blocks)
		second = squared
	}
	args := r.args()
	r.launch("reduce", "reduce_blocks", groupsFor(blocks, group/8), op, args[0], args[1], args[2], scale, mean, r.rows, out, second)
	sum = r.tree(op, out, blocks)
	if op == 2 {
		squares = r.tree(op, squared, blocks)
	}
	return sum, squares
}

// tree joins block sums by neighbours until one is left.
func (r *reduction) tree(op int32, in *memory.Buffer, n int64) float64 {
	for n > 1 {
		groups := groupsFor(n, 2*group)
		out := r.temp(8 * groups)
		r.launch("reduce", "reduce_tree", groups, op, in, n, out)
		in, n = out, groups
	}
	return math.Float64frombits(uint64(r.readInt64(in, 0)))
}

// moment is Mean, Var or Std of at least one value.
func (r *reduction) moment() kernels.Scalar {
	if r.op == kernels.Mean {
		return kernels.Float64(r.mean())
	}
	if r.valid <= int64(r.o.Ddof) {
		return kernels.Null(r.t)
	}
	differences, squares := r.deviations()
	v := kernels.Variance(differences, squares, r.valid, r.o.Ddof)
	if r.op == kernels.Std {
		v = math.Sqrt(v)
	}
	return kernels.Float64(v)
}

// mean is the mean of at least one value.
func (r *reduction) mean() float64 {
	switch d := r.col.Type().(type) {
	case *arrow.Float32Type, *arrow.Float64Type:
		sum, _ := r.shaped(0, 0)
		return sum / float64(r.valid)
	case *arrow.Decimal128Type:
		sum, _ := new(big.Float).SetInt(r.exact()).Float64()
		return sum / math.Pow10(int(d.Scale)) / float64(r.valid)
	default:
		sum, _ := new(big.Float).SetInt(r.exact()).Float64()
		return sum / float64(r.valid)
	}
}

// deviations are the sums of the differences from the mean and of their squares,
// of values that float64 does not hold taken from the least of them.
func (r *reduction) deviations() (d, squares float64) {
	if !kernels.FromLeast(r.col.Type()) {
		return r.shaped(2, r.mean())
	}
	low, ok := r.shifts(r.col)
	if !ok {
		return r.shaped(2, r.mean())
	}
	from := *r
	if from.col = r.fromLeast(r.col, leastScalar(r.col.Type(), low)); !r.ok() {
		return 0, 0
	}
	sum, _ := from.shaped(0, 0)
	return from.shaped(2, sum/float64(r.valid))
}

// leastScalar is a number as a scalar of a type of 64 bits or a decimal.
func leastScalar(t arrow.DataType, v *big.Int) kernels.Scalar {
	if t.ID() == arrow.DECIMAL128 {
		return kernels.Decimal(t, decimal128.FromBigInt(v))
	}
	if v.IsInt64() {
		return kernels.Int(t, v.Int64())
	}
	return kernels.Int(t, int64(v.Uint64()))
}

// trues counts the values that are true.
func (r *reduction) trues() int64 {
	count := r.zeroed(16)
	r.launch("reduce", "reduce_truth", r.strided((r.rows+31)/32), r.bits(r.col), r.validity(r.col), r.rows, count)
	return r.readInt64(count, 1)
}

// picked is Min, Max, First, Last, ArgMin or ArgMax of at least one value.
func (r *reduction) picked() *memory.Column {
	row := r.pick()
	if !r.ok() {
		return nil
	}
	at := r.scalarColumn(kernels.Int(arrow.PrimitiveTypes.Uint64, row))
	if r.op == kernels.ArgMin || r.op == kernels.ArgMax {
		return r.scalarColumn(kernels.Int(r.t, row))
	}
	if !r.ok() {
		return nil
	}
	out, err := r.e.take(r.ctx, r.s, r.col, at, kernels.TakeOptions{Trusted: true})
	r.fail(err)
	return r.own(out)
}

func (r *reduction) pick() int64 {
	if r.op == kernels.First || r.op == kernels.Last {
		first, last, _ := r.edges(r.validity(r.col), r.rows)
		if r.op == kernels.Last {
			return last
		}
		return first
	}
	greatest := int32(0)
	if r.op == kernels.Max || r.op == kernels.ArgMax {
		greatest = 1
	}
	args := append([]any{greatest}, r.args()[:3]...)
	if kernels.BinaryTypes.Has(r.col.Type().ID()) {
		groups := r.strided(r.rows)
		candidates, winner := r.temp(8*groups), r.temp(8)
		args = append(args, r.bytes(r.col))
		args = args[:len(args):len(args)]
		r.launch("reduce", "reduce_pick_text", groups, append(args, null(), r.rows, candidates)...)
		r.launch("reduce", "reduce_pick_text", 1, append(args, candidates, groups, winner)...)
		return r.readInt64(winner, 0)
	}
	var best [3]uint64
	best[2] = math.MaxInt64
	for w := r.partials("reduce_pick", 3, append(args, r.rows)...); len(w) >= 3; w = w[3:] {
		if before([3]uint64(w), best) {
			best = [3]uint64(w)
		}
	}
	return int64(best[2])
}

// before is pick_before of reduce.cl.
func before(a, b [3]uint64) bool {
	if none, also := a[2] == math.MaxInt64, b[2] == math.MaxInt64; none != also {
		return also
	}
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// edges are the first and the last one among n bits, and the first zero; n
// where there is none. It waits for the stream.
func (c *call) edges(v vector, n int64) (first, last, zero int64) {
	if v.buffer == nil {
		return 0, n - 1, n
	}
	found := c.upload([]byte{0: 255, 1: 255, 2: 255, 3: 255, 4: 255, 5: 255, 6: 255, 7: 255, 16: 255, 17: 255, 18: 255, 19: 255, 20: 255, 21: 255, 22: 255, 23: 255})
	c.launch("reduce", "reduce_edges", c.strided((n+31)/32), v, n, found)
	w := words64(c.read(found, 0, 24))
	clip := func(w uint64) int64 { return int64(min(w, uint64(n))) }
	if w[1] == 0 {
		return n, n, clip(w[2])
	}
	return clip(w[0]), int64(w[1]) - 1, clip(w[2])
}
