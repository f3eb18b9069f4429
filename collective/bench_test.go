package collective

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// Ranks are goroutines of this process. An AllReduce of n bytes on p ranks reads at
// least 2n and writes n on every rank, so GB/s of its vector are at best a third of
// p cores' bandwidth.
func BenchmarkAllReduce(b *testing.B) {
	for name, open := range transports {
		if name == "mixed" {
			continue // see BenchmarkMachines
		}
		for _, ranks := range []int{2, 4} {
			for _, bytes := range []int{8, 4 << 10, 64 << 10, 1 << 20, 64 << 20} {
				b.Run(fmt.Sprintf("transport=%s/ranks=%d/bytes=%d", name, ranks, bytes), func(b *testing.B) {
					benchmark(b, over(b, open(b, ranks), Options{}), bytes, func(c *Comm, v Vector) error {
						return c.AllReduce(context.Background(), v, v, Sum)
					})
				})
			}
		}
	}
}

func BenchmarkBroadcast(b *testing.B) {
	for _, bytes := range []int{8, 64 << 10, 64 << 20} {
		b.Run(fmt.Sprintf("transport=inproc/ranks=4/bytes=%d", bytes), func(b *testing.B) {
			benchmark(b, world(b, 4, Options{}), bytes, func(c *Comm, v Vector) error {
				return c.Broadcast(context.Background(), v, v, 0)
			})
		})
	}
}

// What a call costs without anybody to talk to.
func BenchmarkAlone(b *testing.B) {
	benchmark(b, world(b, 1, Options{}), 8, func(c *Comm, v Vector) error { return c.AllReduce(context.Background(), v, v, Sum) })
}

func benchmark(b *testing.B, comms []*Comm, bytes int, f func(*Comm, Vector) error) {
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for _, c := range comms {
		all.Go(func() {
			v := Of(make([]float32, bytes/4))
			for range b.N {
				if err := f(c, v); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
