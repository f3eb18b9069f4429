package cpu

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// waveBytes is about how many bytes of sums inBlocks holds at a time.
const waveBytes = 1 << 20

// inBlocks has sums computed for each of n blocks, in parallel, and adds alpha
// times them to into in the order of the blocks, so that the number of workers
// does not change what they add up to. It goes in waves, as many blocks as fit
// waveBytes.
func inBlocks[T float](ctx context.Context, l *matrixLoops[T], a memory.Allocator, n int, into []T, alpha T, compute func(worker, block int, sums []T) error) error {
	var t T
	width := len(into)
	wave := min(n, max(16, waveBytes/(width*int(unsafe.Sizeof(t)))))
	room, err := memory.New(a, int64(wave*(width+1))*int64(unsafe.Sizeof(t)))
	if err != nil {
		return err
	}
	defer room.Release()
	sums := memory.View[T](room)
	alphas := sums[wave*width:][:wave]
	for i := range alphas {
		alphas[i] = alpha
	}
	for from := 0; from < n; from += wave {
		some := min(wave, n-from)
		err := tasks(ctx, some, func(worker, i int) error {
			return compute(worker, from+i, sums[i*width:(i+1)*width])
		})
		if err != nil {
			return err
		}
		l.axpy(into, sums[:some*width], width, alphas[:some])
	}
	return nil
}
