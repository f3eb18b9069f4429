package cpu

import (
	"context"

	"github.com/volley-go/volley/device"
)

// keyParts are rows and their words, partitioned by word, in row order within
// each part: written once side by side, so that whoever takes a part reads it in
// one stream.
type keyParts struct {
	parts  int
	starts []int       // of each part, and the end of the last
	words  vec[uint64] // where packed, the low half of the word and the row
	rows   vec[uint32] // where not packed
}

// partBlock is how many rows of a part are worked on between two looks at the
// context.
const partBlock = 1 << 18

// partKeys partitions the rows of a keyspace that have a key. of gives the part
// of each word; packed says that words fit 32 bits.
func partKeys(ctx context.Context, a *arena, ks *keyspace, n int64, parts int, packed bool, of func(words []uint64, parts []uint32)) (*keyParts, error) {
	p := &keyParts{parts: parts}
	chunks := int(max(1, min(int64(morsels(n)), partChunks)))
	counts := make([]uint32, chunks*parts)
	all := batchStash{}
	scan := func(f func(next []uint32, b *batch)) error {
		return tasks(ctx, chunks, func(_, c int) error {
			b, _ := all.get()
			defer all.put(b)
			next, done := counts[c*parts:(c+1)*parts], 0
			return batches(b, n*int64(c)/int64(chunks), n*int64(c+1)/int64(chunks), func() error {
				if done += b.n; done >= partBlock {
					done = 0
					if err := device.Canceled(ctx, "cpu", ""); err != nil {
						return err
					}
				}
				if ks.fill(b) {
					b.compact()
				}
				of(b.words[:b.n], b.group[:b.n])
				f(next, b)
				return nil
			})
		})
	}
	err := scan(func(next []uint32, b *batch) {
		for _, part := range b.group[:b.n] {
			next[part]++
		}
	})
	if err != nil {
		return nil, err
	}
	sum := 0
	p.starts = make([]int, parts+1)
	for part := range parts {
		for c := range chunks {
			at := &counts[c*parts+part]
			k := *at
			*at = uint32(sum)
			sum += int(k)
		}
		p.starts[part+1] = sum
	}
	if p.words, err = newVec[uint64](a, sum); err != nil {
		return nil, err
	}
	if !packed {
		if p.rows, err = newVec[uint32](a, sum); err != nil {
			return nil, err
		}
	}
	return p, scan(func(next []uint32, b *batch) {
		words := b.words[:b.n]
		for j, part := range b.group[:b.n] {
			at := next[part]
			next[part] = at + 1
			if packed {
				p.words.s[at] = words[j]<<32 | uint64(b.row(j))
			} else {
				p.words.s[at], p.rows.s[at] = words[j], b.row(j)
			}
		}
	})
}

// kept is the number of rows that have a key.
func (p *keyParts) kept() int { return p.starts[p.parts] }

// size is the number of rows of a part.
func (p *keyParts) size(part int) int { return p.starts[part+1] - p.starts[part] }

// each calls f for the rows of a part, block by block.
func (p *keyParts) each(ctx context.Context, part int, f func(words []uint64, rows []uint32)) error {
	for from := p.starts[part]; from < p.starts[part+1]; from += partBlock {
		if err := p.block(ctx, from, min(from+partBlock, p.starts[part+1]), f); err != nil {
			return err
		}
	}
	return nil
}

// eachBack is each from the last block on.
func (p *keyParts) eachBack(ctx context.Context, part int, f func(words []uint64, rows []uint32)) error {
	for to := p.starts[part+1]; to > p.starts[part]; to -= partBlock {
		if err := p.block(ctx, max(to-partBlock, p.starts[part]), to, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *keyParts) block(ctx context.Context, from, to int, f func(words []uint64, rows []uint32)) error {
	if err := device.Canceled(ctx, "cpu", ""); err != nil {
		return err
	}
	if p.rows.b == nil {
		f(p.words.s[from:to], nil)
	} else {
		f(p.words.s[from:to], p.rows.s[from:to])
	}
	return nil
}
