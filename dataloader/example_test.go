package dataloader_test

import (
	"context"
	"fmt"
	"log"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
)

// Example trains on half an epoch, keeps the state, and goes on on two ranks.
func Example() {
	dev, err := cpu.New(host.New())
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	t, err := table.New(dev, table.Column("x", []float64{0, 1, 2, 3, 4, 5, 6, 7}), table.Column("y", []int64{0, 1, 0, 1, 0, 1, 0, 1}))
	if err != nil {
		log.Fatal(err)
	}
	defer t.Release()

	ctx := context.Background()
	o := dataloader.Options{Labels: []string{"y"}, Batch: 2}
	l, err := dataloader.New(ctx, dataloader.FromTable(t), o)
	if err != nil {
		log.Fatal(err)
	}
	for batch, err := range l.Batches(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		show(batch)
		if info, err := batch.Info(); err != nil || info.Step == 1 {
			break
		}
	}
	state, err := l.State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := l.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("epoch", state.Epoch, "position", state.Position)

	o.Size = 2
	for o.Rank = range o.Size {
		l, err := dataloader.Resume(ctx, dataloader.FromTable(t), o, state)
		if err != nil {
			log.Fatal(err)
		}
		batch, err := l.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print("rank ", o.Rank, ": ")
		show(batch)
		if err := batch.Release(); err != nil {
			log.Fatal(err)
		}
		if err := l.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// [0 1] [0 1]
	// [2 3] [0 1]
	// epoch 0 position 4
	// rank 0: [4 5] [0 1]
	// rank 1: [6 7] [0 1]
}

func show(b dataloader.Batch) {
	features, err := b.Features()
	if err != nil {
		log.Fatal(err)
	}
	labels, err := b.Labels()
	if err != nil {
		log.Fatal(err)
	}
	x, err := dataloader.Elements[float32](features)
	if err != nil {
		log.Fatal(err)
	}
	y, err := dataloader.Elements[float32](labels)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x, y)
}

// ExampleMapBatches joins each batch with a small table, and standardises a column by the
// numbers of all rows.
func ExampleMapBatches() {
	dev, err := cpu.New(host.New())
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	flights, err := table.New(dev, table.Column("from", []string{"OSL", "BGO", "OSL", "TRD"}), table.Column("delay", []float64{1, 5, 3, 7}))
	if err != nil {
		log.Fatal(err)
	}
	defer flights.Release()
	airports, err := table.New(dev, table.Column("iata", []string{"OSL", "TRD", "BGO"}), table.Column("runways", []int64{2, 1, 1}))
	if err != nil {
		log.Fatal(err)
	}
	defer airports.Release()

	ctx := context.Background()
	joined, err := dataloader.MapBatches(ctx, dev, dataloader.FromTable(flights), dataloader.BatchMap{
		Name: "runways 1",
		Do: func(ctx context.Context, batch *table.Table) (*table.Table, error) {
			return batch.Query().Join(airports, table.Left, table.Keys("from", "iata")).Select("delay", "runways").Collect(ctx)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	scaled, err := dataloader.StandardScale(ctx, flights.Query(), "delay")
	if err != nil {
		log.Fatal(err)
	}
	source, err := dataloader.DeriveBeside(dev, joined, scaled...)
	if err != nil {
		log.Fatal(err)
	}
	l, err := dataloader.New(ctx, source, dataloader.Options{Features: []string{"runways"}, Labels: []string{"delay"}, Batch: 2, Epochs: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for batch, err := range l.Batches(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		show(batch)
	}
	// Output:
	// [2 1] [-1.3416408 0.4472136]
	// [2 1] [-0.4472136 1.3416408]
}
