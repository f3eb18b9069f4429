package algorithm

import (
	"fmt"
	"sort"
	"strings"
)

// Algorithm is a way of doing operations.
type Algorithm struct {
	Name string
	// Plans has a schedule for every operation that it can do, else nil.
	Plans [numOps]func(*Call) Plan
	// Ordered says that a reduction keeps the ranks in order, so that the operation
	// need not commute. With Call.Deterministic all do.
	Ordered bool
}

// All are the algorithms, by name.
var All = table()

func table() []*Algorithm {
	type plans = [numOps]func(*Call) Plan
	all := []*Algorithm{
		{Name: "linear", Ordered: true, Plans: plans{Barrier: linearBarrier, Broadcast: linearBroadcast, Reduce: linearReduce,
			AllGather: linearAllGather, Gather: linearGather, Scatter: linearScatter, AllToAll: linearAllToAll}},
		{Name: "direct", Ordered: true, Plans: plans{Reduce: gatherAndFold, AllReduce: directAllReduce, ReduceScatter: directReduceScatter}},
		{Name: "ring", Plans: plans{AllReduce: ringAllReduce, ReduceScatter: ringReduceScatter, AllGather: ringAllGather}},
		{Name: "chain", Plans: plans{Broadcast: chainBroadcast, Reduce: chainReduce}},
		{Name: "binomial", Ordered: true, Plans: plans{Broadcast: binomialBroadcast, Reduce: binomialReduce, Gather: binomialGather, Scatter: binomialScatter}},
		{Name: "doubling", Ordered: true, Plans: plans{Barrier: disseminationBarrier, AllReduce: doublingAllReduce, AllGather: doublingAllGather}},
		{Name: "butterfly", Ordered: true, Plans: plans{AllReduce: butterflyAllReduce, ReduceScatter: halvingReduceScatter}},
		{Name: "bruck", Ordered: true, Plans: plans{AllGather: bruckAllGather, AllToAll: bruckAllToAll}},
		{Name: "pairwise", Plans: plans{AllReduce: pairwiseAllReduce, ReduceScatter: pairwiseReduceScatter, AllGather: pairwiseAllGather, AllToAll: pairwiseAllToAll}},
		{Name: "tree", Ordered: true, Plans: plans{Broadcast: treeBroadcast, AllReduce: treeAllReduce}},
		{Name: "doubletree", Plans: plans{Broadcast: doubleTreeBroadcast, AllReduce: doubleTreeAllReduce}},
		{Name: "hierarchical", Plans: plans{Barrier: hierarchicalBarrier, Broadcast: hierarchicalBroadcast, Reduce: hierarchicalReduce,
			AllReduce: hierarchicalAllReduce, ReduceScatter: hierarchicalReduceScatter, AllGather: hierarchicalAllGather, Gather: hierarchicalGather,
			Scatter: hierarchicalScatter, AllToAll: hierarchicalAllToAll}},
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// For lists the algorithms that can do an operation, by name.
func For(op Op) []*Algorithm {
	var can []*Algorithm
	for _, a := range All {
		if op < numOps && a.Plans[op] != nil {
			can = append(can, a)
		}
	}
	return can
}

// otherNames are what literature and other libraries call the algorithms.
var otherNames = map[string]string{"round-robin": "pairwise", "pipeline": "chain", "binary-tree": "tree", "double-tree": "doubletree",
	"recursive-doubling": "doubling", "recursive-halving": "butterfly", "rabenseifner": "butterfly", "binomial-tree": "binomial",
	"double-binary-tree": "doubletree", "pipelined-ring": "chain",
	// As DAPHNE's report on its runtime has them.
	"generic-linear": "chain", "pipeline-binary-tree": "tree", "tree-reduce": "tree", "round-robin-reduce": "pairwise", "butterfly-network": "butterfly",
	"ring-reduce": "ring"}

// Named is the algorithm of that name, or of another name that it is known by, if it
// can do the operation; the error names those that can.
func Named(name string, op Op) (*Algorithm, error) {
	if own := otherNames[name]; own != "" {
		name = own
	}
	var names []string
	for _, a := range For(op) {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("no algorithm %q for %s: there are %s", name, op, strings.Join(names, ", "))
}

// Plan is the schedule of one rank of a call. The call's numbers must be sound:
// Rank and Root in [0, Size), lengths not negative, Counts and Recvs of Size.
func (a *Algorithm) Plan(c Call) Plan { return a.Plans[c.Op](&c) }
