package algorithm

// Machines says which ranks share a machine. One value serves all ranks of a call
// and is not changed.
type Machines struct {
	of      []int   // the machine of a rank
	place   []int   // a rank's place among the ranks of its machine
	members [][]int // the ranks of a machine, rising
}

// NewMachines makes Machines of the machine that each rank is on: any numbers that
// are equal for ranks of one machine.
func NewMachines(of []int) *Machines {
	m := &Machines{of: make([]int, len(of)), place: make([]int, len(of))}
	number := map[int]int{}
	for r, name := range of {
		i, seen := number[name]
		if !seen {
			i = len(m.members)
			number[name] = i
			m.members = append(m.members, nil)
		}
		m.of[r], m.place[r] = i, len(m.members[i])
		m.members[i] = append(m.members[i], r)
	}
	return m
}

// Len is the number of machines.
func (m *Machines) Len() int { return len(m.members) }

// Of is the machine of a rank. Machines are numbered from 0 in order of their first
// rank.
func (m *Machines) Of(rank int) int { return m.of[rank] }

// Ranks are the ranks of a machine, rising; not to be changed.
func (m *Machines) Ranks(machine int) []int { return m.members[machine] }

// machines are those of a call; nil where all ranks are on one.
func (c *Call) machines() *Machines {
	if c.Nodes == nil || c.Nodes.Len() == 1 {
		return nil
	}
	return c.Nodes
}
