// Package slots is what tests change of the hash tables inside of kernels and joins: how much
// of a hash they look at, and how small they begin. With it a test meets what real rows
// meet once in a year: keys whose hashes are all equal, tags that tell nothing apart, and a
// table that grows at every step.
//
// A hash that can be turned back into its key is left as it is, since two keys never share one.
package slots

// Kept is the bits of a hash that a table keeps. Only Set changes it, while no kernel runs.
var Kept = ^uint64(0)

// least is with how many slots a table begins that can grow; 0 where it chooses.
var least int

const (
	// All are the bits of hashes as they are.
	All = ^uint64(0)
	// None makes all hashes equal.
	None = uint64(0)
	// Places keeps the upper half, by which searches of joins and tallies begin. The tags beside
	// their slots are equal, and all searches for groups begin at one slot.
	Places = All &^ Tags
	// Tags keeps the lower half: the tags, and where searches for groups begin. Those of joins and
	// tallies begin at one slot.
	Tags = All >> 32
)

// Trial is one way to spoil tables.
type Trial struct {
	Name string
	Kept uint64
	Few  bool
}

// Trials are the ways that tests of tables try.
func Trials() []Trial {
	return []Trial{
		{"equal hashes", None, false},
		{"equal tags", Places, true},
		{"equal places", Tags, true},
		{"four slots", All, true},
		{"equal hashes in four slots", None, true},
	}
}

// Begin makes tables as the trial says. end makes them what they were.
func (t Trial) Begin() (end func()) { return Set(t.Kept, t.Few) }

// Few is how many slots a table has at first after Set with few.
const Few = 4

// Set makes tables keep some bits of hashes, and with few begin with four slots. undo makes
// them what they were. No kernel may run at the time of either.
func Set(kept uint64, few bool) (undo func()) {
	was, size := Kept, least
	if Kept, least = kept, 0; few {
		least = Few
	}
	return func() { Kept, least = was, size }
}

// First is with how many slots a table begins that chose n.
func First(n int) int {
	if least != 0 {
		return least
	}
	return n
}
