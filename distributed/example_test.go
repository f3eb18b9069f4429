package distributed_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/distributed"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
)

// onTwoRanks runs f on two ranks, which are goroutines here. In a program that a launcher starts, collective.Init gives the Comm.
func onTwoRanks(f func(ctx context.Context, comm *collective.Comm, dev *kernels.Backend) error) {
	ctx := context.Background()
	dev, err := cpu.New(host.New())
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	errs := make([]error, 2)
	var ranks sync.WaitGroup
	for rank, end := range inproc.New(2) {
		ranks.Go(func() {
			comm, err := collective.New(end, collective.Options{})
			if err != nil {
				errs[rank] = err
				return
			}
			errs[rank] = errors.Join(f(ctx, comm, dev), comm.Barrier(ctx), comm.Close())
		})
	}
	ranks.Wait()
	if err := errors.Join(errs...); err != nil {
		log.Fatal(err)
	}
}

// flights are those of a rank: two airports on each, one of them on both.
func flights(ctx context.Context, comm *collective.Comm, dev *kernels.Backend) (*distributed.Table, error) {
	origins, delays := []string{"JFK", "SFO", "JFK"}, []int64{14, -3, 45}
	if comm.Rank() == 1 {
		origins, delays = []string{"SFO", "CPR"}, []int64{0, 160}
	}
	part, err := table.New(dev, table.Column("origin", origins), table.Column("delay", delays))
	if err != nil {
		return nil, err
	}
	defer part.Release()
	return distributed.New(ctx, comm, part)
}

// show prints a table on rank 0.
func show(ctx context.Context, d *distributed.Table) error {
	all, err := d.Gather(ctx, 0)
	if all != nil {
		fmt.Print(all)
		all.Release()
	}
	return err
}

func ExampleTable() {
	onTwoRanks(func(ctx context.Context, comm *collective.Comm, dev *kernels.Backend) error {
		d, err := flights(ctx, comm, dev)
		if err != nil {
			return err
		}
		defer d.Release()
		late, err := d.Filter(ctx, "delay > 10")
		if err != nil {
			return err
		}
		defer late.Release()
		if comm.Rank() == 0 {
			fmt.Println(d.NumRows(), d.Counts(), d.Local().NumRows())
			fmt.Println(late.NumRows(), late.Counts(), late.Partitioning())
		}
		return nil
	})
	// Output:
	// 5 [3 2] 3
	// 3 [2 1] unknown
}

func ExampleTable_Join() {
	onTwoRanks(func(ctx context.Context, comm *collective.Comm, dev *kernels.Backend) error {
		d, err := flights(ctx, comm, dev)
		if err != nil {
			return err
		}
		defer d.Release()
		var airports *table.Table // only rank 1 has them
		if comm.Rank() == 1 {
			if airports, err = table.New(dev, table.Column("iata", []string{"JFK", "SFO"}), table.Column("state", []string{"NY", "CA"})); err != nil {
				return err
			}
			defer airports.Release()
		}
		states, err := distributed.Scatter(ctx, comm, dev, airports, 1)
		if err != nil {
			return err
		}
		defer states.Release()
		joined, err := d.Join(ctx, states, table.Left, table.Keys("origin", "iata"))
		if err != nil {
			return err
		}
		defer joined.Release()
		sorted, err := joined.Sort(ctx, table.Asc("delay")) // a join has no order over the ranks
		if err != nil {
			return err
		}
		defer sorted.Release()
		return show(ctx, sorted)
	})
	// Output:
	// origin  delay  iata  state
	// utf8    int64  utf8  utf8
	// SFO        -3  SFO   CA
	// SFO         0  SFO   CA
	// JFK        14  JFK   NY
	// JFK        45  JFK   NY
	// CPR       160  null  null
	// 5 rows × 4 columns
}

func ExampleTable_GroupBy() {
	onTwoRanks(func(ctx context.Context, comm *collective.Comm, dev *kernels.Backend) error {
		d, err := flights(ctx, comm, dev)
		if err != nil {
			return err
		}
		defer d.Release()
		groups, err := d.GroupBy("origin").Agg(ctx, table.Count().As("flights"), table.Mean("delay").As("delay"))
		if err != nil {
			return err
		}
		defer groups.Release()
		return show(ctx, groups)
	})
	// Output:
	// origin  flights    delay
	// utf8      int64  float64
	// JFK           2     29.5
	// SFO           2     -1.5
	// CPR           1    160.0
	// 3 rows × 3 columns
}

func ExampleTable_Shuffle() {
	onTwoRanks(func(ctx context.Context, comm *collective.Comm, dev *kernels.Backend) error {
		d, err := flights(ctx, comm, dev)
		if err != nil {
			return err
		}
		defer d.Release()
		spread, err := d.Shuffle(ctx, distributed.Hash("origin"))
		if err != nil {
			return err
		}
		defer spread.Release()
		groups, err := spread.GroupBy("origin").AnyOrder().Agg(ctx, table.Count()) // no row moves
		if err != nil {
			return err
		}
		defer groups.Release()
		if comm.Rank() == 0 {
			fmt.Println(spread.Partitioning(), spread.Partitioning().Together("origin", "delay"), groups.NumRows())
		}
		return nil
	})
	// Output: hash of origin true 3
}
