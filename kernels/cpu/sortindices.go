package cpu

import (
	"context"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// bigRows is how many rows it takes to sort them on several workers.
const bigRows = 1 << 17

// sortIndices orders rows by words (see level): those of the first level by
// radix, runs of equal ones by the next level, and so on.
func (l *loops) sortIndices(ctx context.Context, s device.Stream, keys []kernels.SortKey) (*memory.Column, error) {
	n := keys[0].Values.Len()
	if kernels.IndexType(n).ID() == arrow.UINT32 {
		return sorted[uint32](ctx, l, s, keys, n)
	}
	return sorted[uint64](ctx, l, s, keys, n)
}

func sorted[R row](ctx context.Context, l *loops, s device.Stream, keys []kernels.SortKey, n int64) (*memory.Column, error) {
	o := newOut(s, kernels.IndexType(n), n)
	err := o.values()
	var levels []level[R]
	done, apart := false, n >= carryRows && nullsApart(keys)
	if err == nil && apart {
		if levels, err = planApart[R](ctx, keys[0]); err == nil {
			done, err = sortPlain(ctx, l, s, keys, levels, view[R](o, 1))
		}
	}
	if err == nil && !done {
		levels, err = plan[R](ctx, l, s, keys)
	}
	if err == nil && !apart {
		done, err = sortPlain(ctx, l, s, keys, levels, view[R](o, 1))
	}
	if err == nil && !done {
		err = sortRows(ctx, l, s, levels, view[R](o, 1), false)
	}
	return o.column(err)
}

// sortPlain sorts the numbers of all rows by a carrier, beside the words and in
// the room of the result: sortRows has room for all of them once more, and twice as
// many words. It is not done where the keys do not fit, are too uneven or have words
// of 32 bits, and where the first rows stand in order, as then all may: sortRows
// sees that as it makes the words. Where nulls are to be apart levels are of values.
func sortPlain[R row](ctx context.Context, l *loops, s device.Stream, keys []kernels.SortKey, levels []level[R], rows []R) (done bool, err error) {
	n := int64(len(rows))
	if n < carryRows || kernels.IndexType(n).ID() != arrow.UINT32 || !carriesBy(levels) || len(levels) == 1 && levels[0].narrow() {
		return false, nil
	}
	if !nullsApart(keys) && nullsOf(keys[0].Values) > bigRows || beginsInOrder(levels) { // nulls are one part, and too big
		return false, nil
	}
	words, err := memory.New(s.Device().Memory(), 8*n)
	if err != nil {
		return false, err
	}
	defer words.Release()
	c := &carrier[R]{
		ctx: ctx, loops: l, alloc: s.Device().Memory(), cutBy: &levels[0], by: &levels[len(levels)-1], words: memory.View[uint64](words), rows: rows, all: len(rows),
	}
	if nullsApart(keys) {
		c.setApart(keys[0], c.words, c.rows)
	}
	return c.sort()
}

// beginsInOrder reports whether the first rows, a block of them, rise or fall.
func beginsInOrder[R row](levels []level[R]) bool {
	room := new(carryRoom[R])
	levels[0].fill(room.cut[:], room.raw[:], nil, 0, 0)
	rising, falling := true, true
	for i, w := range room.cut[1:] {
		rising, falling = rising && room.cut[i] <= w, falling && room.cut[i] >= w
	}
	return rising || falling
}

// sorter sorts rows in place. A run of rows at [a, b) has its words, and spare
// room for both, at the same place of the other slices.
type sorter[R row] struct {
	ctx        context.Context
	loops      *loops
	levels     []level[R]
	rows       []R
	spareRows  []R
	words      []uint64
	spareWords []uint64
	fresh      bool // rows are to be numbered from 0 first
}

// cursor says by what a run is to be sorted next: its rows are equal up to
// there.
type cursor struct {
	level int
	depth int // bytes of the strings of a text level that are behind
	tries int // pieces of them tried
}

// scratch is a worker's room for a block of words.
type scratch struct {
	raw, words [block]uint64
	digits     digits
}

// sortRows puts the rows in order: all those of the columns if not given, else
// those that rows holds, which must rise.
func sortRows[R row](ctx context.Context, l *loops, s device.Stream, levels []level[R], rows []R, given bool) error {
	z := &sorter[R]{ctx: ctx, loops: l, levels: levels, rows: rows, fresh: !given}
	n := int64(len(rows))
	if len(levels) == 0 || n < 2 {
		return z.number()
	}
	var r R
	size := n * 8
	if len(levels) == 1 && levels[0].narrow() {
		size = n * 4
	}
	var room [3]*memory.Buffer
	defer func() {
		for _, b := range room {
			b.Release()
		}
	}()
	for i, bytes := range []int64{size, size, n * int64(unsafe.Sizeof(r))} {
		var err error
		if room[i], err = memory.New(s.Device().Memory(), bytes); err != nil {
			return err
		}
	}
	z.words, z.spareWords = memory.View[uint64](room[0]), memory.View[uint64](room[1])
	z.spareRows = memory.View[R](room[2])
	if size < n*8 {
		return sortBig(z, memory.View[uint32](room[0]), memory.View[uint32](room[1]), 0, len(rows), cursor{})
	}
	return sortBig(z, z.words, z.spareWords, 0, len(rows), cursor{})
}

// number numbers the rows from 0, if they are to be.
func (z *sorter[R]) number() error {
	if !z.fresh {
		return nil
	}
	z.fresh = false
	return parallel(z.ctx, int64(len(z.rows)), func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			z.rows[i] = R(i)
		}
		return nil
	})
}

// narrow reports whether the level's words fit 32 bits.
func (l *level[R]) narrow() bool { return l.text == nil && l.bits <= 32 }

// last reports whether there is nothing to sort equal words by.
func (z *sorter[R]) last(at cursor) bool {
	return at.level == len(z.levels)-1 && z.levels[at.level].text == nil
}

// next is where rows go on that have equal words w.
func (z *sorter[R]) next(at cursor, w uint64) cursor {
	if t := z.levels[at.level].text; t != nil && t.more(w) {
		return cursor{at.level, at.depth + piece, at.tries + 1}
	}
	return cursor{level: at.level + 1}
}

// trend is what fill learns about words as it makes them.
type trend[K row] struct {
	first, last K
	diff        K    // bits that are not the same in all
	rising      bool // none is less than the one before
	falling     bool // each is less
}

// then joins the trend of words with that of those after them.
func (t trend[K]) then(u trend[K]) trend[K] {
	return trend[K]{t.first, u.last, t.diff | u.diff | (t.first ^ u.first),
		t.rising && u.rising && t.last <= u.first, t.falling && u.falling && t.last > u.first}
}

// makeWords makes the words of rows at [a, b) into w.
func makeWords[K row, R row](z *sorter[R], room *scratch, w []K, a, b int, at cursor) trend[K] {
	l := &z.levels[at.level]
	var t trend[K]
	for from := a; from < b; from += block {
		to := min(from+block, b)
		words := room.words[:to-from]
		rows := z.rows[from:to]
		if z.fresh {
			rows = nil
		}
		l.fill(words, room.raw[:], rows, int64(from), at.depth)
		part := w[from-a : to-a]
		first := K(words[0])
		u := trend[K]{first: first, rising: true, falling: true}
		before := first
		for i, x := range words {
			k := K(x)
			part[i] = k
			u.diff |= k ^ first
			u.rising = u.rising && before <= k
			u.falling = u.falling && (before > k || i == 0)
			before = k
		}
		if u.last = before; from > a {
			u = t.then(u)
		}
		t = u
	}
	return t
}

// sortBig sorts the run at [a, b), whose words go to w, on all workers.
func sortBig[K row, R row](z *sorter[R], w, spare []K, a, b int, at cursor) error {
	if b-a < bigRows {
		if err := z.number(); err != nil {
			return err
		}
		return sortRun(z, new(scratch), w, spare, a, b, at)
	}
	if err := z.skipShared(a, b, &at); err != nil {
		return err
	}
	trends := make([]trend[K], morsels(int64(b-a)))
	var rooms private[scratch]
	err := parallel(z.ctx, int64(b-a), func(worker int, s span) error {
		trends[s.index] = makeWords(z, rooms.of(worker), w[s.from:s.to], a+int(s.from), a+int(s.to), at)
		return nil
	})
	if err != nil {
		return err
	}
	t := trends[0]
	for _, u := range trends[1:] {
		t = t.then(u)
	}
	if t.diff != 0 && !t.rising && !t.falling {
		return sortCut(z, w, spare, a, b, t.diff, at)
	}
	if err := z.number(); err != nil {
		return err
	}
	switch {
	case t.diff == 0:
		return z.again(a, b, z.next(at, uint64(t.first)), true)
	case t.falling:
		reverse(w)
		reverse(z.rows[a:b])
		return nil // no two are equal
	case z.last(at):
		return nil
	}
	return refine(z, w, a, at)
}

// skipShared moves a cursor inside of strings over what they have in common.
func (z *sorter[R]) skipShared(a, b int, at *cursor) (err error) {
	if at.depth > 0 {
		at.depth, err = sharedBy(z.ctx, z.levels[at.level].text, z.rows[a:b], at.depth)
	}
	return err
}

// again sorts the run at [a, b) from a cursor on, with workers or without.
func (z *sorter[R]) again(a, b int, at cursor, big bool) error {
	if at.level == len(z.levels) || b-a < 2 {
		return nil
	}
	if big {
		return sortBig(z, z.words[a:b], z.spareWords[a:b], a, b, at)
	}
	return sortRun(z, new(scratch), z.words[a:b], z.spareWords[a:b], a, b, at)
}

// refine sorts the runs of equal words among those from a on. A worker takes
// the runs that begin in its morsel: where they do is found beforehand, for
// the words of a run give way to those of its next level. Long runs come last,
// each on all workers.
func refine[K row, R row](z *sorter[R], w []K, a int, at cursor) error {
	n := len(w)
	starts := make([]int, morsels(int64(n))+1)
	starts[len(starts)-1] = n
	for m := 1; m < len(starts)-1; m++ {
		i := max(m*morsel, starts[m-1])
		for i < n && w[i] == w[i-1] {
			i++
		}
		starts[m] = i
	}
	var mu sync.Mutex
	type run struct {
		a, b int
		at   cursor
	}
	var long []run
	err := tasks(z.ctx, len(starts)-1, func(_, m int) error {
		room := new(scratch)
		return runs(w[starts[m]:starts[m+1]], func(i, j int) error {
			i, j = i+starts[m], j+starts[m]
			next := z.next(at, uint64(w[i]))
			if next.level == len(z.levels) {
				return nil
			}
			if j-i < bigRows {
				return sortRun(z, room, z.words[a+i:a+j], z.spareWords[a+i:a+j], a+i, a+j, next)
			}
			mu.Lock()
			defer mu.Unlock()
			long = append(long, run{a + i, a + j, next})
			return nil
		})
	})
	for _, r := range long {
		if err == nil {
			err = z.again(r.a, r.b, r.at, true)
		}
	}
	return err
}

// runs calls f for each run of two or more equal words. f may change the words
// of its run.
func runs[K row](w []K, f func(i, j int) error) error {
	for i := 0; i < len(w); {
		j := i + 1
		for j < len(w) && w[j] == w[i] {
			j++
		}
		if j-i > 1 {
			if err := f(i, j); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}

func reverse[T any](v []T) {
	for i, j := 0, len(v)-1; i < j; i, j = i+1, j-1 {
		v[i], v[j] = v[j], v[i]
	}
}
