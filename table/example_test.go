package table_test

import (
	"context"
	"fmt"
	"log"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
)

func Example() {
	ctx := context.Background()
	dev, err := cpu.New(host.New())
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	flights, err := table.New(dev,
		table.Column("origin", []string{"JFK", "SFO", "JFK", "CPR", "SFO"}),
		table.Column("delay", []int16{14, -3, 45, 160, 22}).Valid([]bool{true, true, true, true, false}))
	if err != nil {
		log.Fatal(err)
	}
	defer flights.Release()
	airports, err := table.New(dev,
		table.Column("iata", []string{"JFK", "SFO", "CPR"}),
		table.Column("state", []string{"NY", "CA", "WY"}))
	if err != nil {
		log.Fatal(err)
	}
	defer airports.Release()
	byState := flights.Query().
		Join(airports, table.Inner, table.Keys("origin", "iata")).
		Filter("state <> 'WY'").
		GroupBy("state").Agg(table.Count(), table.Count("delay"), table.Mean("delay"))
	plan, err := byState.Explain(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)
	result, err := byState.Collect(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	fmt.Print(result)
	// Output:
	// group by state: count(*) as count, count(delay) as count_delay, mean(delay) as mean_delay (about 3 rows)
	//   inner join on origin = iata columns [delay, state] (about 3 rows)
	//     table of 5 rows in 1 chunks, columns [origin, delay]
	//     filter state <> 'WY' (about 2 rows)
	//       table of 3 rows in 1 chunks, columns [iata, state]
	// pipelines:
	//   1  workers  table of 3 rows in 1 chunks -> filter -> right side of inner join on origin = iata
	//   2  workers  table of 5 rows in 1 chunks -> inner join on origin = iata -> group by state
	// state  count  count_delay  mean_delay
	// utf8   int64        int64     float64
	// NY         2            2        29.5
	// CA         2            1        -3.0
	// 2 rows × 4 columns
}
