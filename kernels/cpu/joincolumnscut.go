package cpu

import (
	"context"
	"math"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// joinCut is how the records of a side are cut: by the first bits of the hashes of
// keys, or, where keys are close to each other, by those of how far they are above base.
type joinCut struct {
	close bool
	base  uint64
	mask  uint64 // of the bits of a key
	shift uint   // of a record's first word, what is shifted out for its part
}

// hashCut is by the first bits of hashes.
func hashCut(cut uint) joinCut { return joinCut{shift: 64 - cut} }

// first makes the first words of the records of keys.
func (c *joinCut) first(l *loops, into, words []uint64) []uint64 {
	switch {
	case c.close && c.mask == math.MaxUint64:
		l.retrace.clamp(into, words, c.base, c.mask)
		return into
	case c.close:
		for i, w := range words {
			into[i] = (w - c.base) & c.mask
		}
		return into
	}
	for i, w := range words {
		into[i] = hashWord(w, 0)
	}
	return into
}

// count counts keys by parts.
func (c *joinCut) count(l *histogramLoops, to counters, words []uint64, ahead int) {
	by := digit{shift: c.shift, mask: math.MaxUint32, ahead: ahead}
	if c.close {
		by.base, by.mask = c.base, by.mask&(c.mask>>c.shift)
		l.u64(to, words, by)
		return
	}
	l.hashes(to, words, by)
}

// split makes the records, of so many parts, 1<<per of which are a block: one pass that
// counts, of the keys alone, and one that writes each row to the next place of its part.
func (h *joinHalf) split(ctx context.Context, l *loops, a *arena, parts int, per uint, by joinCut) error {
	chunks := max(1, min(partChunks, morsels(h.n)))
	room := countersRoom(parts, int(h.n)/chunks)
	counts, err := zeroVec[uint32](a, chunks*room)
	if err != nil {
		return err
	}
	defer a.drop(counts.b)
	loads := stash[*joinLoad]{make: func() (*joinLoad, error) { return new(joinLoad), nil }}
	each := func(values bool, begin func(c int, b *joinLoad) (f func(words, carried []uint64), end func())) error {
		return tasks(ctx, chunks, func(_, c int) error {
			b, _ := loads.get()
			defer loads.put(b)
			from, to := h.n*int64(c)/int64(chunks), h.n*int64(c+1)/int64(chunks)
			f, end := begin(c, b)
			defer end()
			for k := 1; from < to; k++ {
				if k%64 == 0 {
					if err := device.Canceled(ctx, "cpu", ""); err != nil {
						return err
					}
				}
				n := min(batchRows, to-from)
				words, carried := h.load(b, from, int(n), values)
				f(words, carried)
				from += n
			}
			return nil
		})
	}
	ahead := 0
	if memory.Width(h.key.Type()) == 8 && !hasNulls(h.key) {
		ahead = countAhead // where load reads nothing
	}
	err = each(false, func(c int, _ *joinLoad) (func(words, _ []uint64), func()) {
		to := countersOf(counts.s[c*room:][:room], parts)
		return func(words, _ []uint64) { by.count(&l.histogram, to, words, ahead) }, func() {}
	})
	if err != nil {
		return err
	}
	sumTables(counts.s, chunks, parts)
	h.ends = make([]int, parts+1)
	sum, begin := 0, 0
	for part := range parts {
		if part&(1<<per-1) == 0 {
			begin = sum
		}
		for c := range chunks {
			at := &counts.s[c*parts+part]
			k := *at
			*at = uint32(sum - begin)
			sum += int(k)
		}
		h.ends[part+1] = sum
	}
	if err := h.makeBlocks(a, parts, per); err != nil {
		return err
	}
	bases := make([]*uint64, len(h.blocks)) // one look instead of two, which took a twentieth of the join
	for b := range bases {
		bases[b] = (*uint64)(unsafe.Pointer(unsafe.SliceData(h.blocks[b].s)))
	}
	from := l.lines.joinFrom
	if by.close {
		from = l.lines.closeFrom
	}
	lined := linesRecords(from, sum, parts, chunks)
	return each(true, func(c int, b *joinLoad) (func(words, carried []uint64), func()) {
		next := counts.s[c*parts:][:parts]
		switch {
		case lined:
			return h.byLines(l, b, next, bases, by)
		case !by.close:
			back, block := by.shift&63, (by.shift+per)&63
			return func(words, carried []uint64) { putHashed(words, carried, back, block, next, bases) }, func() {}
		}
		return func(words, carried []uint64) {
			carried = carried[:len(words)]
			for i, w := range words {
				w = (w - by.base) & by.mask
				part := w >> (by.shift & 63)
				*recordAt(bases[part>>(per&63)], next[part]) = joinRecord{w, carried[i]}
				next[part]++
			}
		}, func() {}
	})
}

// recordAt is a record of a block.
func recordAt(block *uint64, at uint32) *joinRecord {
	return (*joinRecord)(unsafe.Add(unsafe.Pointer(block), uintptr(at)<<4))
}

// putHashed writes the records of hashes, which are shifted by back for their part and
// by block for its block.
func putHashed(words, carried []uint64, back, block uint, next []uint32, bases []*uint64) {
	carried = carried[:len(words)]
	for i, w := range words {
		hash := hashWord(w, 0)
		at := &next[hash>>(back&63)]
		*recordAt(bases[hash>>(block&63)], *at) = joinRecord{hash, carried[i]}
		*at++
	}
}

// byLines writes a chunk's records by way of lines.
func (h *joinHalf) byLines(l *loops, b *joinLoad, next []uint32, bases []*uint64, by joinCut) (put func(words, carried []uint64), end func()) {
	if b.lined == nil {
		b.lined = new(linedRows)
	}
	r := b.lined
	r.blocks, r.shift, r.mask, r.fold = bases, by.shift, math.MaxUint32, h.per
	r.begin(next)
	return func(words, carried []uint64) {
		r.put(&l.lines, by.first(l, r.words[:len(words)], words), carried)
	}, func() { r.end(&l.lines, next) }
}
