package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/volley-go/volley/collective"
)

var (
	byAlgorithm = []string{"transport", "operation", "algorithm"}
	byDirection = []string{"transport", "direction"}

	operations = prometheus.NewDesc("volley_collective_operations_total", "Collective operations that ended.", byAlgorithm, nil)
	failures   = prometheus.NewDesc("volley_collective_operation_failures_total", "Collective operations that ended with an error.", byAlgorithm, nil)
	seconds    = prometheus.NewDesc("volley_collective_operation_seconds_total", "Time in collective operations.", byAlgorithm, nil)
	messages   = prometheus.NewDesc("volley_collective_messages_total", "Messages between ranks.", byDirection, nil)
	bytes      = prometheus.NewDesc("volley_collective_bytes_total", "Bytes of vectors in messages between ranks.", byDirection, nil)
	faults     = prometheus.NewDesc("volley_collective_faults_total", "Faults that closed a communicator.", []string{"transport", "cause"}, nil)
	stalls     = prometheus.NewDesc("volley_collective_stalls_total", "Operations that were reported as waiting long.", []string{"transport"}, nil)
)

type collector struct{}

// NewCollector gives the process's counts to a Prometheus registry, read at every
// scrape.
func NewCollector() prometheus.Collector { return collector{} }

// Describe lists the metrics.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{operations, failures, seconds, messages, bytes, faults, stalls} {
		to <- d
	}
}

// Collect reads the counts.
func (collector) Collect(to chan<- prometheus.Metric) {
	give := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	for name, s := range collective.Totals() {
		for _, o := range s.Operations {
			give(operations, float64(o.Calls), name, o.Op, o.Algorithm)
			give(failures, float64(o.Failed), name, o.Op, o.Algorithm)
			give(seconds, o.Time.Seconds(), name, o.Op, o.Algorithm)
		}
		for direction, t := range map[string]collective.Traffic{"sent": s.Sent, "received": s.Received} {
			give(messages, float64(t.Messages), name, direction)
			give(bytes, float64(t.Bytes), name, direction)
		}
		for cause, n := range s.Faults {
			give(faults, float64(n), name, string(cause))
		}
		give(stalls, float64(s.Stalls), name)
	}
}
