package metrics

import (
	"context"
	"encoding/json"
	"expvar"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport/inproc"
)

func TestMetrics(t *testing.T) {
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
	want := `
# HELP volley_collective_bytes_total Bytes of vectors in messages between ranks.
# TYPE volley_collective_bytes_total counter
volley_collective_bytes_total{direction="received",transport="inproc"} 3200
volley_collective_bytes_total{direction="sent",transport="inproc"} 3200
# HELP volley_collective_operations_total Collective operations that ended.
# TYPE volley_collective_operations_total counter
volley_collective_operations_total{algorithm="ring",operation="AllReduce",transport="inproc"} 8
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "volley_collective_bytes_total", "volley_collective_operations_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 8 {
		t.Errorf("%d metrics, %v", n, err)
	}
	if err := Publish("collective"); err != nil {
		t.Fatal(err)
	}
	if err := Publish("collective"); err == nil {
		t.Error("a name is taken twice")
	}
	var read map[string]collective.Stats
	if err := json.Unmarshal([]byte(expvar.Get("collective").String()), &read); err != nil || read["inproc"].Sent.Messages != 16 {
		t.Errorf("%+v, %v", read, err)
	}
}
