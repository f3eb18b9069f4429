package distributed

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// Join matches rows with those of another table on the same Comm, of any kind and with the options that
// Query.Join has. Every rank joins what it has, once the rows that match are on one rank:
//
//   - where one side's bytes times the ranks are less than what a shuffle moves, and the kind
//     allows it, all ranks get that side and the other one stays (inner and cross: either side;
//     left, semi and anti: the right one; right: the left one);
//   - else rows go to ranks by the hashes of their keys. A side that is spread by the hash of keys
//     of the join already stays, and the other one follows it. Of a key that
//     is frequent on a side (more than a quarter of a rank's share) the rows stay where they are and all ranks get those
//     of the other side, where the kind allows it.
//
// Rows with null keys, which match nothing, do not move unless NullsEqual is given.
//
// Order: none over all ranks. Each rank has its rows in left order and then right order, where
// rows that came are in the order of the ranks that they were on.
func (d *Table) Join(ctx context.Context, other *Table, kind table.Kind, options ...table.JoinOption) (*Table, error) {
	spec := table.SpecOf(options...)
	o := d.start(ctx, "Join", joinText(kind, spec))
	j := &join{op: o, kind: kind, options: options, spec: spec, left: d, right: other}
	o.do(j.check)
	if o.meet() != nil {
		return nil, o.ended
	}
	return j.run()
}

func joinText(kind table.Kind, s table.JoinSpec) string {
	text := kind.String()
	for i := range s.Left {
		text += fmt.Sprintf("%s %s = %s", map[bool]string{true: " on", false: ","}[i == 0], s.Left[i], s.Right[i])
	}
	if s.NullsEqual {
		text += ", nulls equal"
	}
	if s.Suffix != "_right" {
		text += fmt.Sprintf(", suffix %q", s.Suffix)
	}
	if s.Where != nil {
		text += ", where " + s.Where.String()
	}
	return text
}

// join is a Join under way.
type join struct {
	*op
	kind        table.Kind
	options     []table.JoinOption
	spec        table.JoinSpec
	left, right *Table
	out         *arrow.Schema
	types       []arrow.DataType // in which keys are compared, pair by pair
}

// check joins no rows, which finds what is wrong with the arguments.
func (j *join) check() error {
	if j.right == nil {
		return fmt.Errorf("%w: no table given", device.ErrMismatch)
	}
	if j.left.comm != j.right.comm {
		return fmt.Errorf("%w: the two tables are on different Comms", device.ErrMismatch)
	}
	var none [2]*table.Table
	for i, t := range []*Table{j.left, j.right} {
		var err error
		if none[i], err = table.NewTable(t.part.Backend(), t.Schema(), nil); err != nil {
			return err
		}
		defer none[i].Release()
	}
	out, err := j.local(none[0], none[1])
	if err != nil {
		return err
	}
	j.out = out.Schema()
	out.Release()
	for i := range j.spec.Left {
		t, _ := expr.KeyType(typeOf(j.left, j.spec.Left[i]), typeOf(j.right, j.spec.Right[i])) // as the join found it
		j.types = append(j.types, plain(t))
	}
	return nil
}

func typeOf(d *Table, column string) arrow.DataType {
	return d.Schema().Field(d.Schema().FieldIndices(column)[0]).Type
}

// local joins tables of this rank.
func (j *join) local(left, right *table.Table) (*table.Table, error) {
	return left.Query().Join(right, j.kind, j.options...).Collect(j.ctx)
}

// allRight and allLeft report whether a row of the one side may be joined on every rank: where
// no rank has to know that a row of it matches nothing.
func (j *join) allRight() bool {
	return j.kind != table.Right && j.kind != table.Full
}

func (j *join) allLeft() bool {
	return j.kind == table.Inner || j.kind == table.Right || j.kind == table.Cross
}

// run chooses a way, alike on all ranks, and goes it.
func (j *join) run() (*Table, error) {
	left, right := j.left.by.Scheme == Replicated, j.right.by.Scheme == Replicated
	switch {
	case left && right:
		return j.end(j.left.part, j.right.part, Partitioning{Scheme: Replicated})
	case j.comm.Size() == 1:
		return j.end(j.left.part, j.right.part, Partitioning{})
	case right && j.allRight():
		return j.end(j.left.part, j.right.part, j.ofLeft(j.left.by))
	case left && j.allLeft():
		return j.end(j.left.part, j.right.part, j.ofRight(j.right.by))
	case j.left.by.beside(j.right.by, j.common()):
		return j.end(j.left.part, j.right.part, j.left.by.first())
	}
	s := j.shuffling()
	ranks, l, r := int64(j.comm.Size()), j.left.size(), j.right.size()
	// A cross join has no keys to move rows by.
	cheaper := func(small int64) bool { return j.kind == table.Cross || small < s.moves/ranks }
	switch {
	case r <= l && j.allRight() && cheaper(r), !j.allLeft() && j.allRight() && cheaper(r):
		return j.broadcastRight()
	case j.allLeft() && cheaper(l):
		return j.broadcastLeft()
	}
	return s.run()
}

// common are the keys that have one name on both sides: of these the result has one column, whichever side a row is from.
func (j *join) common() (columns []string) {
	for i, k := range j.spec.Left {
		if j.spec.Right[i] == k {
			columns = append(columns, k)
		}
	}
	return columns
}

// size is about how many bytes a table has, each row once.
func (d *Table) size() int64 {
	if d.by.Scheme == Replicated {
		return d.bytes[0]
	}
	return sum(d.bytes)
}

func (j *join) broadcastRight() (*Table, error) {
	left := j.once(j.left)
	defer left.Release()
	right := j.everywhere(j.right.Schema(), j.once(j.right))
	defer right.Release()
	return j.end(left, right, j.ofLeft(j.left.by))
}

func (j *join) broadcastLeft() (*Table, error) {
	right := j.once(j.right)
	defer right.Release()
	left := j.everywhere(j.left.Schema(), j.once(j.left))
	defer left.Release()
	return j.end(left, right, j.ofRight(j.right.by))
}

// end joins what this rank has, and ends the Join.
func (j *join) end(left, right *table.Table, by Partitioning) (*Table, error) {
	out := j.table(func() (*table.Table, error) { return j.local(left, right) })
	defer out.Release()
	return j.finish(out, by)
}

// ofLeft is how the result is spread where its rows are where the left ones are, spread so.
func (j *join) ofLeft(by Partitioning) Partitioning {
	if by.Scheme == Replicated {
		return Partitioning{}
	}
	return by // all kinds that have only left rows have their columns, under their names
}

// ofRight is ofLeft for right rows, whose columns may have other names in the result.
func (j *join) ofRight(by Partitioning) Partitioning {
	if by.Scheme != Hashed {
		return Partitioning{}
	}
	by.Keys = slices.Clone(by.Keys)
	for i, k := range by.Keys {
		at := slices.Index(j.spec.Right, k)
		switch {
		case at >= 0 && j.spec.Left[at] == k: // one column for both
		case len(j.left.Schema().FieldIndices(k)) > 0:
			by.Keys[i] = k + j.spec.Suffix
		}
	}
	return by
}

// ofBoth is how the result is spread where both sides are spread by the hash of pairs of keys.
func (j *join) ofBoth(left, right Partitioning) Partitioning {
	switch j.kind {
	case table.Right:
		return j.ofRight(right)
	case table.Full:
		for i, k := range left.Keys {
			if right.Keys[i] != k { // it is null where only the other side has a row
				return Partitioning{}
			}
		}
		left.NullsAnywhere = left.NullsAnywhere || right.NullsAnywhere
	case table.Inner, table.Semi:
		left.NullsAnywhere = false // and none is there
	}
	return left
}
