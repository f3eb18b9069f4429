package distributed

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/table"
)

// shuffling is a Join by the hashes of keys.
type shuffling struct {
	*join
	keys    [2][]string // of left and right, those that are hashed: all pairs, or those that a side is spread by
	types   []arrow.DataType
	buckets []int32 // nil where sizes are to say
	stays   [2]bool // the side is where it should be
	moves   int64   // bytes of the sides that do not stay
	nulls   bool    // null keys match nothing
	all     [2]bool // which side's rows may be on all ranks
}

// shuffling finds the keys to hash by. Where a side is spread by the hash of some of
// the join's keys, equal pairs of these are enough.
func (j *join) shuffling() *shuffling {
	s := &shuffling{join: j, keys: [2][]string{j.spec.Left, j.spec.Right}, types: j.types, nulls: !j.spec.NullsEqual, all: [2]bool{j.allLeft(), j.allRight()}}
	sides := [2]*Table{j.left, j.right}
	first := 0
	if j.right.size() > j.left.size() {
		first = 1
	}
	for _, side := range []int{first, 1 - first} {
		if s.follow(side, sides[side].by) {
			break
		}
	}
	for side, d := range sides {
		s.stays[side] = s.buckets != nil && d.by.hashes(s.keys[side], s.types) && slices.Equal(d.by.Buckets, s.buckets) && s.usable(d.by)
		if !s.stays[side] {
			s.moves += d.size()
		}
	}
	return s
}

// usable reports whether rows spread so are where a join needs them.
func (s *shuffling) usable(by Partitioning) bool {
	return by.Scheme == Hashed && !by.Apart && (s.nulls || !by.NullsAnywhere) && len(by.Keys) > 0
}

// follow takes a side's spread for the join's, if it serves.
func (s *shuffling) follow(side int, by Partitioning) bool {
	if !s.usable(by) {
		return false
	}
	names := [2][]string{s.spec.Left, s.spec.Right}[side]
	var keys [2][]string
	var types []arrow.DataType
	for i, k := range by.Keys {
		at := slices.Index(names, k)
		if at < 0 || !hashAlike(by.Types[i], s.join.types[at]) {
			return false
		}
		keys[0], keys[1] = append(keys[0], s.spec.Left[at]), append(keys[1], s.spec.Right[at])
		types = append(types, s.join.types[at])
	}
	s.keys, s.types, s.buckets = keys, types, by.Buckets
	return true
}

// run moves rows and joins.
func (s *shuffling) run() (*Table, error) {
	sides := [2]*Table{s.left, s.right}
	var parts [2]*table.Table
	var hashes [2]*hashed
	defer func() {
		for side := range sides {
			hashes[side].release()
			parts[side].Release()
		}
	}()
	for side, d := range sides {
		parts[side] = s.once(d)
		if !s.stays[side] {
			hashes[side] = s.hash(parts[side], s.keys[side], s.types, s.nulls)
		}
	}
	var ways [2]way
	if s.buckets == nil {
		ways = s.heavy(hashes)
		s.buckets = s.deals(hashes, ways)
	}
	apart := len(ways[0].heavy) > 0
	by := [2]Partitioning{}
	for side, d := range sides {
		by[side] = Partitioning{Scheme: Hashed, Keys: s.keys[side], Types: s.types, Buckets: s.buckets, NullsAnywhere: s.nulls, Apart: apart}
		if s.stays[side] {
			by[side] = d.by
			continue
		}
		ways[side].buckets = s.buckets
		parts[side].Release()
		parts[side] = s.shuffled(hashes[side], d.Schema(), ways[side])
		hashes[side].release()
		hashes[side] = nil
	}
	return s.end(parts[0], parts[1], s.ofBoth(by[0], by[1]))
}

// deals gives the ranks buckets of both sides' rows, by their bytes. Rows of heavy keys, which
// do not go by their buckets, do not count.
func (s *shuffling) deals(hashes [2]*hashed, ways [2]way) []int32 {
	sizes := make([]int64, bucketsPerRank*s.comm.Size())
	for side, d := range [2]*Table{s.left, s.right} {
		weight := int64(1)
		if rows := d.NumRows(); rows > 0 {
			weight += d.size() / rows
		}
		hashes[side].count(sizes, weight, ways[side].heavy)
	}
	if sizes = s.sums(len(sizes), sizes); sizes == nil {
		return make([]int32, bucketsPerRank*s.comm.Size())
	}
	return dealt(sizes, s.comm.Size())
}
