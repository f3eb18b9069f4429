package cpu

// A state is one number or so for each group, folded over rows. Every
// aggregation is made of states, shared where two need the same: mean, sum and
// count of a column are two states. Rows with nulls never reach a state.
type state interface {
	// reset makes the state that of n groups without rows.
	reset(n int) error
	// update folds rows in; rows is nil for those from from on.
	update(ids, rows []uint32, from uint32)
	// merge folds in the state of rows that come after; its group i is group
	// at[i] here, and those beyond at have no rows; with nil it is group i.
	merge(later state, at []uint32)
	// free gives its memory back.
	free()
}

// groupValues is the part that all states have: one value for each group.
type groupValues[A any] struct {
	a   *arena
	acc vec[A]
}

func (s *groupValues[A]) reset(n int) error { return s.acc.resize(s.a, n) }

func (s *groupValues[A]) free() {
	s.a.drop(s.acc.b)
	s.acc = vec[A]{}
}

// upTo cuts values of groups to those that at has, or to n where it is nil.
func upTo[A any](acc []A, at []uint32, n int) []A {
	if at == nil {
		return acc[:min(n, len(acc))]
	}
	return acc[:len(at)]
}

// placeOf is at[i], or i where at is nil.
func placeOf(at []uint32, i int) int {
	if at == nil {
		return i
	}
	return int(at[i])
}

// rowOf is row j of what update was given.
func rowOf(rows []uint32, from uint32, j int) uint32 {
	if rows != nil {
		return rows[j]
	}
	return from + uint32(j)
}

// countState counts rows.
type countState struct{ groupValues[uint32] }

func (s *countState) update(ids, _ []uint32, _ uint32) {
	acc := s.acc.s
	for _, id := range ids {
		acc[id]++
	}
}

func (s *countState) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*countState).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.acc.s[i] += v
	}
}

// sumState sums integers and wraps, which those of 32 bits cannot.
type sumState[T integer] struct {
	groupValues[int64]
	values []T
}

func (s *sumState[T]) update(ids, rows []uint32, from uint32) {
	acc, values := s.acc.s, s.values
	if rows != nil {
		rows = rows[:len(ids)]
		for j, id := range ids {
			acc[id] += int64(values[rows[j]])
		}
		return
	}
	if len(ids) == 0 {
		return
	}
	values = values[from:]
	values = values[:len(ids)]
	for j, id := range ids {
		acc[id] += int64(values[j])
	}
}

func (s *sumState[T]) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*sumState[T]).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.acc.s[i] += v
	}
}

// floatState sums floats, row by row within a chunk and chunk by chunk.
type floatState[T float32 | float64] struct {
	groupValues[float64]
	values []T
}

func (s *floatState[T]) update(ids, rows []uint32, from uint32) {
	acc, values := s.acc.s, s.values
	if rows != nil {
		rows = rows[:len(ids)]
		for j, id := range ids {
			acc[id] += float64(values[rows[j]])
		}
		return
	}
	if len(ids) == 0 {
		return
	}
	values = values[from:]
	values = values[:len(ids)]
	for j, id := range ids {
		acc[id] += float64(values[j])
	}
}

func (s *floatState[T]) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*floatState[T]).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.acc.s[i] += v
	}
}

// truthState counts the true values of a bool column.
type truthState struct {
	groupValues[uint32]
	bits   []byte
	offset int64
}

func (s *truthState) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		i := s.offset + int64(rowOf(rows, from, j))
		s.acc.s[id] += uint32(s.bits[i>>3] >> (uint(i) & 7) & 1)
	}
}

func (s *truthState) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*truthState).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.acc.s[i] += v
	}
}

// rowState keeps a row of each group, plus 1: the first, the last, or the best
// by an order of rows.
type rowState struct {
	groupValues[uint32]
	better func(row, than uint32) bool // row comes after than
}

func (s *rowState) update(ids, rows []uint32, from uint32) {
	acc := s.acc.s
	for j, id := range ids {
		row := rowOf(rows, from, j)
		if acc[id] == 0 || s.better(row, acc[id]-1) {
			acc[id] = row + 1
		}
	}
}

func (s *rowState) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*rowState).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		if v != 0 && (s.acc.s[i] == 0 || s.better(v-1, s.acc.s[i]-1)) {
			s.acc.s[i] = v
		}
	}
}
