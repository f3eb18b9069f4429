package dataloader

import (
	"github.com/volley-go/volley/memory"
)

// group is the rows of the batches of some tickets that follow each other. They are
// numbered by units, the rows of a unit in the order of the tickets; in that order,
// beginning with the unit that the table was read from when the group opened, they take
// their places.
type group struct {
	number   int64 // of the group, -1 where there is none; guarded by groups.mu
	start    int64 // the leg with which it opened, -1 before; guarded by groups.mu
	complete bool  // all its rows are in their places; guarded by groups.mu
	made     []bool
	left     int64 // batches that are not made; both guarded by groups.mu

	count   int64    // rows
	begins  []int64  // of the group's rows, in the order of the tickets, where each batch's begin
	locals  []uint16 // rows by number, within their units
	numbers []uint32 // of the rows, in the order of the tickets
	first   []uint32 // the number of the first row of each unit, and behind the last how many rows there are
	base    int64    // the number of the row that has the first place
	blocks  []uint32 // of places, as many as it has taken
	taken   int64    // how many these are; guarded by groups.mu
}

// newGroup is a group over the memory that it needs, and what is left of that.
func newGroup(s *groupSize, room []byte) (*group, []byte) {
	take := func(n int64) []byte {
		piece := room[:n]
		room = room[memory.Padded(n):]
		return piece
	}
	g := &group{number: -1, start: -1, made: make([]bool, s.batches), begins: make([]int64, s.batches+1)}
	g.locals = view[uint16](take(2 * s.rows))
	g.numbers = view[uint32](take(4 * s.rows))
	g.first = view[uint32](take(4 * (s.units + 1)))
	g.blocks = view[uint32](take(4 * blocksOf(s.rows)))
	return g, room
}

// fill takes up the rows of a group's batches. It reports false where a row is none of
// the table's.
func (g *group) fill(a *groups, number int64) bool {
	g.count, g.left = 0, 0
	clear(g.first)
	clear(g.made)
	for k := range a.batches {
		rows := a.coming.rows(a.room, skipped+number*a.batches+k)
		if rows == nil {
			break
		}
		to := g.numbers[g.count:][:len(rows)]
		for i, r := range rows {
			if uint64(r) >= uint64(a.reader.rows) {
				return false
			}
			to[i] = uint32(r)
			g.first[r>>a.shift+1]++
		}
		g.begins[k] = g.count
		g.count += int64(len(rows))
		g.left++
		letIn()
	}
	g.begins[g.left] = g.count
	for k := range a.units {
		a.next[k] = g.first[k]
		g.first[k+1] += g.first[k]
	}
	for i, r := range g.numbers[:g.count] {
		next := &a.next[r>>a.shift]
		g.locals[*next] = uint16(r & (1<<a.shift - 1))
		g.numbers[i] = *next
		*next++
	}
	return true
}

// placeOf is the place of the row of a number.
func (g *group) placeOf(number int64) uint32 {
	if number -= g.base; number < 0 {
		number += g.count
	}
	return g.blocks[number>>blockShift]<<blockShift | uint32(number)&(blockPlaces-1)
}

// places writes the places of rows of a batch, from one on.
func (g *group) places(to []int64, batch, from int64) {
	numbers := g.numbers[g.begins[batch]+from:][:len(to)]
	for i, n := range numbers {
		to[i] = int64(g.placeOf(int64(n)))
	}
}

// collected is how many rows of a group are in their places when, of the legs since it
// opened, so many are done.
func (g *group) collected(a *groups, start, done int64) int64 {
	if done >= a.legs {
		return g.count
	}
	from, to := a.border(start%a.legs), a.border((start+done)%a.legs)
	n := int64(g.first[to]) - int64(g.first[from])
	if to < from {
		n += g.count
	}
	return n
}
