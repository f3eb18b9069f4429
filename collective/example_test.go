package collective_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// Four ranks, here goroutines of one process, average their gradients. One of them
// leaves, the others are told which, and go on without it.
func Example() {
	var ranks, averaged sync.WaitGroup
	averaged.Add(4)
	for _, end := range inproc.New(4) {
		comm, err := collective.New(end, collective.Options{Deterministic: true})
		if err != nil {
			log.Fatal(err)
		}
		ranks.Go(func() { train(comm, &averaged) })
	}
	ranks.Wait()
	// Output:
	// the average of 4 ranks: [2.5 15]
	// AllReduce #2: ranks [3] left
	// the average of 3 ranks: [2 10]
}

func train(comm *collective.Comm, averaged *sync.WaitGroup) {
	ctx := context.Background()
	defer comm.Close()
	rank := float32(comm.Rank())
	gradients := []float32{1 + rank, 10 * rank}
	if err := comm.AllReduce(ctx, collective.Of(gradients), collective.Of(gradients), collective.Avg); err != nil {
		log.Fatal(err)
	}
	if comm.Rank() == 0 {
		fmt.Println("the average of 4 ranks:", gradients)
	}
	averaged.Done()
	if comm.Rank() == 3 {
		averaged.Wait() // a rank that has not its average yet would have the fault instead
		return          // and its Comm closes
	}

	gradients = []float32{1 + rank, 10 * rank}
	sum := make([]float32, 2)
	err := comm.AllReduce(ctx, collective.Of(gradients), collective.Of(sum), collective.Avg)
	var fault *collective.Fault
	if !errors.As(err, &fault) {
		log.Fatal(err)
	}
	rest, err := comm.Shrink(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer rest.Close()
	if err := rest.AllReduce(ctx, collective.Of(gradients), collective.Of(sum), collective.Avg); err != nil {
		log.Fatal(err)
	}
	if rest.Rank() == 0 {
		fmt.Printf("%s #%d: ranks %v %s\n", fault.Op, fault.Seq, fault.Ranks, fault.Cause)
		fmt.Println("the average of 3 ranks:", sum)
	}
}

// A program that `volley launch -n 4 -- PROGRAM` or torchrun starts four times has
// four ranks; started by hand it has one.
func ExampleInit() {
	ctx := context.Background()
	comm, err := collective.Init(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()
	sum := []float64{1}
	if err := comm.AllReduce(ctx, collective.Of(sum), collective.Of(sum), collective.Sum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum[0] == float64(comm.Size()))
	// Output: true
}
