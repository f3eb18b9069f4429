package cpu

import (
	"errors"

	"github.com/volley-go/volley/device"
)

// mostTallies is how many places an array of tallies may have that is not cut
// into parts: 16 MiB, which a third-level cache holds for a core or two.
const mostTallies = 1 << 20

// errRange says that a word is not among the places of an array.
const errRange = detour("cpu: a key beyond the range of keys")

// fewPlaces says that an array has a place for each word of a range, and that
// its chunks' arrays are together small against the rows: two chunks of three rows a
// place, whose keys and values are as many bytes, still take a fraction of the time
// that cutting rows into parts does.
func (t *tallying[S]) fewPlaces(card uint64) bool {
	return card != 0 && card <= mostTallies && (card <= 1<<12 || 6*card <= uint64(t.n))
}

// tallyChunks is how many chunks rows are cut into that have so many places
// each: enough for some workers, and as many as cost little beside the rows.
func (t *tallying[S]) tallyChunks(places int64) int64 {
	return max(1, min(64, int64(morsels(t.n)), max(t.n/(16*places), min(8, t.n/(3*places)))))
}

// dense tallies in arrays with a place for each word. It moves the input once,
// and the arrays, which caches hold.
// It is not done where the range was a guess and a word is beyond it.
func (t *tallying[S]) dense(places int) (done bool, err error) {
	chunks := t.tallyChunks(int64(places))
	arrays := make([]vec[tally[S]], chunks)
	defer func() {
		for _, array := range arrays {
			t.a.drop(array.b)
		}
	}()
	err = t.eachChunk(0, t.n, chunks, func(c int) (fold tallyFold[S], err error) {
		if arrays[c], err = zeroVec[tally[S]](t.a, places); err != nil {
			return nil, err
		}
		array := arrays[c].s
		return func(b *tallyBatch[S], words []uint64, sums []S, incs []uint64) error {
			rows, step, asks := t.numbers(b), len(words), t.raw != nil && t.values != nil
			if asks {
				step = askRows
			}
			for at := 0; at < len(words); at += step {
				to := min(at+step, len(words))
				if asks {
					from := int(b.from) + at
					t.l.ask.words(t.raw[from:][:(to-at)&^7], t.values[from:], askAhead)
				}
				some, fits := words[at:to], false
				switch {
				case t.firsts:
					fits = foldFirsts(array, some, t.base, sums[at:to], rows[at:to])
				case incs == nil:
					fits = foldDense(array, some, t.base, sums[at:to], nil)
				default:
					fits = foldDense(array, some, t.base, sums[at:to], incs[at:to])
				}
				if !fits {
					return errRange
				}
			}
			return nil
		}, nil
	})
	if errors.Is(err, errRange) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	const step = 1 << 13
	starts := make([]int, (places+step-1)/step+1)
	err = tasks(t.ctx, len(starts)-1, func(_, r int) error {
		all := arrays[0].s[r*step : min(places, (r+1)*step)]
		for _, later := range arrays[1:] {
			more := later.s[r*step:][:len(all)]
			for i := range all {
				all[i].add(more[i], t.firsts)
			}
		}
		k := 0
		for i := range all {
			if all[i].counts != 0 {
				k++
			}
		}
		starts[r+1] = k
		return nil
	})
	if err != nil {
		return false, err
	}
	if t.firsts {
		lists := make([]vec[tallySlot[S]], len(starts)-1)
		err := tasks(t.ctx, len(lists), func(_, r int) (err error) {
			lists[r], err = listOf(t.a, arrays[0].s[r*step:min(places, (r+1)*step)], uint64(r*step))
			return err
		})
		if err == nil {
			err = t.putLists(lists)
		}
		return err == nil, err
	}
	for r := range starts[1:] {
		starts[r+1] += starts[r]
	}
	if err := t.out.start(starts[len(starts)-1]); err != nil {
		return false, err
	}
	return true, tasks(t.ctx, len(starts)-1, func(_, r int) error {
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		t.out.putDense(b, starts[r], arrays[0].s[r*step:min(places, (r+1)*step)], uint64(r*step), 0, 0)
		return nil
	})
}

// tallyFold takes a batch of rows: words, values, and what they add to counts,
// nil where every row has a value.
type tallyFold[S float64 | int64] func(b *tallyBatch[S], words []uint64, sums []S, incs []uint64) error

// eachChunk calls, for each chunk of rows first to last, what begin gives with
// its rows in order; chunks for which it gives nil are not read.
func (t *tallying[S]) eachChunk(first, last, chunks int64, begin func(c int) (tallyFold[S], error)) error {
	return t.eachChunkTo(first, last, chunks, func(c int, _ *tallyBatch[S]) (tallyFold[S], func(), error) {
		fold, err := begin(c)
		return fold, nil, err
	})
}

// eachChunkTo is eachChunk for chunks with a beginning and an end.
func (t *tallying[S]) eachChunkTo(first, last, chunks int64, begin func(c int, b *tallyBatch[S]) (fold tallyFold[S], end func(), err error)) error {
	size := (last - first + chunks - 1) / chunks
	return tasks(t.ctx, int(chunks), func(_, c int) error {
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		fold, end, err := begin(c, b)
		if fold == nil || err != nil {
			return err
		}
		if end != nil {
			defer end()
		}
		from := min(first+int64(c)*size, last)
		to := min(from+size, last)
		for k := 1; from < to; k++ {
			if k%64 == 0 {
				if err := device.Canceled(t.ctx, "cpu", ""); err != nil {
					return err
				}
			}
			n := int(min(batchRows, to-from))
			words, sums, incs := t.load(b, from, n)
			if t.hot != nil {
				words, sums, incs = t.hot.sift(c, b, words, sums, incs)
			}
			if err := fold(b, words, sums, incs); err != nil {
				return err
			}
			from += int64(n)
		}
		return nil
	})
}

// foldDense adds rows to the tallies at their words less base; false when a
// word has none, at which it stops. incs is nil where every row has a value.
func foldDense[S float64 | int64](array []tally[S], words []uint64, base uint64, sums []S, incs []uint64) bool {
	sums = sums[:len(words)]
	switch {
	case inRuns(words):
		return foldRuns(array, words, base, sums, incs)
	case incs == nil:
		for j, w := range words {
			w -= base
			if w >= uint64(len(array)) {
				return false
			}
			at := &array[w]
			at.sum += sums[j]
			at.counts += oneValue
		}
	default:
		incs = incs[:len(words)]
		for j, w := range words {
			w -= base
			if w >= uint64(len(array)) {
				return false
			}
			at := &array[w]
			at.sum += sums[j]
			at.counts += incs[j]
		}
	}
	return true
}

// foldRuns is foldDense for rows that come in runs of one word: a run's sum
// stays in a register, where the next addition need not wait for a store.
func foldRuns[S float64 | int64](array []tally[S], words []uint64, base uint64, sums []S, incs []uint64) bool {
	for j := 0; j < len(words); {
		w := words[j]
		if w-base >= uint64(len(array)) {
			return false
		}
		at := &array[w-base]
		*at, j = foldRun(*at, words, j, sums, incs)
	}
	return true
}

// foldRun adds the run that begins at row j, and gives the row after it.
func foldRun[S float64 | int64](t tally[S], words []uint64, j int, sums []S, incs []uint64) (tally[S], int) {
	w, from, sum := words[j], j, t.sum
	if incs == nil {
		for j < len(words) && words[j] == w {
			sum += sums[j]
			j++
		}
		return tally[S]{sum, t.counts + uint64(j-from)*oneValue}, j
	}
	for j < len(words) && words[j] == w {
		sum += sums[j]
		t.counts += incs[j]
		j++
	}
	return tally[S]{sum, t.counts}, j
}
