package main

// #include "base.h"
import "C"

import (
	"strings"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
)

// operationNamed is a collective operation by its name: "all_reduce", "AllReduce".
func operationNamed(name, text string) (algorithm.Op, error) {
	op, err := algorithm.ParseOp(strings.ReplaceAll(text, "_", ""))
	if err != nil {
		return 0, mismatch("%s is %q: barrier, broadcast, reduce, all_reduce, reduce_scatter, all_gather, gather, scatter and all_to_all are operations", name, text)
	}
	return op, nil
}

// algorithms reads a list such as "all_reduce=ring,broadcast=tree"; a name without an operation is for all that the algorithm can do, and those
// named before or after it by themselves are as they say.
func algorithms(p *C.char) (map[algorithm.Op]string, error) {
	list, err := optional("algorithms", p)
	if err != nil || list == "" {
		return nil, err
	}
	forAll, chosen := "", make(map[algorithm.Op]string)
	for part := range strings.SplitSeq(list, ",") {
		of, name, own := strings.Cut(strings.TrimSpace(part), "=")
		if !own {
			if forAll != "" {
				return nil, mismatch("algorithms is %q: %q and %q are both for all operations", list, forAll, of)
			}
			forAll = of
			continue
		}
		op, err := operationNamed("an operation of algorithms", of)
		if err != nil {
			return nil, err
		}
		if _, err := algorithm.Named(name, op); err != nil {
			return nil, mismatch("algorithms: %v", err)
		}
		if before, twice := chosen[op]; twice {
			return nil, mismatch("algorithms is %q: %s is %q and %q", list, op, before, name)
		}
		chosen[op] = name
	}
	if forAll == "" {
		return chosen, nil
	}
	return chosen, spread(chosen, forAll)
}

// spread has all operations that an algorithm can do use it where they have none.
func spread(chosen map[algorithm.Op]string, name string) error {
	known := false
	for op := algorithm.Barrier; op <= algorithm.AllToAll; op++ {
		if _, err := algorithm.Named(name, op); err != nil {
			continue
		}
		known = true
		if chosen[op] == "" {
			chosen[op] = name
		}
	}
	if !known {
		var names []string
		for _, a := range algorithm.All {
			names = append(names, a.Name)
		}
		return mismatch("algorithms: there is no algorithm %q: there are %s", name, strings.Join(names, ", "))
	}
	return nil
}

//export go_volley_comm_explain
func go_volley_comm_explain(h C.uintptr_t, op *C.char, n C.int64_t, typ *C.char, out **C.char) C.int32_t {
	return withComm("volley_comm_explain", h, func(c *collective.Comm) error {
		name, err := text("op", op)
		if err != nil {
			return err
		}
		of, err := operationNamed("op", name)
		if err != nil {
			return err
		}
		t, err := elementType("type", typ)
		if err != nil {
			return err
		}
		if n < 0 || n > 1<<44 {
			return mismatch("count is %d", int64(n))
		}
		return giveText(out, c.Explain(of, t, int64(n)))
	})
}
