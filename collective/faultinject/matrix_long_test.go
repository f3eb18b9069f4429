package faultinject

import (
	"fmt"
	"testing"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport/processors"
)

// longMessages are operations whose messages are not copied on their way. Over shared memory those of more than 8 KiB, or, where
// ranks share processors, of up to 256 KiB, are read in their sender's memory, laid into the segment by a sender that
// waits, and, where ranks have processors of their own, written into the receiver's memory, also before it asks for them.
// All-to-alls and all-gathers in one step of up to 256 KiB a message try two ways by turns: 16 calls each before they
// choose. In one process ranks share the work on messages from 256 KiB on.
func longMessages() []subject {
	const kib = 1 << 10 / 4 // elements
	long := func(op algorithm.Op, by string, n int, over ...string) subject {
		return subject{name: fmt.Sprintf("%s of %d KiB by %s", op, n/kib, by), by: map[algorithm.Op]string{op: by}, messages: []int64{0, 2}, over: over, weight: 3, chunk: 300 << 10,
			enter: vectors(func(c *collective.Comm, round int) ([][]int32, error) { return operation(c, op, n, round) })}
	}
	exchanges := long(algorithm.AllGather, "linear", 48*kib, "shm")
	exchanges.name, exchanges.messages = exchanges.name+" again and again", []int64{20, 110} // the first in the ring, and read in place
	exchanges.enter = vectors(func(c *collective.Comm, round int) (given [][]int32, err error) {
		for i := 0; i < 14 && err == nil; i++ {
			given, err = operation(c, algorithm.AllGather, 48*kib, round+i)
		}
		return given, err
	})
	messages := subject{name: "Exchange of 400 KiB between neighbours", messages: []int64{0, 3}, over: []string{"shm"}, weight: 3,
		enter: vectors(func(c *collective.Comm, round int) ([][]int32, error) {
			return neighbours(c, round, 2, func(i int) int { return 400*kib + i })
		})}
	return []subject{
		long(algorithm.Broadcast, "binomial", 700*kib), long(algorithm.AllToAll, "pairwise", 300*kib),
		long(algorithm.Broadcast, "chain", 1000*kib, "shm"), long(algorithm.ReduceScatter, "pairwise", 300*kib, "shm"), long(algorithm.AllReduce, "ring", 1200*kib, "shm"),
		long(algorithm.AllGather, "linear", 600*kib, "shm"), exchanges, messages,
	}
}

// Over shared memory ranks that have a processor each have more ways for long messages than those that share them.
func TestFaultMatrixOwnProcessors(t *testing.T) {
	count := processors.Count
	defer func() { processors.Count = count }()
	p := newPool(60)
	over := transports(t.TempDir())
	processors.Count = max(count, 16*ranks)
	for _, s := range longMessages() {
		for _, name := range []string{"shm", "mixed"} {
			if open := over[name]; open != nil {
				p.faults(t, name, open, s)
			}
		}
	}
	p.all.Wait()
	t.Logf("%d cases", p.cases)
}
