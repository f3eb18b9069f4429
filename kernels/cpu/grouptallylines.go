package cpu

import "unsafe"

// linedRows is a worker's room for records that go by way of lines.
type linedRows struct {
	recordLines
	words [batchRows]uint64
}

// writeLines is tallyParts.write by way of lines.
func (p *tallyParts[S]) writeLines(from, to int64, first, last int, records []tallyRecord) error {
	return p.eachChunkTo(from, to, int64(p.chunks), func(c int, b *tallyBatch[S]) (tallyFold[S], func(), error) {
		next := p.counts.s[c*p.parts:][:p.parts]
		if b.lined == nil {
			b.lined = new(linedRows)
		}
		r, byWords := b.lined, p.low != 0 || p.parts == 1
		r.blocks, r.fold = []*uint64{(*uint64)(unsafe.Pointer(unsafe.SliceData(records)))}, 63
		if r.shift, r.mask = 0, p.low; !byWords {
			r.shift, r.mask = p.back, uint64(p.parts-1)
		}
		r.begin(next)
		return func(b *tallyBatch[S], words []uint64, sums []S, incs []uint64) error {
			values, rows := bitsOf(sums)[:len(words)], []uint32(nil)
			if byWords {
				rows = p.numbers(b)
			}
			if last-first < p.parts {
				words, values, incs, rows = p.pick(b, uint64(first), words, values, incs, rows)
			}
			r.put(&p.l.lines, p.recordWords(r.words[:len(words)], words, incs, rows, byWords), values)
			return nil
		}, func() { r.end(&p.l.lines, next) }, nil
	})
}

// recordWords is the words of records.
func (p *tallyParts[S]) recordWords(to, words, incs []uint64, rows []uint32, byWords bool) []uint64 {
	base, up := p.base, p.up
	switch {
	case rows != nil:
		rows = rows[:len(words)]
		for j, w := range words {
			to[j] = (w - base) | uint64(rows[j])<<32
		}
	case byWords && p.valid == nil:
		for j, w := range words {
			to[j] = w - base
		}
	case byWords:
		incs = incs[:len(words)]
		for j, w := range words {
			to[j] = (w - base) | ^incs[j]>>32<<63
		}
	case p.valid == nil:
		for j, w := range words {
			to[j] = hashWord(w-base, 0)
		}
	default:
		incs = incs[:len(words)]
		for j, w := range words {
			to[j] = hashWord(w-base, up) | ^incs[j]>>32&1
		}
	}
	return to
}
