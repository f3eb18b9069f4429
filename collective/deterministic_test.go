package collective

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
)

// reducing are the operations that Deterministic is about.
var reducing = []algorithm.Op{algorithm.AllReduce, algorithm.Reduce, algorithm.ReduceScatter}

// spread is an element of a rank's vector: magnitudes so far apart that every order of adding
// gives other bits.
func spread(r, i int) float64 {
	x := uint32(r*1000003+i) * 2654435761
	return float64(int32(x)) * math.Exp2(float64(x%40)-20)
}

// inOrder are the sums of all ranks' vectors of n elements in the order of the canonical tree.
func inOrder[T float32 | float64](size, n int) []T {
	sums, of := make([]T, n), make([]T, size)
	for i := range sums {
		for r := range of {
			of[r] = T(spread(r, i))
		}
		for w := 1; w < size; w *= 2 {
			for a := 0; a+w < size; a += 2 * w {
				of[a] += of[a+w]
			}
		}
		sums[i] = of[0]
	}
	return sums
}

// sumsAgree holds the bits of every rank's sums of n elements against the canonical ones.
func sumsAgree[T float32 | float64](t *testing.T, comms []*Comm, op algorithm.Op, n int) {
	t.Helper()
	size, root := len(comms), len(comms)/2
	if op == algorithm.ReduceScatter {
		n = (n + size - 1) / size * size
	}
	want := inOrder[T](size, n)
	must(t, comms, func(c *Comm) error {
		ctx, r := context.Background(), c.Rank()
		in, out, expected := make([]T, n), make([]T, n), want
		for i := range in {
			in[i] = T(spread(r, i))
		}
		var err error
		switch op {
		case algorithm.AllReduce:
			err = c.AllReduce(ctx, Of(in), Of(out), Sum)
		case algorithm.Reduce:
			if r != root {
				out, expected = nil, nil
			}
			err = c.Reduce(ctx, Of(in), Of(out), Sum, root)
		case algorithm.ReduceScatter:
			out, expected = out[:n/size], want[n/size*r:n/size*(r+1)]
			err = c.ReduceScatter(ctx, Of(in), Of(out), Sum)
		}
		if err == nil && !bytes.Equal(Of(out).bytes, Of(expected).bytes) {
			err = fmt.Errorf("%d elements of %T have other bits", n, in)
		}
		return err
	})
}

// deterministically is Options of a deterministic Comm; without a name it chooses.
func deterministically(op algorithm.Op, name string, chunk int) Options {
	o := Options{Deterministic: true, Chunk: chunk}
	if name != "" {
		o.Algorithms = map[algorithm.Op]string{op: name}
	}
	return o
}

// namesOf are the algorithms of an operation, and "" for the Comm's own choice.
func namesOf(op algorithm.Op) []string {
	names := []string{""}
	for _, a := range algorithm.For(op) {
		names = append(names, a.Name)
	}
	return names
}

// Deterministic sums are the bits of the canonical order on every rank, with every algorithm,
// chunk, length and number of ranks.
func TestDeterministic(t *testing.T) {
	for _, size := range []int{2, 3, 4, 5, 8} {
		for _, op := range reducing {
			for _, name := range namesOf(op) {
				t.Run(fmt.Sprintf("%s/%s/%d", op, name, size), func(t *testing.T) {
					for chunk, lengths := range map[int][]int{64: {1, 7, 63, 1001}, 4096: {1, 1023, 5003}, 0: {3, 40009, 131077}} {
						comms := world(t, size, deterministically(op, name, chunk))
						for _, n := range lengths {
							sumsAgree[float32](t, comms, op, n)
							if n < 1<<16 {
								sumsAgree[float64](t, comms, op, n)
							}
						}
						closeAtOnce(comms)
					}
				})
			}
		}
	}
}

// They are also where ranks are on several machines, however they are numbered.
func TestDeterministicOnMachines(t *testing.T) {
	for _, names := range []string{"ab", "aba", "abab", "abcab", "aabbb"} {
		ends := onMachines(t, names, nil)
		for _, op := range reducing {
			for _, name := range namesOf(op) {
				t.Run(fmt.Sprintf("%s/%s/%s", op, name, names), func(t *testing.T) {
					comms := over(t, split(t, ends, op.String()+name), deterministically(op, name, 4096))
					for _, n := range []int{1, 1001, 40009} {
						sumsAgree[float32](t, comms, op, n)
						sumsAgree[float64](t, comms, op, n)
					}
				})
			}
		}
		closeAtOnce(ends)
	}
}
