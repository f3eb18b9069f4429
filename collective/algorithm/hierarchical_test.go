package algorithm

import (
	"fmt"
	"testing"
)

// A vector that ranks share by lanes is summed as others are.
func TestLanes(t *testing.T) {
	for _, size := range []int{4, 6, 9} {
		for i, nodes := range placements(size) {
			c := Call{Op: AllReduce, Size: size, Count: laneCount + 3, Nodes: nodes, InPlace: i%2 == 0}
			if c.inLanes(nodes) != (nodes.each > 1 && nodes.each < size) {
				t.Errorf("%d ranks, %d on each machine: in lanes is %v", size, nodes.each, c.inLanes(nodes))
			}
			check(t, hierarchicalOf(t), c)
		}
	}
}

// Hierarchical schedules send from machine to machine what no schedule can do without: each machine's part of a result, a
// contribution or a block, once.
func TestCrossings(t *testing.T) {
	for _, size := range sizes {
		for i, nodes := range placements(size) {
			for _, counted := range []bool{false, true} {
				for op := Broadcast; op < numOps; op++ {
					c := Call{Op: op, Size: size, Root: size / 2, Count: 3, Nodes: nodes}
					if machines := nodes.Len(); op == AllReduce && machines&(machines-1) != 0 {
						continue // a butterfly that sends more
					}
					if counted {
						if op <= AllReduce || op == AllToAll {
							continue
						}
						for r := range size {
							c.Counts = append(c.Counts, int64(r%4))
						}
					}
					want, got := needed(&c), int64(0)
					for c.Rank = range size {
						for r := range hierarchicalOf(t).Plan(c).Rounds {
							for _, s := range r.Sends {
								if nodes.Of(s.To) != nodes.Of(c.Rank) {
									got += s.From.Len
								}
							}
						}
					}
					if got != want {
						t.Errorf("%s of %d ranks, placement %d, with counts %v: %d elements go from machine to machine, want %d", op, size, i, counted, got, want)
					}
				}
			}
		}
	}
}

// needed is how many elements have to go from one machine to another.
func needed(c *Call) (sum int64) {
	machines := int64(c.Nodes.Len())
	all := c.offset(c.Size-1) + c.block(c.Size-1)
	switch c.Op {
	case Broadcast, Reduce:
		return (machines - 1) * c.Count
	case AllReduce:
		return 2 * (machines - 1) * c.Count
	case ReduceScatter, AllGather:
		return (machines - 1) * all
	case Gather, Scatter:
		for r := range c.Size {
			if c.Nodes.Of(r) != c.Nodes.Of(c.Root) {
				sum += c.block(r)
			}
		}
		return sum
	case AllToAll:
		for from := range c.Size {
			for to := range c.Size {
				if c.Nodes.Of(from) != c.Nodes.Of(to) {
					sum += c.Count
				}
			}
		}
		return sum
	}
	panic(fmt.Sprint("no need of ", c.Op))
}
