package table

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/stats"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Inner joins of two sides of which neither is small, in left order or any, are done
// on whole columns where the backend has a kernel for it (kernels.JoinColumns).
const (
	// wholeLeast is how many right rows there must be: a table of fewer stays in
	// the caches, and rows find their partners there faster than they are moved.
	wholeLeast = 1 << 18
	// wholeClose is how many there must be in left order where keys are close to each
	// other and some come twice: an array over their range of fewer stays in the
	// caches. In any order they are joined whole from wholeLeast on, which takes half
	// to two thirds of the time, unless a key comes wholeOften times. Where none comes
	// twice the array is read once for each left row, unless the backend
	// has a way that takes less time (stats.JoinsApart).
	wholeClose = 1 << 22
	wholeOften = 4
	// wholeApart is how many times the rows the range of keys may be that rise with them:
	// a table of such keys is bits in their order, made in one pass.
	wholeApart = 64
	// wholeMost is how many times the right rows, which are held anyway, may be
	// held of left rows.
	wholeMost = 4
	// wholePairs is how many times the rows of both sides the pairs may be in left
	// order, as they are all found before the first is given. Where they are more,
	// left rows stream past a table.
	wholePairs = 2
	// wholeRows is about how many left rows are joined at once.
	wholeRows = 16 * probeRows
)

// wholeWay says whether a join is done on whole columns.
type wholeWay int

const (
	wholeNever      wholeWay = iota
	wholeIfRepeated          // if a table shows that keys come twice
	wholeDistinct            // as no key seems to come twice
	wholeAlways
)

// joinsApart says whether distinct close keys of so many right rows are joined by parts. Tests have
// it say what they need.
var joinsApart = func(b *kernels.Backend, rows int64) bool {
	return stats.JoinsApart(b.Device.Info(), b.Set.Name, rows)
}

// wholeWay is not known before the table of close keys is built where a sample shows
// no key twice. A table without repeated keys is used then, as it is for small sides.
func (o *probeStep) wholeWay() wholeWay {
	n, set := o.node, o.r.backend.Set
	if n.kind != Inner || n.streams || len(n.outputs) == 0 || o.build.Len() < o.r.limit(wholeLeast) || !set.JoinsColumns(o.keys, n.nullsEqual) {
		return wholeNever
	}
	_, plain := o.leftKeys.ColumnOf(0)
	_, also := o.rightKeys.ColumnOf(0)
	if !plain || !also {
		return wholeNever
	}
	span, rows := spanOf(o.keys[0]), uint64(o.build.Len())
	if span > 2*rows { // keys are not close
		if span <= wholeApart*rows && risingKeys(o.keys[0]) {
			return wholeNever
		}
		return wholeAlways
	}
	distinct, many := joinsApart(o.r.backend, o.build.Len()), o.build.Len() >= o.r.limit(wholeClose)
	some := n.anyOrder && wholeOften*span > rows
	switch {
	case !distinct && !many && !some:
		return wholeNever
	case !repeatedKeys(o.keys[0]):
		if !distinct && !many {
			return wholeNever
		}
		if distinct {
			return wholeDistinct
		}
		return wholeIfRepeated
	case many || some:
		return wholeAlways
	}
	return wholeNever
}

// startWhole begins such a join with all rows of left. It is not done where these are
// too many or memory is short: rows is nil then, and held are the batches that were
// read.
func (o *probeStep) startWhole(ctx context.Context, left exec.Source, way wholeWay) (held []*Batch, rows kernels.JoinRows, err error) {
	defer func() {
		if rows != nil || err != nil {
			exec.ReleaseAll(held)
			held = nil
		}
	}()
	for n := int64(0); ; {
		b, err := left.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return held, nil, err
		}
		held = append(held, b)
		if n += b.Len(); n/wholeMost > o.build.Len() {
			return held, nil, nil
		}
	}
	rows, err = o.joinWhole(ctx, held, way)
	if errors.Is(err, device.ErrOutOfMemory) {
		return held, nil, nil
	}
	return held, rows, err
}

// joinWhole joins the batches of the left side, put in one, with the right side.
func (o *probeStep) joinWhole(ctx context.Context, batches []*Batch, way wholeWay) (kernels.JoinRows, error) {
	n := o.node
	leftKey, _ := o.leftKeys.ColumnOf(0)
	rightKey, _ := o.rightKeys.ColumnOf(0)
	whole, err := o.r.concat(ctx, n.left.schema(), exec.Retained(batches))
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	left := kernels.JoinSide{Keys: []*memory.Column{whole.Columns()[leftKey]}}
	right := kernels.JoinSide{Keys: []*memory.Column{o.build.Columns()[rightKey]}}
	for _, out := range n.outputs {
		if out.onLeft() {
			left.Columns = append(left.Columns, whole.ColumnNamed(out.left))
		} else {
			right.Columns = append(right.Columns, o.build.ColumnNamed(out.right))
		}
	}
	options := kernels.JoinOptions{AnyOrder: n.anyOrder, Distinct: way == wholeDistinct}
	if !n.anyOrder {
		options.MaxPairs = wholePairs * (whole.Len() + o.build.Len())
	}
	rows, err := o.r.backend.JoinColumns(ctx, o.r.stream, left, right, options)
	if err != nil {
		return nil, err
	}
	if err := o.roomForPairs(left, right, whole.Len()); err != nil {
		rows.Release()
		return nil, err
	}
	return rows, nil
}

// roomForPairs says whether memory is left for the pairs of a join that gives each left row
// one. A join that has given some in any order cannot begin anew with less memory.
func (o *probeStep) roomForPairs(left, right kernels.JoinSide, rows int64) error {
	var bytes int64
	for _, c := range left.Columns {
		bytes += memory.Size(c, nil)
	}
	for _, c := range right.Columns {
		bytes += memory.Size(c, nil) / o.build.Len() * rows
	}
	room, err := memory.New(o.r.backend.Device.Memory(), bytes)
	if err != nil {
		return err
	}
	room.Release()
	return nil
}

// spanOf guesses, by a sample, how far whole numbers are from each other at most; 0
// where all are null.
func spanOf(c *memory.Column) uint64 {
	const sample = 512
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range int64(sample) {
		if v := kernels.ScalarAt(c, i*(c.Len()-1)/(sample-1)); v.Valid() {
			least, greatest = min(least, v.Int64()), max(greatest, v.Int64())
		}
	}
	if least > greatest {
		return 0
	}
	return uint64(greatest) - uint64(least)
}

// risingKeys says whether no key of a sample is null or below the one before it.
func risingKeys(c *memory.Column) bool {
	const sample = 512
	before := int64(math.MinInt64)
	for i := range int64(sample) {
		v := kernels.ScalarAt(c, i*(c.Len()-1)/(sample-1))
		if !v.Valid() || v.Int64() < before {
			return false
		}
		before = v.Int64()
	}
	return true
}

// repeatedKeys says whether a key comes twice in a sample, of 8 rows for each of
// the square root of all: of n keys drawn from a range of n, 32 pairs are in it.
// It is taken in runs, as equal keys may lie side by side.
func repeatedKeys(c *memory.Column) bool {
	const run = 64
	runs := max(1, int64(8*math.Sqrt(float64(c.Len())))/run)
	seen := make(map[int64]struct{}, runs*run)
	for i := range runs {
		from := i * max(0, c.Len()-run) / runs
		for row := from; row < min(from+run, c.Len()); row++ {
			v := kernels.ScalarAt(c, row)
			if !v.Valid() {
				continue
			}
			if _, twice := seen[v.Int64()]; twice {
				return true
			}
			seen[v.Int64()] = struct{}{}
		}
	}
	return false
}

// wholeSource gives the rows of such a join.
type wholeSource struct {
	*probeStep
	left exec.Source // read to its end
	rows kernels.JoinRows
}

func (o *wholeSource) Close() {
	o.left.Close()
	o.rows.Release()
	o.probeStep.Close()
}

func (o *wholeSource) Next(ctx context.Context) (*Batch, error) {
	rows := o.r.limit(wholeRows)
	given, err := o.rows.Next(ctx, rows)
	for errors.Is(err, device.ErrOutOfMemory) && rows > 1 {
		rows /= 4
		given, err = o.rows.Next(ctx, rows)
	}
	if err == io.EOF {
		return nil, err
	}
	if err != nil {
		return nil, wrapError("join", err)
	}
	lefts := 0
	for _, out := range o.node.outputs {
		if out.onLeft() {
			lefts++
		}
	}
	var columns []*memory.Column
	l, r := given[:lefts], given[lefts:]
	for _, out := range o.node.outputs {
		if out.onLeft() {
			columns, l = append(columns, l[0]), l[1:]
		} else {
			columns, r = append(columns, r[0]), r[1:]
		}
	}
	return NewBatch(o.node.out, columns[0].Len(), columns)
}
