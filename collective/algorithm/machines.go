package algorithm

// Machines says which ranks share a machine. One value serves all ranks of a call
// and is not changed.
type Machines struct {
	of      []int   // the machine of a rank
	place   []int   // a rank's place among the ranks of its machine
	members [][]int // the ranks of a machine, rising
	each    int     // how many ranks every machine has; 0 where not all have as many
	runs    bool    // each machine's ranks follow each other
	// All ranks: those of a machine after those of the one before; and, where all machines have as many, those in the
	// first place on their machine, those in the second...
	byMachine, byPlace []int
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
	m.each, m.runs = len(of), true
	for _, ranks := range m.members {
		m.byMachine = append(m.byMachine, ranks...)
		m.runs = m.runs && ranks[len(ranks)-1]-ranks[0] == len(ranks)-1
		m.each = min(m.each, len(ranks))
	}
	if m.each*m.Len() != len(of) {
		m.each = 0
	}
	for place := range m.each {
		for _, ranks := range m.members {
			m.byPlace = append(m.byPlace, ranks[place])
		}
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
