package collective

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
)

// A Comm over shared memory with TCP weighs each where it is the way, by a tuning's figures of
// both, and Explain tells who is reached how.
func TestWeighsBothWays(t *testing.T) {
	const n = 1 << 18
	tcp, shm := TransportTuning{Model: algorithm.Model{Alpha: 1e-4, Beta: 1e-9, Gamma: 1e-10}}, TransportTuning{Model: algorithm.Model{Alpha: 1e-6, Beta: 1e-10, Gamma: 1e-10}}
	own := TransportTuning{Model: algorithm.Model{Alpha: 1e-5, Beta: 1e-9, Gamma: 1e-10}, Choices: []Choice{{"AllReduce", 4, 0, "doubletree"}}}
	for _, c := range []struct {
		table   map[string]TransportTuning
		want    string
		why     string
		models  [2]algorithm.Model // between machines, and within
		machine string
	}{
		{nil, "hierarchical", byModel, [2]algorithm.Model{models["tcp"], models["shm"]}, "abab"},
		{map[string]TransportTuning{"tcp": tcp, "shm": shm}, "hierarchical", byTuned, [2]algorithm.Model{tcp.Model, shm.Model}, "abab"},
		{map[string]TransportTuning{"tcp": tcp}, "hierarchical", byTuned, [2]algorithm.Model{tcp.Model, models["shm"]}, "abab"},
		{map[string]TransportTuning{"shm+tcp": own, "tcp": tcp, "shm": shm}, "doubletree", byTable, [2]algorithm.Model{own.Model, shm.Model}, "abab"},
		{map[string]TransportTuning{"inproc": tcp}, "hierarchical", byModel, [2]algorithm.Model{models["tcp"], models["shm"]}, "aabb"},
	} {
		o := Options{}
		if c.table != nil {
			o.Tuning = &Tuning{Source: "a test", Transports: c.table}
		}
		comms := over(t, mixedOn(t, c.machine), o)
		must(t, comms, func(comm *Comm) error {
			m, _ := o.Tuning.figures(comm.Transport(), comm.model)
			within := *m.Within
			m.Within = nil
			if got := [2]algorithm.Model{m, within}; got != c.models {
				return fmt.Errorf("%+v are weighed, want %+v", got, c.models)
			}
			count := int64(n)
			if c.machine == "aabb" {
				count = 1 << 12 // longer ones have a ring
			}
			for _, want := range []string{c.want + ", because " + c.why, "on 4 ranks over shm+tcp", "through shared memory, to all others over TCP", "the ranks are on 2 machines"} {
				if text := comm.Explain(algorithm.AllReduce, Float32, count); !strings.Contains(text, want) {
					return fmt.Errorf("want %q:\n%s", want, text)
				}
			}
			v := slices.Repeat([]float32{float32(1 + comm.Rank())}, n)
			if err := comm.AllReduce(t.Context(), Of(v), Of(v), Sum); err != nil || v[0] != 10 || v[n-1] != 10 {
				return fmt.Errorf("sums %v and %v of 4 ranks, %w", v[0], v[n-1], err)
			}
			return nil
		})
	}
}

// Four ranks on what they take for two machines, over TCP alone and with shared memory on each. The
// network between them is loopback, which shares the processors with them.
func BenchmarkMachines(b *testing.B) {
	ways := []struct {
		name string
		open func(t testing.TB, machines string) []transport.Endpoint
	}{
		{"tcp", func(t testing.TB, machines string) []transport.Endpoint { return onMachines(t, machines, nil) }},
		{"shm+tcp", mixedOn},
	}
	for _, machines := range []string{"aabb", "abab"} {
		for _, name := range []string{"chosen", "ring", "hierarchical"} {
			o := Options{}
			if name != "chosen" {
				o.Algorithms = map[algorithm.Op]string{algorithm.AllReduce: name}
			}
			for _, bytes := range []int{8, 4 << 10, 64 << 10, 1 << 20, 16 << 20} {
				for _, way := range ways {
					b.Run(fmt.Sprintf("machines=%s/algorithm=%s/bytes=%d/transport=%s", machines, name, bytes, way.name), func(b *testing.B) {
						benchmark(b, over(b, way.open(b, machines), o), bytes, func(c *Comm, v Vector) error {
							return c.AllReduce(context.Background(), v, v, Sum)
						})
					})
				}
			}
		}
	}
}
