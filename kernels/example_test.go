package kernels_test

import (
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// A comparison makes a mask, a filter keeps the rows where it is true; a null
// delay is neither late nor on time, and is dropped.
func Example() {
	ctx := context.Background()
	b, err := cpu.New(host.New())
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	s, err := b.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	int64s := arrow.PrimitiveTypes.Int64
	delay, err := kernels.FromScalars(memory.Heap, int64s, []kernels.Scalar{
		kernels.Int64(14), kernels.Null(int64s), kernels.Int64(45), kernels.Int64(160),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer delay.Release()
	mask, err := b.Compare(ctx, s, kernels.Greater, delay, kernels.Int64(15))
	if err != nil {
		log.Fatal(err)
	}
	defer mask.Release()
	late, err := b.Filter(ctx, s, delay, mask, kernels.FilterOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer late.Release()
	fmt.Println(kernels.Scalars(mask), kernels.Scalars(late))
	// Output: [false null true true] [45 160]
}
