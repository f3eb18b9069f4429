// Command userkernel shows a kernel of a user's own: the distance between two
// points on the Earth is registered once, in Go for the CPU and in the shared
// dialect for GPUs, and is then a function of expressions and queries on every
// device. The program computes the same on each device that there is, prints the
// answers, and ends with an error where two devices disagree.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

func main() {
	err := register()
	if err == nil {
		err = run(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "userkernel:", err)
		os.Exit(1)
	}
}

// answers are what one device computed.
type answers struct {
	device string
	routes string    // the longer routes as a table
	mean   float64   // distance from New York to the points of the globe
	miles  []float64 // to each of them, in nautical miles
}

// run asks every device and compares what they say with what the CPU says.
func run(ctx context.Context, w io.Writer) error {
	var all []answers
	for _, found := range volley.Devices() {
		if found.Err != nil {
			fmt.Fprintf(w, "%s is left out: %v\n\n", found.Kind, found.Err)
			continue
		}
		a, err := ask(ctx, found.Info.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n%s", a.device, found.Info.Model, a.routes)
		fmt.Fprintf(w, "%d points of the globe are %.1f km from New York in the mean\n\n", len(a.miles), a.mean)
		all = append(all, a)
	}
	return compare(w, all)
}

// ask computes everything on one device.
func ask(ctx context.Context, name string) (a answers, err error) {
	dev, err := volley.Open(name)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	a.device = name
	if a.routes, err = longRoutes(ctx, dev); err != nil {
		return a, err
	}
	a.miles, a.mean, err = globe(ctx, dev)
	return a, err
}

// longRoutes calls the kernel from the text of an expression.
func longRoutes(ctx context.Context, dev *kernels.Backend) (string, error) {
	routes, err := table.New(dev,
		table.Column("route", []string{"New York - London", "Sydney - Auckland", "Quito - Singapore", "Oslo - nowhere"}),
		table.Column("lat1", []float64{40.6413, -33.9399, -0.1292, 60.1976}), table.Column("lon1", []float64{-73.7781, 151.1753, -78.3575, 11.1004}),
		table.Column("lat2", []float64{51.4700, -37.0082, 1.3644, 0}).Valid([]bool{true, true, true, false}),
		table.Column("lon2", []float64{-0.4543, 174.7850, 103.9915, 0}).Valid([]bool{true, true, true, false}))
	if err != nil {
		return "", err
	}
	defer routes.Release()
	long, err := routes.Query().
		WithColumn("km", "round(haversine(lat1, lon1, lat2, lon2))").
		Filter("km is null or km > 3000").
		Sort(table.Desc("km")).
		Select("route", "km").
		Collect(ctx)
	if err != nil {
		return "", err
	}
	defer long.Release()
	return long.String(), nil
}

// globe calls it from a tree that is built, with numbers in place of columns,
// for enough rows to make the call and the division one kernel on a GPU.
func globe(ctx context.Context, dev *kernels.Backend) (miles []float64, mean float64, err error) {
	lat, lon := points(300_000)
	globe, err := table.New(dev, table.Column("lat", lat), table.Column("lon", lon))
	if err != nil {
		return nil, 0, err
	}
	defer globe.Release()
	km := expr.Apply("haversine", expr.Col("lat"), expr.Col("lon"), 40.6413, -73.7781)
	far, err := globe.Query().WithColumn("miles", km.Div(1.852)).Collect(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer far.Release()
	shared, err := table.Values[float64](far, "miles") // on the host that is the table's own memory
	if err != nil {
		return nil, 0, err
	}
	miles = slices.Clone(shared)
	total, err := globe.Query().Agg(table.Mean(km).As("km")).Collect(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer total.Release()
	v, err := total.Value(0, "km")
	return miles, v.Float64(), err
}

// points are n points spread evenly over the globe, in degrees: a Fibonacci
// lattice.
func points(n int) (lat, lon []float64) {
	golden := (math.Sqrt(5) - 1) / 2
	for i := range n {
		_, turn := math.Modf(float64(i) * golden)
		lat = append(lat, math.Asin(2*(float64(i)+0.5)/float64(n)-1)*180/math.Pi)
		lon = append(lon, turn*360-180)
	}
	return lat, lon
}
