package main

import (
	_ "embed"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// haversineSource is the kernel for GPUs: docs/dialect.md describes its language.
//
//go:embed haversine.cl
var haversineSource string

// register makes the kernel known as "haversine": four float64 arguments and a
// float64 result.
func register() error {
	f64 := arrow.PrimitiveTypes.Float64
	_, err := kernels.Register("haversine", []arrow.DataType{f64, f64, f64, f64, f64}, haversine, haversineSource)
	return err
}

// haversine is the kernel for the CPU: called for runs of rows, by several
// goroutines at once.
func haversine(km, lat1, lon1, lat2, lon2 []float64) {
	const degree = math.Pi / 180
	square := func(x float64) float64 { return x * x }
	for i := range km {
		h := square(math.Sin((lat2[i]-lat1[i])*degree/2)) +
			math.Cos(lat1[i]*degree)*math.Cos(lat2[i]*degree)*square(math.Sin((lon2[i]-lon1[i])*degree/2))
		km[i] = 2 * earthRadius * math.Asin(math.Sqrt(min(h, 1)))
	}
}

// earthRadius is the Earth's mean radius in kilometres.
const earthRadius = 6371.0088
