package cpu

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// waveBytes is about how many bytes of sums inBlocks holds at a time.
const waveBytes = 4 << 20

// inBlocks has width sums computed for each of n blocks, in parallel, and adds
// them in the order of the blocks, so that the number of workers does not
// change what they add up to. It goes in waves, as many blocks as fit
// waveBytes.
func inBlocks[T float](ctx context.Context, a memory.Allocator, n, width int, compute func(worker, block int, sums []T) error, add func(sums []T)) error {
	var t T
	wave := min(n, max(16, waveBytes/(width*int(unsafe.Sizeof(t)))))
	room, err := memory.New(a, int64(wave*width)*int64(unsafe.Sizeof(t)))
	if err != nil {
		return err
	}
	defer room.Release()
	sums := memory.View[T](room)
	for from := 0; from < n; from += wave {
		some := min(wave, n-from)
		err := tasks(ctx, some, func(worker, i int) error {
			return compute(worker, from+i, sums[i*width:(i+1)*width])
		})
		if err != nil {
			return err
		}
		for i := range some {
			add(sums[i*width : (i+1)*width])
		}
	}
	return nil
}
