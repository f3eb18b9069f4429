package columns

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/float16"
	"github.com/volley-go/volley/memory"
)

// reducing is a reduction of columns under way.
type reducing struct {
	t       *Comm
	call    string
	op      collective.Op
	root    int
	scatter bool // every rank gets some rows
	all     bool // this rank gets a result
	cols    []*reduced
}

// reduced is a column of it: what this rank gives, then what comes of it.
type reduced struct {
	typ    collective.Type // float32 for float16, which is summed in that and rounded once
	half   bool            // float16
	near   *memory.Column  // where the host can read it
	rows   int64
	nulls  bool           // some rank has some
	values *memory.Buffer // identities in the place of nulls
	marks  *memory.Buffer // says of each row whether there is a value; nil where nulls is false
}

func (r *reducing) release() {
	for _, c := range r.cols {
		c.near.Release()
		c.values.Release()
		c.marks.Release()
	}
}

// add stages a column.
func (r *reducing) add(ctx context.Context, typ collective.Type, c *memory.Column) error {
	near := c
	if c.Place().HostAccessible() {
		c.Retain()
	} else {
		var err error
		if near, err = device.Move(ctx, r.t.stream, r.t.dev.Pinned(), c); err != nil {
			return err
		}
	}
	short := typ == collective.Float16
	if short {
		typ = collective.Float32
	}
	r.cols = append(r.cols, &reduced{typ: typ, half: short, near: near, rows: near.Len(), nulls: near.NullCount() > 0})
	return nil
}

// compare holds the ranks' lengths against each other, and finds the columns that have a
// null on some rank.
func (r *reducing) compare(ctx context.Context) error {
	said := make([]int64, 0, 3*len(r.cols))
	for _, c := range r.cols {
		said = append(said, c.rows, -c.rows, c.near.NullCount())
	}
	if err := r.t.c.AllReduce(ctx, collective.Of(said), collective.Of(said), collective.Max); err != nil {
		return err
	}
	for i, c := range r.cols {
		if most, least := said[3*i], -said[3*i+1]; most != least {
			return device.Errorf(device.ErrMismatch, "", r.call, "column %d has from %d to %d rows, here %d", i, least, most, c.rows)
		}
		if c.nulls = said[3*i+2] > 0; c.nulls && r.op.User() {
			return device.Errorf(device.ErrUnsupported, "", r.call, "column %d has nulls, of which %s, a user's reduction, knows nothing", i, r.op)
		}
	}
	return nil
}

// run reduces the columns and makes the results.
func (r *reducing) run(ctx context.Context, types []arrow.DataType) ([]*memory.Column, error) {
	for _, c := range r.cols {
		if err := r.lay(c); err != nil {
			return nil, r.t.fail(err)
		}
	}
	if err := r.combine(ctx); err != nil || !r.all {
		return nil, err
	}
	results := make([]*memory.Column, 0, len(types))
	defer func() { Release(results) }()
	for i, c := range r.cols {
		col, err := r.result(c, types[i])
		if err != nil {
			return nil, r.t.fail(err)
		}
		results = append(results, col)
	}
	got, err := r.t.own(ctx, results)
	if err != nil {
		return nil, r.t.fail(err)
	}
	return got, nil
}

// averages says that rows have counts, by which they are divided.
func (r *reducing) averages(c *reduced) bool {
	return c.nulls && r.op.String() == collective.Avg.String()
}

// lay copies a column's values, with identities in the place of nulls, and marks the rows
// that have one: with a count of 1 for averages, else a bit, or a byte where the rows are
// parted among the ranks, which would part bytes of bits.
func (r *reducing) lay(c *reduced) (err error) {
	w := int64(c.typ.Width())
	if c.values, err = memory.New(r.t.near(), c.rows*w); err != nil {
		return err
	}
	switch {
	case c.rows == 0:
	case c.half:
		wide, from := memory.View[float32](c.values), c.near.Offset()
		for i, h := range memory.View[uint16](c.near.Buffer(1))[from : from+c.rows] {
			wide[i] = float16.Widen(h)
		}
	default:
		from := c.near.Offset() * w
		copy(c.values.Bytes(), c.near.Buffer(1).Bytes()[from:from+c.rows*w])
	}
	if !c.nulls {
		return nil
	}
	bytes := c.rows
	switch {
	case r.averages(c):
		bytes *= 4
	case !r.scatter:
		bytes = memory.BitmapBytes(c.rows)
	}
	if c.marks, err = memory.NewZeroed(r.t.near(), bytes); err != nil {
		return err
	}
	valid := func(int64) bool { return true }
	if c.near.NullCount() > 0 {
		bits, from := memory.Bitmap(c.near.Buffer(0).Bytes()), c.near.Offset()
		valid = func(i int64) bool { return bits.Get(from + i) }
		identify(c.typ, c.values, r.op, valid)
	}
	for i := range c.rows {
		switch {
		case !valid(i):
		case r.averages(c):
			memory.View[uint32](c.marks)[i] = 1
		case r.scatter:
			c.marks.Bytes()[i] = 1
		default:
			memory.Bitmap(c.marks.Bytes()).Set(i)
		}
	}
	return nil
}

// combine reduces values and marks of all columns: short ones together, where each rank
// gets all rows.
func (r *reducing) combine(ctx context.Context) error {
	g := r.t.c.Group()
	for _, c := range r.cols {
		values, err := collective.Raw(c.typ, c.values.Bytes())
		if err != nil {
			return r.t.fail(err)
		}
		op, marks, marksOp := r.op, collective.Vector{}, collective.Or
		if r.averages(c) {
			op, marks, marksOp = collective.Sum, collective.Of(memory.View[uint32](c.marks)), collective.Sum
		} else if c.nulls {
			marks = collective.Of(c.marks.Bytes())
		}
		switch {
		case r.scatter:
			if err := r.part(ctx, &c.values, values, c.rows, op); err != nil {
				return err
			}
			if c.nulls {
				if err := r.part(ctx, &c.marks, marks, c.rows, marksOp); err != nil {
					return err
				}
			}
			c.rows = r.parts(c.rows)[r.t.c.Rank()]
		case r.call == "Reduce":
			g.Reduce(values, values, op, r.root)
			if c.nulls {
				g.Reduce(marks, marks, marksOp, r.root)
			}
		default:
			g.AllReduce(values, values, op)
			if c.nulls {
				g.AllReduce(marks, marks, marksOp)
			}
		}
	}
	return g.Run(ctx)
}

// parts are the rows of every rank of a ReduceScatter.
func (r *reducing) parts(rows int64) []int64 {
	size := int64(r.t.c.Size())
	counts := make([]int64, size)
	for q := range counts {
		counts[q] = rows / size
		if int64(q) < rows%size {
			counts[q]++
		}
	}
	return counts
}

// part puts this rank's part of the reduction in the place of what it gave.
func (r *reducing) part(ctx context.Context, b **memory.Buffer, in collective.Vector, rows int64, op collective.Op) error {
	counts := r.parts(rows)
	own, err := memory.New(r.t.near(), counts[r.t.c.Rank()]*int64(in.Type().Width()))
	if err != nil {
		return r.t.fail(err)
	}
	out, err := collective.Raw(in.Type(), own.Bytes())
	if err != nil {
		own.Release()
		return r.t.fail(err)
	}
	if err := r.t.c.ReduceScatterV(ctx, in, out, counts, op); err != nil {
		own.Release()
		return err
	}
	(*b).Release()
	*b = own
	return nil
}

// result makes a column of what was reduced.
func (r *reducing) result(c *reduced, typ arrow.DataType) (*memory.Column, error) {
	if r.averages(c) {
		divide(c.typ, c.values, memory.View[uint32](c.marks))
	}
	values, err := r.narrow(c)
	if err != nil {
		return nil, err
	}
	p := memory.Parts{Type: typ, Len: c.rows, Buffers: []*memory.Buffer{nil, values}}
	if !c.nulls {
		return memory.NewColumn(p)
	}
	bits := c.marks.Retain()
	if r.averages(c) || r.scatter {
		bits.Release()
		if bits, err = memory.NewZeroed(r.t.near(), memory.BitmapBytes(c.rows)); err != nil {
			values.Release()
			return nil, err
		}
		for i := range c.rows {
			if r.averages(c) && memory.View[uint32](c.marks)[i] > 0 || !r.averages(c) && c.marks.Bytes()[i] > 0 {
				memory.Bitmap(bits.Bytes()).Set(i)
			}
		}
	}
	p.Buffers[0], p.Nulls = bits, c.rows-memory.Bitmap(bits.Bytes()).Count(0, c.rows)
	return memory.NewColumn(p)
}

// narrow gives a column's values as its type has them.
func (r *reducing) narrow(c *reduced) (*memory.Buffer, error) {
	if !c.half {
		return c.values.Retain(), nil
	}
	b, err := memory.New(r.t.near(), c.rows*2)
	if err != nil || c.rows == 0 {
		return b, err
	}
	to := memory.View[uint16](b)
	for i, x := range memory.View[float32](c.values)[:c.rows] {
		to[i] = float16.Round(x)
	}
	return b, nil
}
