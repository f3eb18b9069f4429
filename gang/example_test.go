package gang_test

import (
	"context"
	"fmt"
	"log"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/gang"
)

func ExampleStart() {
	ctx := context.Background()
	err := gang.Register("ranks and sum", func(ctx context.Context, w *gang.Worker, args ...any) (any, error) {
		comm, err := w.Comm(ctx)
		if err != nil {
			return nil, err
		}
		sum := []int64{int64(w.Rank()) + args[0].(int64)}
		if err := comm.AllReduce(ctx, collective.Of(sum), collective.Of(sum), collective.Sum); err != nil {
			return nil, err
		}
		return sum[0], nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Workers are goroutines here; gang.Processes("./program") starts processes, whose main calls gang.Enter and Serve.
	workers := gang.Goroutines(func(ctx context.Context, w *gang.Worker) error { return w.Serve(ctx) })
	g, err := gang.Start(ctx, workers, gang.Options{Workers: 3})
	if err != nil {
		log.Fatal(err)
	}
	refs, err := g.Run(ctx, "ranks and sum", int64(10))
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range refs {
		v, err := g.Get(ctx, r)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v)
	}
	if err := g.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 33
	// 33
	// 33
}

func ExampleUnion() {
	ctx := context.Background()
	err := gang.Register("rank", func(_ context.Context, w *gang.Worker, _ ...any) (any, error) { return int64(w.Rank()), nil })
	if err != nil {
		log.Fatal(err)
	}
	workers := gang.Goroutines(func(ctx context.Context, w *gang.Worker) error { return w.Serve(ctx) })
	g, err := gang.Start(ctx, workers, gang.Options{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	refs, err := g.Run(ctx, "rank")
	if err != nil {
		log.Fatal(err)
	}
	whole, err := gang.Union(refs...)
	if err != nil {
		log.Fatal(err)
	}
	v, err := g.Get(ctx, whole)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v)
	if err := g.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: [0 1]
}
