package distributed

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// samplesPerRank is how many samples of its sorted rows a rank gives for each rank there is: a
// rank's share is then off by some 3 percent at most.
const samplesPerRank = 32

// byRange is the Shuffle by range: every rank sorts its rows, all give samples of them at even
// distances, and the ranks' rows are cut at splitters of them. A splitter is a key, the rank and the row
// that it is from, so no two are equal, and rows of one key are cut too, unless few of them come behind it.
func (o *op) byRange(d *Table, orders []table.Order) (*Table, error) {
	var k rangeKeys
	o.do(func() (err error) {
		k, err = newRangeKeys(orders)
		return err
	})
	if o.meet() != nil {
		return nil, o.ended
	}
	by := Partitioning{Scheme: Ranged, Keys: expr.Columns(k.exprs...), Orders: slices.Clone(orders)}
	if d.by.Scheme == Ranged && fmt.Sprint(d.by.Orders) == fmt.Sprint(orders) {
		return o.finish(d.part, d.by)
	}
	part := o.once(d)
	defer part.Release()
	sorted := o.table(func() (*table.Table, error) { return part.Query().Sort(orders...).Collect(o.ctx) })
	defer sorted.Release()
	if o.comm.Size() == 1 {
		by.Bounds = &Bounds{Whole: 1}
		return o.finish(sorted, by)
	}
	k.load(o, sorted)
	k.rounds = true
	cuts := k.cuts(o)
	k.release()
	all := make(pieces, o.comm.Size())
	o.do(func() (err error) {
		for r := range all {
			if all[r], err = batches(sorted, cuts[r], cuts[r+1]); err != nil {
				return err
			}
		}
		return nil
	})
	got := o.whole(d.Schema(), all)
	defer got.Release()
	made, said, err := o.finishSaying(got, by, int64(k.shared))
	if err != nil {
		return nil, err
	}
	for _, row := range said {
		k.shared = max(k.shared, int(row[2]))
	}
	if k.shared < len(orders) {
		made.by.Bounds = &Bounds{Whole: k.shared + 1}
	}
	return made, nil
}

// rangeKeys are the keys of this rank's sorted rows where Go code can read them.
type rangeKeys struct {
	exprs      []*expr.Expr
	descending []bool
	nullsFirst []bool
	t          *table.Table
	columns    [][]*memory.Column // by chunk
	starts     []int64            // the first row of each chunk
	rounds     bool               // cuts between rows of one key are moved behind them where these are few
	shared     int                // so many keys have the same values on both sides of a cut of this rank's rows, counted from the first key on
}

func newRangeKeys(orders []table.Order) (k rangeKeys, err error) {
	if len(orders) == 0 {
		return k, fmt.Errorf("%w: no keys given", device.ErrMismatch)
	}
	for _, o := range orders {
		e, down, first, err := o.Key()
		if err != nil {
			return k, err
		}
		k.exprs, k.descending, k.nullsFirst = append(k.exprs, e), append(k.descending, down), append(k.nullsFirst, first)
	}
	return k, nil
}

func (k *rangeKeys) release() {
	for _, list := range k.columns {
		for _, c := range list {
			c.Release()
		}
	}
	k.t.Release()
}

// load finds the keys of sorted rows.
func (k *rangeKeys) load(o *op, sorted *table.Table) {
	k.t = o.table(func() (*table.Table, error) {
		var items []any
		for i, e := range k.exprs {
			items = append(items, e.As(fmt.Sprintf("key %d", i)))
		}
		return sorted.Query().Select(items...).Collect(o.ctx)
	})
	o.do(func() (err error) {
		s, err := o.backend.NewStream()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		at := int64(0)
		for _, b := range k.t.Chunks() {
			k.starts = append(k.starts, at)
			at += b.Len()
			var list []*memory.Column
			for i := range b.NumColumns() {
				c, err := o.backend.OnHost(o.ctx, s, b.Column(i))
				if err != nil {
					k.columns = append(k.columns, list)
					return err
				}
				list = append(list, c)
			}
			k.columns = append(k.columns, list)
		}
		return nil
	})
}

// at is the key of a row.
func (k *rangeKeys) at(row int64) []kernels.Scalar {
	chunk := sort.Search(len(k.starts), func(i int) bool { return k.starts[i] > row }) - 1
	var key []kernels.Scalar
	for _, c := range k.columns[chunk] {
		key = append(key, kernels.ScalarAt(c, row-k.starts[chunk]))
	}
	return key
}

// compare orders two keys as Sort does.
func (k *rangeKeys) compare(a, b []kernels.Scalar) int {
	for i := range a {
		if c := compareKey(a[i], b[i], k.descending[i], k.nullsFirst[i]); c != 0 {
			return c
		}
	}
	return 0
}

func compareKey(a, b kernels.Scalar, descending, nullsFirst bool) int {
	x, y := nullPlace(a), nullPlace(b)
	if x != y || x > 0 {
		if nullsFirst {
			x, y = -x, -y
		}
		return cmp.Compare(x, y)
	}
	c := kernels.CompareKeys(a, b)
	if descending {
		c = -c
	}
	return c
}

// nullPlace is 0 for a value, 1 for a NaN, 2 for a null.
func nullPlace(v kernels.Scalar) int {
	if !v.Valid() {
		return 2
	}
	if kernels.FloatTypes.Has(v.Type().ID()) && v.Float64() != v.Float64() {
		return 1
	}
	return 0
}

// splitter is where the rows of one rank end: with that one.
type splitter struct {
	key    []kernels.Scalar
	rank   int
	row    int64 // of that rank's sorted ones
	weight int64 // rows of its rank since the sample before
}

// cuts are the rows at which this rank's sorted rows are cut, one more than ranks; all 0 where there was an error.
func (k *rangeKeys) cuts(o *op) []int64 {
	size := o.comm.Size()
	cuts := make([]int64, size+1)
	rows := int64(0)
	if o.going() {
		rows = k.t.NumRows()
	}
	said := o.words([]int64{rows})
	if said == nil {
		return cuts
	}
	samples := o.everywhere(k.schema(), o.table(func() (*table.Table, error) { return k.sample(o, rows, size) }))
	defer samples.Release()
	var total int64
	for _, r := range said {
		total += r[0]
	}
	var chosen []splitter
	more := make([]int64, size-1) // of this rank's rows have the splitter's key and come after it
	o.do(func() error {
		list, err := k.read(o, samples, said, size)
		if err != nil {
			return err
		}
		cuts[size] = rows
		chosen = k.choose(list, total, size)
		for i, s := range chosen {
			cuts[i+1] = k.cut(s, o.comm.Rank(), rows)
			more[i] = k.end(s, rows) - cuts[i+1]
		}
		return nil
	})
	if k.rounds {
		if more = o.sums(size-1, more); more == nil {
			return make([]int64, size+1)
		}
	}
	o.do(func() error {
		for i, s := range chosen {
			if k.rounds && more[i] <= total/int64(size)/roundedShare {
				cuts[i+1] = k.end(s, rows)
			}
			if cuts[i+1] < rows { // no later row has more in common with the splitter
				k.shared = max(k.shared, k.common(k.at(cuts[i+1]), s.key))
			}
		}
		return nil
	})
	return cuts
}

// roundedShare is what part of a rank's share of the rows it may get above it, so that a key is whole.
const roundedShare = 32

// choose picks the splitters among samples of all ranks: those at which the ranks' shares end; none where there are no rows.
func (k *rangeKeys) choose(list []splitter, total int64, size int) (chosen []splitter) {
	slices.SortStableFunc(list, func(a, b splitter) int { return k.compare(a.key, b.key) }) // they come by rank and row
	seen := int64(0)
	for _, s := range list {
		for seen += s.weight; len(chosen) < size-1 && seen >= total*int64(len(chosen)+1)/int64(size); {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// common is how many keys of two are equal, counted from the first one on.
func (k *rangeKeys) common(a, b []kernels.Scalar) int {
	for i := range a {
		if compareKey(a[i], b[i], k.descending[i], k.nullsFirst[i]) != 0 {
			return i
		}
	}
	return len(a)
}

// end is how many of this rank's rows do not come after those of a splitter's key.
func (k *rangeKeys) end(s splitter, rows int64) int64 {
	return int64(sort.Search(int(rows), func(i int) bool { return k.compare(k.at(int64(i)), s.key) > 0 }))
}

// cut is how many of this rank's rows do not come after a splitter.
func (k *rangeKeys) cut(s splitter, rank int, rows int64) int64 {
	if s.rank == rank {
		return s.row + 1
	}
	return int64(sort.Search(int(rows), func(i int) bool {
		c := k.compare(k.at(int64(i)), s.key)
		return c > 0 || c == 0 && rank > s.rank
	}))
}

// schema is nil where this rank has an error.
func (k *rangeKeys) schema() *arrow.Schema {
	if k.t == nil {
		return nil
	}
	return k.t.Schema()
}

// sampled is the row of sample j among n of so many rows: the last of its block.
func sampled(rows, n, j int64) int64 { return rows*(j+1)/n - 1 }

// sample is a table of the keys of this rank's samples.
func (k *rangeKeys) sample(o *op, rows int64, size int) (*table.Table, error) {
	n := min(rows, int64(samplesPerRank*size))
	s, err := o.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	picked := make([][]kernels.Scalar, len(k.starts))
	for j := range n {
		row := sampled(rows, n, j)
		chunk := sort.Search(len(k.starts), func(i int) bool { return k.starts[i] > row }) - 1
		picked[chunk] = append(picked[chunk], kernels.Int64(row-k.starts[chunk]))
	}
	var list pieces = make(pieces, 1)
	for chunk, b := range k.t.Chunks() {
		if len(picked[chunk]) == 0 {
			continue
		}
		at, err := o.backend.FromScalars(o.ctx, s, arrow.PrimitiveTypes.Int64, picked[chunk])
		if err == nil {
			var some *table.Batch
			if some, err = o.take(s, b, at); err == nil {
				list[0] = append(list[0], some)
			}
			at.Release()
		}
		if err != nil {
			list.release()
			return nil, err
		}
	}
	if err := s.Wait(o.ctx); err != nil {
		list.release()
		return nil, err
	}
	return table.NewTable(o.backend, k.t.Schema(), list[0])
}

// read makes splitters of the samples of all ranks, which come by rank.
func (k *rangeKeys) read(o *op, samples *table.Table, said [][]int64, size int) ([]splitter, error) {
	all := rangeKeys{exprs: k.exprs}
	s, err := o.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var list []splitter
	for _, b := range samples.Chunks() {
		var here []*memory.Column
		for i := range b.NumColumns() {
			c, err := o.backend.OnHost(o.ctx, s, b.Column(i))
			if err != nil {
				return nil, err
			}
			defer c.Release()
			here = append(here, c)
		}
		all.columns = [][]*memory.Column{here}
		all.starts = []int64{0}
		for row := range b.Len() {
			list = append(list, splitter{key: all.at(row)})
		}
	}
	at := 0
	for r := range said {
		rows := said[r][0]
		n, before := min(rows, int64(samplesPerRank*size)), int64(-1)
		for j := range n {
			row := sampled(rows, n, j)
			list[at].rank, list[at].row, list[at].weight = r, row, row-before
			before = row
			at++
		}
	}
	return list, nil
}

// everywhere gives every rank the rows of all, which it takes over: by rank.
func (o *op) everywhere(schema *arrow.Schema, t *table.Table) *table.Table {
	defer t.Release()
	lists := make(pieces, o.comm.Size())
	if t != nil {
		for r := range lists {
			lists[r] = t.Chunks()
		}
	}
	return o.deal(schema, lists)
}
