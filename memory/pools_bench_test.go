package memory

import "testing"

// BenchmarkAllocate takes, writes and frees a block of 8 MiB: what a column of
// a million int64 costs before any work is done on it.
func BenchmarkAllocate(b *testing.B) {
	for name, a := range map[string]Allocator{"pool=heap": Heap, "pool=caching": NewCaching(Heap, 64<<20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(8 << 20)
			for b.Loop() {
				block, err := a.Allocate(8 << 20)
				if err != nil {
					b.Fatal(err)
				}
				for i := 0; i < len(block.Bytes); i += 64 {
					block.Bytes[i] = 1
				}
				a.Free(block)
			}
		})
	}
}
