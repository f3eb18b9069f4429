package table

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// The keys of a build side are handed down where it has no more than handedShare of the keys that
// the other side may have, and 1/handedTimes of its rows. A morsel of which a sample
// shows that more than keptShare of the rows stay is not looked at further; that
// depends on the morsel alone, so that groups of what is left have the same bits each time.
const (
	handedShare = 0.7
	handedTimes = 2
	keptShare   = 0.75
)

// handed are the keys that a join hands down to its left side once its right side is read.
type handed struct {
	number int
	key    int  // of the join
	few    bool // of many rows few are thought to have one of them
}

// keyTest keeps the rows whose column has one of the keys that were handed down, and all
// rows where none were.
type keyTest struct {
	of     *handed
	column string
}

func (t keyTest) text() string { return fmt.Sprintf("%s in keys %d", expr.Col(t.column), t.of.number) }

// hand has joins hand their keys down. The right side of an inner or a semi join is read
// before the first left row: rows without its keys are left out where they come from,
// below projections, the left sides of other inner and semi joins, and groups by the key. Keys
// do not go through a limit, a sort, a shared part, the left side of a left join or of an anti join, and not to
// right sides, which are read before. A join to which null equals null hands nothing down, and keys that are not
// whole numbers, dates or times are not handed down: so NaN and -0 stay with the join.
func (o *optimiser) hand(n node) node {
	if o.off[ruleJoinFilter] {
		return n
	}
	n = replaceTied(n, o.hand)
	j, ok := n.(*joinNode)
	if !ok || j.kind != Inner && j.kind != Semi || j.nullsEqual || j.streams {
		return n
	}
	out := *j
	for i, k := range j.keys {
		if !o.handsKey(j, i) {
			continue
		}
		h := &handed{number: o.handles + 1, key: i, few: o.keyShare(j, i) <= fewShare && o.guess.rows(j.right) >= fewKeys}
		if left, placed := o.handDown(out.left, k.left, h, false); placed {
			o.handles++
			out.left, out.hands = left, append(out.hands, h)
		}
	}
	if len(out.hands) == 0 {
		return n
	}
	return &out
}

// handsKey reports whether a key of a join is worth handing down, and can be.
func (o *optimiser) handsKey(j *joinNode, i int) bool {
	k, t := j.keys[i], j.keyTypes[i]
	left := typeOf(j.left, k.left)
	if left == nil || !exec.HoldsKeys(t) || !sameType(left, t) && !(arrow.IsInteger(left.ID()) && arrow.IsInteger(t.ID())) {
		return false
	}
	g := o.guess
	if handedTimes*g.rows(j.right) > g.rows(j.left) {
		return false
	}
	return o.keyShare(j, i) <= handedShare
}

// keyShare guesses which share of the keys that the left side may have is on the right side.
func (o *optimiser) keyShare(j *joinNode, i int) float64 {
	k, g := j.keys[i], o.guess
	return g.distinct(j.right, k.right) / max(g.domain(j.left, k.left), g.domain(j.right, k.right))
}

// handsAny reports whether a join is likely to hand a key down.
func (o *optimiser) handsAny(j *joinNode) bool {
	if o.off[ruleJoinFilter] || j.nullsEqual {
		return false
	}
	for i := range j.keys {
		if o.handsKey(j, i) {
			return true
		}
	}
	return false
}

// handDown puts a test of the keys at the lowest place of a left side where it leaves out rows
// before anything is done with them. placed is false where there is none. far says that the place
// is below more than the join itself and filters: there a test is worth a pass of its own.
func (o *optimiser) handDown(n node, column string, h *handed, far bool) (_ node, placed bool) {
	test := keyTest{h, column}
	switch n := n.(type) {
	case *filterNode:
		in, placed := o.handDown(n.in, column, h, false)
		if placed && !isScan(in) {
			return n.withInputs([]node{in}), true
		}
		if out, tested := o.tested(n, in, test, far); tested {
			return out, true
		}
		return n.withInputs([]node{in}), placed
	case *projectNode:
		name, found := keyBelow(n.items, column)
		if !found {
			return n, false
		}
		_, plain := renames(n)
		if in, placed := o.handDown(n.in, name, h, far || !plain); placed {
			return n.withInputs([]node{in}), true
		}
	case *groupNode:
		if name, ok := keyBelow(n.keys, column); ok {
			if in, placed := o.handDown(n.in, name, h, true); placed {
				return n.withInputs([]node{in}), true
			}
		}
	case *joinNode:
		if name, ok := n.leftOf(column); ok && (n.kind == Inner || n.kind == Semi) {
			if in, placed := o.handDown(n.left, name, h, true); placed {
				return n.withInputs([]node{in, n.right}), true
			}
		}
	case *scanNode: // of rows that a limit counts none is left out
		if n.limit > 0 || o.guess.rows(n) < o.guess.morsel {
			return n, false
		}
		out := *n
		out.keys = append(n.keys[:len(n.keys):len(n.keys)], test)
		if far {
			return testedAbove(&out, test), true
		}
		return &out, true
	}
	if far && o.guess.rows(n) >= o.guess.morsel {
		return testedAbove(n, test), true
	}
	return n, false
}

// A test in a filter costs less than what it saves where the join comes next if the filter copies
// copiedLeast bytes of a row beside its key, or if the join would look for most rows in vain, all but
// fewShare of them, among more keys than the first caches hold.
const (
	copiedLeast = 16
	fewShare    = 0.2
	fewKeys     = 1 << 15
)

// tested adds a test to a filter. far says that more than copying is saved.
func (o *optimiser) tested(n *filterNode, in node, test keyTest, far bool) (_ node, placed bool) {
	if o.guess.rows(in) < o.guess.morsel || !far && !test.of.few && copied(n.out, test.column) < copiedLeast {
		return n, false
	}
	out := *n
	out.in, out.keys = in, append(n.keys[:len(n.keys):len(n.keys)], test)
	return &out, true
}

func isScan(n node) bool {
	_, ok := n.(*scanNode)
	return ok
}

// testedAbove is a filter of its own for a test.
func testedAbove(n node, test keyTest) node {
	return &filterNode{in: n, keys: []keyTest{test}, out: n.schema()}
}

// copied is how many bytes the values of a row have in columns beside one.
func copied(s *arrow.Schema, column string) (bytes int) {
	for _, f := range s.Fields() {
		w := memory.Width(f.Type)
		if w == 0 && f.Type.ID() != arrow.BOOL {
			w = copiedLeast // of a text, about
		}
		if f.Name != column {
			bytes += w
		}
	}
	return bytes
}

// keyBelow is the column that an item hands on as it is. found is false where it computes one.
func keyBelow(items []named, name string) (_ string, found bool) {
	for _, it := range items {
		e := it.e
		for e.Kind() == expr.KindAlias {
			e = e.Args()[0]
		}
		if it.name == name && e.Kind() == expr.KindColumn {
			return e.Name(), true
		}
	}
	return "", false
}

// leftOf is the left column that a column of the result is, or equals: a right key equals the
// left one.
func (n *joinNode) leftOf(column string) (_ string, found bool) {
	for _, out := range n.outputs {
		if out.name != column {
			continue
		}
		if out.onLeft() {
			return out.left, true
		}
		for _, k := range n.keys {
			if k.right == out.right && n.kind == Inner && sameType(typeOf(n.left, k.left), typeOf(n.right, k.right)) {
				return k.left, true
			}
		}
	}
	return "", false
}

// testTexts are tests as a plan shows them.
func testTexts(tests []keyTest) string { return strings.Join(testsOf(tests), " and ") }

func testsOf(tests []keyTest) []string {
	parts := make([]string, len(tests))
	for i, t := range tests {
		parts[i] = t.text()
	}
	return parts
}

// handsText says which keys a join hands down.
func (n *joinNode) handsText() string {
	s := ""
	for _, h := range n.hands {
		s += fmt.Sprintf(", keys %d of %s", h.number, expr.Col(n.keys[h.key].right))
	}
	return s
}

// handedKeys are the keys that the joins of a run have handed down.
type handedKeys struct {
	lock sync.Mutex
	of   map[*handed]*exec.KeySet
}

// hand makes the keys of the right side known to the tests below the left side. There is none
// where memory is short.
func (o *probeStep) hand() error {
	for _, h := range o.node.hands {
		k, ok, err := exec.NewKeySet(o.r.backend.Device.Memory(), o.keys[h.key])
		if err != nil && !errors.Is(err, memory.ErrOutOfMemory) {
			return err
		}
		if ok {
			o.r.keys.put(h, k)
		}
	}
	return nil
}

func (s *handedKeys) put(h *handed, k *exec.KeySet) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of == nil {
		s.of = map[*handed]*exec.KeySet{}
	}
	s.of[h].Release()
	s.of[h] = k
}

// get is the keys that were handed down, nil where none were.
func (s *handedKeys) get(h *handed) *exec.KeySet {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.of[h]
}

func (s *handedKeys) close() {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, k := range s.of {
		k.Release()
	}
	s.of = nil
}

// setTest is a set of keys, and the column that it is of.
type setTest struct {
	keys   *exec.KeySet
	column *memory.Column
}

// setsOf are the sets that were handed down for the tests of a batch.
func (r *runner) setsOf(b *Batch, tests []keyTest) (sets []setTest) {
	for _, t := range tests {
		c := b.ColumnNamed(t.column)
		if k := r.keys.get(t.of); k != nil && c.Place().HostAccessible() {
			sets = append(sets, setTest{k, c})
		}
	}
	return sets
}

// testedMask is the mask of rows that a condition, which may be nil, is true of and whose keys
// are among those that were handed down.
func (r *runner) testedMask(mask *memory.Column, rows int64, sets []setTest) (*memory.Column, error) {
	buffer, err := memory.New(r.backend.Device.Memory(), memory.BitmapBytes(rows))
	if err != nil {
		return nil, err
	}
	kept := memory.Bitmap(buffer.Bytes())
	for i := int64(0); i < rows; i += 64 {
		n, w := min(64, rows-i), ^uint64(0)
		if mask != nil {
			w = mask.Bits().Word(mask.Offset()+i, n)
			if v := mask.Validity(); v != nil {
				w &= v.Word(mask.Offset()+i, n)
			}
		}
		kept.PutWord(i, n, w)
	}
	for _, s := range sets {
		if some, stay := s.keys.Sample(kept, s.column); float64(stay) <= keptShare*float64(some) {
			s.keys.Keep(kept, s.column)
		}
	}
	return memory.NewColumn(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: rows, Buffers: []*memory.Buffer{nil, buffer}, Place: memory.Host})
}

// condition is what the source is given when it is opened: of keys that were handed down a list
// of few, or the bounds where these are closer than those that the source states.
func (n *scanNode) condition(r *runner) *expr.Expr {
	var all []*expr.Expr
	if n.predicate != nil {
		all = append(all, n.predicate)
	}
	for _, t := range n.keys {
		if k := r.keys.get(t.of); k != nil {
			all = append(all, n.bounds(t.column, k)...)
		}
	}
	return expr.AllOf(all...)
}

// closer is the share of what a source states as the range of a column that bounds of keys must
// leave out.
const closer = 0.1

// bounds are conditions that every row meets that has one of the keys.
func (n *scanNode) bounds(column string, k *exec.KeySet) []*expr.Expr {
	col, t := expr.Col(column), typeOf(n, column)
	low, high, ok := k.Bounds()
	if !ok {
		return []*expr.Expr{expr.Lit(false)}
	}
	value := func(v int64) kernels.Scalar { return kernels.Int(t, v) }
	fits := func(v int64) bool { return value(v).Int64() == v && (v >= 0 || t.ID() != arrow.UINT64) }
	if list := k.Listed(); list != nil {
		var values []any
		for _, v := range list {
			if fits(v) {
				values = append(values, value(v))
			}
		}
		if len(values) == 0 { // none is of the column's type
			return []*expr.Expr{expr.Lit(false)}
		}
		return []*expr.Expr{col.In(values...)}
	}
	if n.stated == nil || !fits(low) || !fits(high) {
		return nil
	}
	s := n.stated()[column]
	if s == nil || !s.Bounded || min(float64(high), s.Max)-max(float64(low), s.Min) > (1-closer)*(s.Max-s.Min) {
		return nil
	}
	return []*expr.Expr{col.Ge(value(low)), col.Le(value(high))}
}
