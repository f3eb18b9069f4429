package order

import (
	"math/bits"
	"sort"
	"sync"
)

// classes are the rows of each class, one class after the other.
type classes struct {
	rows   []int64
	starts []int64 // in rows, of each class, and behind the last the number of rows
	sum    uint64
}

// newClasses sorts rows by their class, in order of the classes' numbers.
func newClasses(of []int64) *classes {
	c := &classes{rows: make([]int64, len(of)), sum: hashAll(of)}
	for i := range c.rows {
		c.rows[i] = int64(i)
	}
	sort.SliceStable(c.rows, func(i, j int) bool { return of[c.rows[i]] < of[c.rows[j]] })
	for i, r := range c.rows {
		if i == 0 || of[r] != of[c.rows[i-1]] {
			c.starts = append(c.starts, int64(i))
		}
	}
	c.starts = append(c.starts, int64(len(of)))
	return c
}

func (c *classes) count() int { return len(c.starts) - 1 }

func (c *classes) size(i int) int64 { return c.starts[i+1] - c.starts[i] }

// stratified mixes classes evenly.
type stratified struct {
	*classes
	seed uint64
	room sync.Pool // of merges
}

// Stratified is every row once, so that each stretch of an epoch has of each
// class its share of all rows, to within two; class numbers come one for each
// row. Which rows of a class come when is another order in each epoch.
//
// Row j of a class of n among N rows is due at (2j+1)·N/2n, and rows come as they
// are due; where an epoch is at a position is found by bisection. It holds eight
// bytes a row, and a batch costs a comparison tree of as many leaves as there
// are classes.
func Stratified(class []int64, seed uint64) Order {
	return &stratified{classes: newClasses(class), seed: seed}
}

// Len is the number of rows.
func (s *stratified) Len() int64 { return int64(len(s.rows)) }

// Rows is the number of rows.
func (s *stratified) Rows() int64 { return int64(len(s.rows)) }

// Hash is that of the classes and the seed.
func (s *stratified) Hash() uint32 { return hash("stratified", s.sum, s.seed) }

// String says what it is.
func (s *stratified) String() string { return "stratified by classes" }

// due is when row j of class c comes.
func (s *stratified) due(c int, j int64) int64 {
	hi, lo := bits.Mul64(uint64(2*j+1), uint64(len(s.rows)))
	q, _ := bits.Div64(hi, lo, uint64(2*s.size(c)))
	return int64(q)
}

// before is how many rows of class c are due before a time.
func (s *stratified) before(c int, time int64) int64 {
	hi, lo := bits.Mul64(uint64(2*s.size(c)), uint64(time))
	lo, carry := bits.Add64(lo, uint64(len(s.rows)-1), 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(len(s.rows)))
	return min(s.size(c), int64(q/2))
}

// merge is where each class stands, and a heap of those that have rows left.
type merge struct {
	next  []int64 // the next row of each class
	due   []int64
	heap  []int
	order []*Permutation
}

func (m *merge) less(a, b int) bool {
	return m.due[a] < m.due[b] || m.due[a] == m.due[b] && a < b
}

func (m *merge) down(i int) {
	for {
		k := 2*i + 1
		if k >= len(m.heap) {
			return
		}
		if k+1 < len(m.heap) && m.less(m.heap[k+1], m.heap[k]) {
			k++
		}
		if !m.less(m.heap[k], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[k] = m.heap[k], m.heap[i]
		i = k
	}
}

// Fill finds where the classes stand and goes on from there.
func (s *stratified) Fill(dst []int64, epoch, from int64) {
	for len(dst) > 0 && len(s.rows) > 0 {
		from = wrap(from, s.Len())
		n := min(int64(len(dst)), s.Len()-from)
		s.fill(dst[:n], epoch, from)
		dst, from = dst[n:], from+n
	}
}

func (s *stratified) fill(dst []int64, epoch, from int64) {
	m, ok := s.room.Get().(*merge)
	if !ok {
		k := s.count()
		m = &merge{make([]int64, k), make([]int64, k), make([]int, 0, k), make([]*Permutation, k)}
	}
	defer s.room.Put(m)
	all := func(time int64) (n int64) {
		for c := range s.count() {
			n += s.before(c, time)
		}
		return n
	}
	time := int64(sort.Search(len(s.rows), func(t int) bool { return all(int64(t+1)) > from }))
	skip := from - all(time)
	m.heap = m.heap[:0]
	for c := range s.count() {
		m.next[c], m.order[c] = s.before(c, time), nil
		if m.next[c] < s.size(c) {
			m.due[c] = s.due(c, m.next[c])
			m.heap = append(m.heap, c)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	for i := -skip; i < int64(len(dst)); i++ {
		c := m.heap[0]
		if i >= 0 {
			dst[i] = s.row(m, c, epoch)
		}
		if m.next[c]++; m.next[c] < s.size(c) {
			m.due[c] = s.due(c, m.next[c])
		} else {
			m.heap[0] = m.heap[len(m.heap)-1]
			m.heap = m.heap[:len(m.heap)-1]
		}
		m.down(0)
	}
}

// row is the next one of a class.
func (s *stratified) row(m *merge, c int, epoch int64) int64 {
	if m.order[c] == nil {
		p := NewPermutation(s.size(c), mix(s.seed)+uint64(c), uint64(epoch))
		m.order[c] = &p
	}
	return s.rows[s.starts[c]+m.order[c].At(m.next[c])]
}

// grouped keeps the rows of a group together.
type grouped struct {
	*classes
	seed   uint64
	epochs recent[groupEpoch]
}

// groupEpoch is the groups of an epoch as they come.
type groupEpoch struct {
	group  []int32
	starts []int64 // the position at which the k-th begins, and the number of rows
}

// Grouped is every row once, so that the rows of a group come one after the
// other, in the order of the data, and the groups in another order in each
// epoch; group numbers come one for each row. It holds eight bytes a row, and
// twelve a group for each of the last epochs.
func Grouped(group []int64, seed uint64) Order {
	return &grouped{classes: newClasses(group), seed: seed}
}

// Len is the number of rows.
func (g *grouped) Len() int64 { return int64(len(g.rows)) }

// Rows is the number of rows.
func (g *grouped) Rows() int64 { return int64(len(g.rows)) }

// Hash is that of the groups and the seed.
func (g *grouped) Hash() uint32 { return hash("grouped", g.sum, g.seed) }

// String says what it is.
func (g *grouped) String() string { return "by groups" }

// Fill goes from group to group.
func (g *grouped) Fill(dst []int64, epoch, from int64) {
	if len(g.rows) == 0 {
		return
	}
	e := g.epochs.get(epoch, func() *groupEpoch {
		p := NewPermutation(int64(g.count()), g.seed, uint64(epoch))
		e := &groupEpoch{make([]int32, g.count()), make([]int64, g.count()+1)}
		for k := range e.group {
			e.group[k] = int32(p.At(int64(k)))
			e.starts[k+1] = e.starts[k] + g.size(int(e.group[k]))
		}
		return e
	})
	for len(dst) > 0 {
		from = wrap(from, g.Len())
		k := sort.Search(len(e.group)-1, func(i int) bool { return e.starts[i+1] > from })
		at := g.starts[e.group[k]] + from - e.starts[k]
		n := copy(dst, g.rows[at:g.starts[e.group[k]+1]])
		dst, from = dst[n:], from+int64(n)
	}
}
