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

// Most is how many ranks are on the machine that has most.
func (m *Machines) Most() int {
	most := 0
	for _, ranks := range m.members {
		most = max(most, len(ranks))
	}
	return most
}

// leaving is how many ranks of one machine, at most, are followed by a rank of another.
func (m *Machines) leaving() int {
	count, most := make([]int, m.Len()), 0
	for r, i := range m.of {
		if m.of[(r+1)%len(m.of)] != i {
			count[i]++
			most = max(most, count[i])
		}
	}
	return most
}

// Ranks are the ranks of a machine, rising; not to be changed.
func (m *Machines) Ranks(machine int) []int { return m.members[machine] }

// machines are those of a call; nil where all ranks are on one.
func (c *Call) machines() *Machines {
	if c.Nodes == nil || c.Nodes.Len() == 1 {
		return nil
	}
	return c.Nodes
}
