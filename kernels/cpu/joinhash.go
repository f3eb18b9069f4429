package cpu

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/internal/slots"
)

const (
	// hashPart is the logarithm of how many rows a region is made of: its places,
	// 220 KiB, and its rows stay in the second-level cache.
	hashPart = 14
	// regionSlack is how many places follow a region for the searches that reach
	// its end.
	regionSlack = 256
)

// buildHashed makes a table of places. Rows are partitioned by the first bits of
// the hash, and each part fills the region of its own. There are places for as
// many keys as a sample shows; where these do not do, for all rows; and where
// hashes fall so that a region still runs over, one region takes in all.
func (t *joinIndex) buildHashed(ctx context.Context, a, scratch *arena) error {
	t.whole = t.ks.exact && t.ks.width <= 32
	t.cut = uint(min(11, bits.Len64(uint64(t.length)>>hashPart)))
	p, err := t.hashParts(ctx, scratch)
	if err != nil {
		return err
	}
	guess := estimateGroups(t.ks, t.length, t.ks.card)
	guess, slack := int64(slots.First(int(guess+guess/4))), slots.First(regionSlack)
	done, err := t.place(ctx, a, scratch, p, min(guess, int64(p.kept())), slack)
	if !done && err == nil {
		done, err = t.place(ctx, a, scratch, p, int64(p.kept()), slack)
	}
	if done || err != nil {
		return err
	}
	scratch.free()
	t.cut = 0
	if p, err = t.hashParts(ctx, scratch); err != nil {
		return err
	}
	_, err = t.place(ctx, a, scratch, p, int64(p.kept()), p.kept()+regionSlack)
	return err
}

func (t *joinIndex) hashParts(ctx context.Context, a *arena) (*keyParts, error) {
	shift := 64 - t.cut
	return partKeys(ctx, a, t.ks, t.length, 1<<t.cut, t.whole, func(words []uint64, parts []uint32) {
		for j, w := range words {
			parts[j] = uint32(t.hash(w) >> shift)
		}
	})
}

// placing is one try to fill the places.
type placing struct {
	*joinIndex
	ctx      context.Context
	a        *arena
	scratch  *arena
	p        *keyParts
	same     func(i, j uint32) bool
	rooms    stash[*placeRoom]
	mu       sync.Mutex
	repeated atomic.Bool // a key came twice: there are offsets and rows
	over     atomic.Bool // a region ran over
}

// placeRoom is what a worker knows of the part in work.
type placeRoom struct {
	first vec[uint32] // of each key, its first row within the part
	key   vec[uint32] // of each row, the number of its key
}

// place fills the places for a number of keys. It reports whether they were
// enough.
func (t *joinIndex) place(ctx context.Context, a, scratch *arena, p *keyParts, keys int64, slack int) (bool, error) {
	t.region = min(uint64(keys*5/3>>t.cut)+8, 1<<32-1)
	t.stride = t.region + uint64(slack)
	var err error
	if t.slots, err = newVec[uint64](a, int(t.stride)<<t.cut); err != nil {
		return false, err
	}
	t.seekIn.slots = t.slots.s
	x := &placing{joinIndex: t, ctx: ctx, a: a, scratch: scratch, p: p}
	x.rooms.make = func() (*placeRoom, error) { return new(placeRoom), nil }
	if !t.ks.exact {
		x.same = sameKeys(t.ks, t.ks)
	}
	listed := make([]bool, p.parts) // parts done with offsets and rows
	err = tasks(ctx, p.parts, func(_, part int) (err error) {
		listed[part], err = x.part(part)
		return err
	})
	if err == nil && x.repeated.Load() && !x.over.Load() {
		err = tasks(ctx, p.parts, func(_, part int) (err error) {
			if !listed[part] {
				_, err = x.part(part)
			}
			return err
		})
	}
	if err != nil || x.over.Load() {
		a.drop(t.slots.b)
		a.drop(t.offsets.b)
		a.drop(t.rows.b)
		t.slots, t.offsets, t.rows = vec[uint64]{}, vec[uint32]{}, vec[uint32]{}
		return false, err
	}
	if t.unique = !x.repeated.Load(); t.unique {
		t.n = t.length
		return true, nil
	}
	t.n = int64(p.kept())
	t.offsets.s[t.n] = uint32(t.n)
	return true, nil
}

// part fills the region of a part, and, once a key has come twice, lists the
// rows of each.
func (x *placing) part(part int) (listed bool, err error) {
	if x.over.Load() {
		return false, nil
	}
	room, _ := x.rooms.get()
	defer x.rooms.put(room)
	if err := room.first.resize(x.scratch, x.p.size(part)); err != nil {
		return false, err
	}
	if err := room.key.resize(x.scratch, x.p.size(part)); err != nil {
		return false, err
	}
	listed = x.repeated.Load()
	keys, err := x.fill(part, room)
	if err != nil || keys < 0 {
		x.over.Store(true)
		return false, err
	}
	from := uint32(x.p.starts[part])
	slots := x.slots.s[uint64(part)*x.stride:][:x.stride]
	if !listed && keys == x.p.size(part) {
		for i, e := range slots {
			if e != 0 {
				slots[i] = e&^(1<<32-1) | uint64(x.row(from+uint32(e)-1)) + 1
			}
		}
		return false, nil
	}
	if err := x.repeat(); err != nil {
		return false, err
	}
	for i, e := range slots {
		if e != 0 {
			slots[i] = e + uint64(from)
		}
	}
	return true, x.list(part, room.key.s)
}

// row is the row of an entry.
func (x *placing) row(i uint32) uint32 {
	if x.p.rows.b == nil {
		return uint32(x.p.words.s[i])
	}
	return x.p.rows.s[i]
}

// repeat makes room for offsets and rows.
func (x *placing) repeat() (err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.repeated.Load() {
		return nil
	}
	if x.offsets, err = newVec[uint32](x.a, x.p.kept()+1); err == nil {
		x.rows, err = newVec[uint32](x.a, x.p.kept())
	}
	if err == nil {
		x.repeated.Store(true)
	}
	return err
}

// fill numbers the keys of a part in order of first appearance: a place gets
// that number plus 1. It gives how many there are, or -1 where the region runs
// over.
func (x *placing) fill(part int, room *placeRoom) (keys int, err error) {
	slots := x.slots.s[uint64(part)*x.stride:][:x.stride]
	clear(slots)
	base := uint64(part) * x.stride
	from := x.p.starts[part]
	first, key := room.first.s, room.key.s
	most := len(slots) - 1 // a search ends at a free place
	i := 0
	err = x.p.each(x.ctx, part, func(words []uint64, rows []uint32) {
		for k, w := range words {
			if rows == nil {
				w >>= 32
			}
			at, tag := x.hashed(w)
			at -= base
			for {
				e := slots[at]
				if e == 0 {
					if keys < 0 || int(at) == most {
						keys = -1
						return
					}
					first[keys], key[i] = uint32(i), uint32(keys)
					keys++
					slots[at] = uint64(tag)<<32 | uint64(keys)
					break
				}
				if uint32(e>>32) == tag {
					g := uint32(e) - 1
					if rows == nil {
						key[i] = g
						break
					}
					if f := from + int(first[g]); x.p.words.s[f] == w && (x.same == nil || x.same(rows[k], x.p.rows.s[f])) {
						key[i] = g
						break
					}
				}
				at++
			}
			i++
		}
	})
	return keys, err
}

// list puts the rows of each key of a part side by side.
func (x *placing) list(part int, key []uint32) error {
	from, n := x.p.starts[part], x.p.size(part)
	offsets := x.offsets.s[from : from+n]
	clear(offsets)
	for _, g := range key[:n] {
		offsets[g]++
	}
	ends(offsets, uint32(from))
	for i := n - 1; i >= 0; i-- {
		at := &offsets[key[i]]
		*at--
		x.rows.s[*at] = x.row(uint32(from + i))
	}
	return nil
}
