package metrics

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// rounds counts how often the test has run in this process, whose totals it reads.
var rounds int

func TestMetrics(t *testing.T) {
	rounds++
	var all sync.WaitGroup
	for _, e := range inproc.New(2) {
		all.Go(func() {
			c, err := collective.New(e, collective.Options{Algorithms: map[algorithm.Op]string{algorithm.AllReduce: "ring"}})
			if err != nil {
				t.Error(err)
				return
			}
			v := make([]float32, 100)
			for range 4 {
				if err := c.AllReduce(context.Background(), collective.Of(v), collective.Of(v), collective.Sum); err != nil {
					t.Error(err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(NewCollector()); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`
# HELP volley_collective_bytes_total Bytes of vectors in messages between ranks.
# TYPE volley_collective_bytes_total counter
volley_collective_bytes_total{direction="received",transport="inproc"} %[1]d
volley_collective_bytes_total{direction="sent",transport="inproc"} %[1]d
# HELP volley_collective_operations_total Collective operations that ended.
# TYPE volley_collective_operations_total counter
volley_collective_operations_total{algorithm="ring",operation="AllReduce",transport="inproc"} %[2]d
`, 3200*rounds, 8*rounds)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "volley_collective_bytes_total", "volley_collective_operations_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 8 {
		t.Errorf("%d metrics, %v", n, err)
	}
	name := fmt.Sprint("collective ", rounds)
	if err := Publish(name); err != nil {
		t.Fatal(err)
	}
	if err := Publish(name); err == nil {
		t.Error("a name is taken twice")
	}
	var read map[string]collective.Stats
	if err := json.Unmarshal([]byte(expvar.Get(name).String()), &read); err != nil || read["inproc"].Sent.Messages != 16*uint64(rounds) {
		t.Errorf("%+v, %v", read, err)
	}
}
