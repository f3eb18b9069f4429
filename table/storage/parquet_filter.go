package storage

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// scanFilter is a predicate, and tests of keys, that row groups are read with. It never changes: any number of
// row groups use it at once.
type scanFilter struct {
	backend *kernels.Backend
	stream  device.Stream
	terms   []filterTerm
	never   bool // it is true for no row
}

// filterTerm is a part of the predicate: all that is asked of one column, or a condition on
// several; or a test of the keys of one column.
type filterTerm struct {
	columns []string
	bound   *expr.Bound
	ready   *expr.Prepared // over these
	keys    flow.Keys      // in place of both
}

// newScanFilter takes a predicate over columns of a schema, which may be nil, apart. Keys are tested
// behind conditions on one column, and before those on several.
func newScanFilter(ctx context.Context, b *kernels.Backend, s *arrow.Schema, predicate *expr.Expr, keys []flow.KeyTest) (_ *scanFilter, err error) {
	f := &scanFilter{backend: b}
	if f.stream, err = b.NewStream(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.close()
		}
	}()
	var sets [][]string
	var terms [][]*expr.Expr
	var conditions []*expr.Expr
	if predicate != nil {
		conditions = expr.Conjuncts(predicate)
	}
	for _, c := range conditions {
		columns := expr.Columns(c)
		at := slices.IndexFunc(sets, func(have []string) bool { return len(have) < 2 && slices.Equal(have, columns) })
		if at < 0 {
			at, sets, terms = len(sets), append(sets, columns), append(terms, nil)
		}
		terms[at] = append(terms[at], c)
	}
	for i, columns := range sets {
		if err := f.add(ctx, s, columns, expr.AllOf(terms[i]...)); err != nil {
			return nil, err
		}
	}
	for _, k := range keys {
		if len(s.FieldIndices(k.Column)) == 0 {
			return nil, expr.UnknownColumn(k.Column, nil)
		}
		f.terms = append(f.terms, filterTerm{columns: []string{k.Column}, keys: k.Keys})
	}
	slices.SortStableFunc(f.terms, func(a, b filterTerm) int { return len(a.columns) - len(b.columns) })
	return f, nil
}

func (f *scanFilter) add(ctx context.Context, s *arrow.Schema, columns []string, e *expr.Expr) error {
	var fields []arrow.Field
	for _, name := range columns {
		at := s.FieldIndices(name)
		if len(at) == 0 {
			return expr.UnknownColumn(name, nil)
		}
		fields = append(fields, s.Field(at[0]))
	}
	bound, err := e.Bind(arrow.NewSchema(fields, nil))
	if err == nil && bound.Type().ID() != arrow.BOOL {
		err = fmt.Errorf("%w: %s is of type %s, not bool", device.ErrMismatch, e, expr.TypeName(bound.Type()))
	}
	if err != nil {
		return err
	}
	ready, err := bound.Prepare(ctx, f.backend, f.stream)
	if err != nil {
		return err
	}
	if len(columns) > 0 {
		f.terms = append(f.terms, filterTerm{columns: columns, bound: bound, ready: ready})
		return nil
	}
	defer ready.Release()
	one, err := ready.EvalAll(ctx, 1, nil)
	if err != nil {
		return err
	}
	defer releaseAll(one)
	f.never = f.never || one[0].IsNull(0) || !one[0].Bits().Get(one[0].Offset())
	return nil
}

// besides are the columns that the filter reads and a schema has not.
func (f *scanFilter) besides(want *arrow.Schema) (names []string) {
	if f == nil {
		return nil
	}
	for _, t := range f.terms {
		for _, name := range t.columns {
			if len(want.FieldIndices(name)) == 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// close gives back the constants.
func (f *scanFilter) close() error {
	if f == nil {
		return nil
	}
	for _, t := range f.terms {
		if t.ready != nil {
			t.ready.Release()
		}
	}
	f.terms = nil
	return f.stream.Close()
}

// keep cuts the columns of a reader's fields, which are of n rows from a row on, to the rows that
// pass, and gives how many do.
func (f *scanFilter) keep(ctx context.Context, r *groupReader, from, n int64, columns []*memory.Column) (int64, error) {
	if f == nil {
		return n, nil
	}
	w := &r.work
	w.begin(ctx, r)
	defer w.clear()
	for k, c := range columns {
		w.dense[k] = c.Retain()
		if err := r.hold(k, from, c); err != nil {
			return 0, err
		}
	}
	kept, err := r.filterRows(ctx, from, n)
	if err != nil || kept == 0 || kept == n {
		return kept, err
	}
	for k := range r.want.NumFields() {
		c, _, err := r.filtered(ctx, k, n, kept)
		if err != nil {
			return 0, err
		}
		columns[k].Release()
		columns[k] = c
	}
	return kept, nil
}

// groupFilter is the filter at work on a row group, and on the batch at hand.
type groupFilter struct {
	dead   []rowSpan // rows that the page index rules out
	terms  [][]int   // fields of the reader that each reads
	pages  [][]claim // by field: of its pages
	tables [][]uint8 // by term: 1 for the values of its column's dictionary that pass, null behind them; nil where it was not looked at
	mask   *memory.Buffer
	words  []uint64 // of the mask
	chosen []int32  // the rows that pass, where some do not; of room
	room   *[]int32

	codes []*[]uint32      // by field: indices of the batch, nil where they were not read
	dense []*memory.Column // by field: its values, nil where they were not read
	masks *memory.Column   // the mask, once it is wanted as a column

	from   int64            // the batch's first row
	values []*memory.Column // by field: its dictionary, where what is stated of it is to be checked
	wrong  [][]bool         // by field: which of these lie beyond what is stated of the row group; nil where none does
}

// codeRooms and chosenRooms are where indices and numbers of rows go, from batch to batch and
// split to split.
var (
	codeRooms   = sync.Pool{New: func() any { return new([]uint32) }}
	chosenRooms = sync.Pool{New: func() any { return new([]int32) }}
)

// begin finds the fields of the terms.
func (w *groupFilter) begin(ctx context.Context, r *groupReader) {
	if w.terms != nil {
		return
	}
	w.terms, w.tables = make([][]int, len(r.filter.terms)), make([][]uint8, len(r.filter.terms))
	w.pages, w.values, w.wrong = make([][]claim, len(r.fields)), make([]*memory.Column, len(r.fields)), make([][]bool, len(r.fields))
	w.codes, w.dense = make([]*[]uint32, len(r.fields)), make([]*memory.Column, len(r.fields))
	for t, term := range r.filter.terms {
		for _, name := range term.columns {
			w.terms[t] = append(w.terms[t], slices.IndexFunc(r.fields, func(i int) bool { return r.file.schema.Field(i).Name == name }))
		}
		if len(term.columns) == 1 && term.keys == nil {
			k := w.terms[t][0]
			dead, pages := r.file.unpassable(ctx, r.g, r.fields[k], term.bound)
			for i := range pages {
				pages[i].says = within(pages[i].says, r.stated[term.columns[0]])
			}
			w.dead, w.pages[k] = append(w.dead, dead...), pages
		}
	}
}

// clear gives back what is of the batch at hand.
func (w *groupFilter) clear() {
	releaseAll(w.dense)
	clear(w.dense)
	for k, room := range w.codes {
		if room != nil {
			codeRooms.Put(room)
			w.codes[k] = nil
		}
	}
	if w.masks != nil {
		w.masks.Release()
		w.masks, w.mask, w.words = nil, nil, nil
	}
}

func (w *groupFilter) close() {
	w.clear()
	w.mask.Release()
	releaseAll(w.values)
	if w.room != nil {
		chosenRooms.Put(w.room)
	}
	*w = groupFilter{}
}

// filterRows finds which of n rows pass, and gives how many. clear ends it.
func (r *groupReader) filterRows(ctx context.Context, from, n int64) (kept int64, err error) {
	if r.filter == nil {
		return n, nil
	}
	w := &r.work
	w.begin(ctx, r)
	w.from = from
	if r.filter.never {
		return 0, nil
	}
	if int64(len(w.words)) < (n+63)/64 {
		w.mask.Release()
		if w.mask, err = memory.New(r.from, (n+63)/64*8); err != nil {
			return 0, inFile(r.file.path, rowGroup(r.g), err, nil)
		}
		w.words = memory.View[uint64](w.mask)
	}
	words := w.words[:(n+63)/64]
	for i := range words {
		words[i] = ^uint64(0)
	}
	if n&63 != 0 {
		words[len(words)-1] = 1<<(n&63) - 1
	}
	if kept = n; len(w.dead) > 0 {
		if kept = w.rule(from, n); kept == 0 {
			return 0, nil
		}
	}
	for t := range r.filter.terms {
		if kept, err = r.term(ctx, t, n, kept, words); err != nil || kept == 0 {
			return kept, err
		}
	}
	if kept < n {
		w.choose(words, kept)
	}
	return kept, nil
}

// rule takes out the rows that are ruled out, and gives how many of n rows are left.
func (w *groupFilter) rule(from, n int64) (kept int64) {
	mask := memory.Bitmap(w.mask.Bytes())
	for _, s := range w.dead {
		if a, b := max(s.from, from), min(s.to, from+n); a < b {
			mask.Fill(a-from, b-a, false)
		}
	}
	return mask.Count(0, n)
}

// term applies a term to the next n rows.
func (r *groupReader) term(ctx context.Context, t int, n, kept int64, words []uint64) (int64, error) {
	w := &r.work
	if keys := r.filter.terms[t].keys; keys != nil {
		return r.keyed(ctx, w.terms[t][0], keys, n, kept)
	}
	if fields := w.terms[t]; len(fields) == 1 && w.dense[fields[0]] == nil {
		pass, err := r.tableOf(ctx, t, fields[0], n)
		if err != nil {
			return 0, err
		}
		if pass != nil {
			if w.wrong[fields[0]] == nil { // else some rows may have what is wrong
				switch some := slices.Contains(pass, 1); {
				case !some:
					return 0, nil
				case !slices.Contains(pass, 0):
					return kept, nil
				}
			}
			codes, err := r.codesOf(ctx, fields[0], n)
			if err != nil {
				return 0, err
			}
			return andCodes(words, codes, pass), nil
		}
	}
	columns := make([]*memory.Column, 0, len(w.terms[t]))
	for _, k := range w.terms[t] {
		c, err := r.denseOf(ctx, k, n)
		if err != nil {
			return 0, err
		}
		columns = append(columns, c)
	}
	out, err := r.filter.terms[t].ready.EvalAll(ctx, n, columns)
	if err != nil {
		return 0, inFile(r.file.path, rowGroup(r.g), err, nil)
	}
	defer releaseAll(out)
	return andMask(words, n, out[0]), nil
}

// mostKept is the share of the rows of a sample of a batch beyond which its keys are not looked at:
// that depends on the batch alone, so that what is left is the same each time.
const mostKept = 0.75

// keyed takes the rows of the next n out whose keys a join's other side has not, and gives how many of
// those kept are left.
func (r *groupReader) keyed(ctx context.Context, k int, keys flow.Keys, n, kept int64) (int64, error) {
	c, err := r.denseOf(ctx, k, n)
	if err != nil {
		return 0, err
	}
	mask := memory.Bitmap(r.work.mask.Bytes())
	if some, stay := keys.Sample(mask, c); float64(stay) > mostKept*float64(some) {
		return kept, nil
	}
	keys.Keep(mask, c)
	return mask.Count(0, n), nil
}

// tableOf says which values of a field's dictionary pass a term; nil where the next n rows are
// not all coded, or the dictionary is so large that this takes longer than to look at them.
func (r *groupReader) tableOf(ctx context.Context, t, k int, n int64) ([]uint8, error) {
	w := &r.work
	if w.codes[k] != nil {
		return w.tables[t], nil // which is there: a field has one term of its own
	}
	c, err := r.opened(ctx, k)
	if err != nil {
		return nil, err
	}
	ok, err := c.coded(ctx, n, max(64, (r.end-r.at)/2))
	if !ok || err != nil {
		return nil, err
	}
	if w.tables[t] != nil {
		return w.tables[t], nil
	}
	values, err := c.dictionary()
	if err != nil {
		return nil, err
	}
	defer values.Release()
	out, err := r.filter.terms[t].ready.EvalAll(ctx, values.Len(), []*memory.Column{values})
	if err != nil {
		return nil, inFile(r.file.path, rowGroup(r.g), err, nil)
	}
	defer releaseAll(out)
	table := make([]uint8, values.Len())
	for i := range table {
		if row := int64(i); !out[0].IsNull(row) && out[0].Bits().Get(out[0].Offset()+row) {
			table[i] = 1
		}
	}
	w.tables[t] = table
	if says, used := r.stated[r.file.schema.Field(r.fields[k]).Name]; used {
		w.wrong[k] = outsiders(values, says)
	}
	if w.values[k] == nil {
		w.values[k] = values.Retain()
	}
	return table, nil
}

// codesOf are the indices of the next n rows of a field.
func (r *groupReader) codesOf(ctx context.Context, k int, n int64) ([]uint32, error) {
	w := &r.work
	if w.codes[k] == nil {
		room := codeRooms.Get().(*[]uint32)
		*room = slices.Grow((*room)[:0], int(n))[:n]
		nulls, err := r.flat[k].codes(ctx, *room)
		if err == nil {
			err = r.holdCodes(k, w.from, *room, nulls)
		}
		if err != nil {
			codeRooms.Put(room)
			return nil, err
		}
		w.codes[k] = room
	}
	return *w.codes[k], nil
}

// denseOf are the next n values of a field, which stay the filter's.
func (r *groupReader) denseOf(ctx context.Context, k int, n int64) (_ *memory.Column, err error) {
	w := &r.work
	switch {
	case w.dense[k] != nil:
	case w.codes[k] != nil:
		w.dense[k], err = r.flat[k].ofCodes(*w.codes[k], false)
	default:
		var c *chunkReader
		if c, err = r.opened(ctx, k); err == nil {
			if w.dense[k], err = c.next(ctx, n); err == nil {
				err = r.hold(k, w.from, w.dense[k])
			}
		}
	}
	return w.dense[k], err
}

// filtered is a field of the next n rows, of which kept pass; done is false where the filter
// has not read it.
func (r *groupReader) filtered(ctx context.Context, k int, n, kept int64) (_ *memory.Column, done bool, err error) {
	w := &r.work
	switch {
	case r.filter == nil:
		return nil, false, nil
	case w.dense[k] != nil && kept == n:
		return w.dense[k].Retain(), true, nil
	case w.dense[k] != nil:
		if w.masks == nil {
			w.masks, err = memory.NewColumn(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: n, Place: memory.Host, Buffers: []*memory.Buffer{nil, w.mask}})
			if err != nil {
				return nil, true, inFile(r.file.path, rowGroup(r.g), err, nil)
			}
		}
		c, err := r.filter.backend.Filter(ctx, r.filter.stream, w.dense[k], w.masks, kernels.FilterOptions{})
		return c, true, inFile(r.file.path, rowGroup(r.g), err, nil)
	case w.codes[k] != nil:
		codes := *w.codes[k]
		if kept < n {
			for i, row := range w.chosen { // in place: chosen rows lie behind
				codes[i] = codes[row]
			}
			codes = codes[:kept]
		}
		c, err := r.flat[k].ofCodes(codes, false)
		return c, true, err
	}
	return nil, false, nil
}

// andCodes takes out the rows whose codes do not pass, and gives how many are left.
func andCodes(words []uint64, codes []uint32, pass []uint8) (kept int64) {
	for i := range words {
		part := codes[i*64:]
		part = part[:min(64, len(part))]
		word := uint64(0)
		for j, k := range part {
			word |= uint64(pass[k]) << j
		}
		words[i] &= word
		kept += int64(bits.OnesCount64(words[i]))
	}
	return kept
}

// andMask takes out the rows for which a mask is not true, and gives how many are left.
func andMask(words []uint64, n int64, mask *memory.Column) (kept int64) {
	values, valid := mask.Bits(), mask.Validity()
	for i := range words {
		at, k := mask.Offset()+64*int64(i), min(64, n-64*int64(i))
		word := values.Word(at, k)
		if valid != nil {
			word &= valid.Word(at, k)
		}
		words[i] &= word
		kept += int64(bits.OnesCount64(words[i]))
	}
	return kept
}

// choose lists the rows whose bits are set, so many.
func (w *groupFilter) choose(words []uint64, kept int64) {
	if w.room == nil {
		w.room = chosenRooms.Get().(*[]int32)
	}
	*w.room = slices.Grow((*w.room)[:0], int(kept))[:kept]
	w.chosen = *w.room
	at := 0
	for i, word := range words {
		for ; word != 0; word &= word - 1 {
			w.chosen[at] = int32(i*64 + bits.TrailingZeros64(word))
			at++
		}
	}
}
