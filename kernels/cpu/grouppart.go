package cpu

import (
	"context"

	"github.com/volley-go/volley/device"
)

// rowParts spreads row numbers over parts by their words, in row order within
// each part, without ever holding more than room of them.
type rowParts struct {
	ctx   context.Context
	a     *arena
	src   source
	n     int64
	parts int
	of    func(words []uint64, parts []uint32) // the part of each word
	room  int64

	chunk  int64
	starts vec[uint32] // of each chunk and part, counting all rows part by part
	ends   []int64     // of each part
	rows   vec[uint32]
	held   [2]int // the range of parts in rows
}

// partChunks is how many pieces rows are cut into at most to be partitioned.
const partChunks = 128

// count finds how many rows each part has.
func (p *rowParts) count() error {
	chunks := int64(max(1, min(morsels(p.n), partChunks)))
	p.chunk = (p.n + chunks - 1) / chunks
	var err error
	if p.starts, err = zeroVec[uint32](p.a, int(chunks)*p.parts); err != nil {
		return err
	}
	err = p.scan(func(c int, parts, rows []uint32) {
		counts := p.starts.s[c*p.parts:][:p.parts]
		for _, part := range parts {
			counts[part]++
		}
	})
	if err != nil {
		return err
	}
	var sum int64
	p.ends = make([]int64, p.parts)
	for part := range p.parts {
		for c := range int(chunks) {
			at := &p.starts.s[c*p.parts+part]
			k := *at
			*at = uint32(sum)
			sum += int64(k)
		}
		p.ends[part] = sum
	}
	return nil
}

func (p *rowParts) start(part int) int64 {
	if part == 0 {
		return 0
	}
	return p.ends[part-1]
}

// scan goes over all rows, chunk by chunk, with the part of each.
func (p *rowParts) scan(f func(chunk int, parts, rows []uint32)) error {
	type scratch struct {
		batch
		parts, numbers [batchRows]uint32
	}
	all := stash[*scratch]{make: func() (*scratch, error) { return new(scratch), nil }}
	return tasks(p.ctx, p.chunks(), func(_, c int) error {
		b, _ := all.get()
		defer all.put(b)
		from := int64(c) * p.chunk
		k := 0
		return batches(&b.batch, from, min(from+p.chunk, p.n), func() error {
			if k++; k%64 == 0 {
				if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
					return err
				}
			}
			if p.src.fill(&b.batch) {
				b.compact()
			}
			rows := b.rows
			if rows == nil {
				rows = b.numbers[:b.n]
				for j := range rows {
					rows[j] = b.from + uint32(j)
				}
			}
			p.of(b.words[:b.n], b.parts[:b.n])
			f(c, b.parts[:b.n], rows)
			return nil
		})
	})
}

// chunks is the number of chunks.
func (p *rowParts) chunks() int {
	if p.n == 0 {
		return 0
	}
	return int((p.n + p.chunk - 1) / p.chunk)
}

// each calls f for every part that has rows with them, in order; parts are
// done by several workers. It may be called again.
func (p *rowParts) each(f func(part int, rows []uint32) error) error {
	return p.eachOfAll(func(part int, rows []uint32) error {
		if len(rows) == 0 {
			return nil
		}
		return f(part, rows)
	})
}

// eachOfAll is each for parts without rows too.
func (p *rowParts) eachOfAll(f func(part int, rows []uint32) error) error {
	for from := 0; from < p.parts; {
		to := from + 1
		for to < p.parts && p.ends[to]-p.start(from) <= p.room {
			to++
		}
		if err := p.hold(from, to); err != nil {
			return err
		}
		base := p.start(from)
		err := tasks(p.ctx, to-from, func(_, i int) error {
			part := from + i
			return f(part, p.rows.s[p.start(part)-base:p.ends[part]-base])
		})
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// hold gathers the rows of parts [from, to).
func (p *rowParts) hold(from, to int) error {
	if p.held == [2]int{from, to} {
		return nil
	}
	base, n := p.start(from), p.ends[to-1]-p.start(from)
	p.held = [2]int{from, to}
	if int64(cap(p.rows.s)) < n {
		p.a.drop(p.rows.b)
		p.rows = vec[uint32]{}
		var err error
		if p.rows, err = newVec[uint32](p.a, int(n)); err != nil {
			return err
		}
	}
	rows := p.rows.s[:cap(p.rows.s)]
	p.rows.s = rows
	places := make([][]uint32, p.chunks())
	return p.scan(func(c int, parts, numbers []uint32) {
		at := places[c]
		if at == nil {
			at = make([]uint32, p.parts)
			for part := range at {
				at[part] = p.starts.s[c*p.parts+part] - uint32(base)
			}
			places[c] = at
		}
		if from == 0 && to == p.parts {
			for j, part := range parts {
				rows[at[part]] = numbers[j]
				at[part]++
			}
			return
		}
		for j, part := range parts {
			if int(part) >= from && int(part) < to {
				rows[at[part]] = numbers[j]
				at[part]++
			}
		}
	})
}

// free gives the row numbers back before the end of the call.
func (p *rowParts) free() {
	p.a.drop(p.rows.b)
	p.a.drop(p.starts.b)
	p.rows, p.starts = vec[uint32]{}, vec[uint32]{}
}
