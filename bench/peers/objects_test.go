package peers

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
)

// objects is how many objects of Go's heap a run of an operation makes, the least of two.
func objects(t *testing.T, d *host.Device, p *problem, rows int64) (least uint64) {
	t.Helper()
	ctx := context.Background()
	sets := cpu.Tiers()
	o := &ours{backend: &kernels.Backend{Device: d, Set: sets[len(sets)-1]}}
	s := &stage{records: p.inputs(rows)}
	if p.file != "" {
		s.file = filepath.Join(t.TempDir(), p.name)
		writeInput(t, o.backend, p, s)
	}
	for _, o.ordered = range []bool{false, true}[:map[bool]int{false: 1, true: 2}[p.anyOrder]] {
		ways, _, err := o.load(ctx, p, s)
		if err != nil {
			t.Fatal(err)
		}
		of := ^uint64(0)
		for range 2 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := o.run(ctx, ways[0].Name, 0, 1); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			of = min(of, after.Mallocs-before.Mallocs)
		}
		least = max(least, of)
		if err := o.unload(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return least
}

// TestObjects: a run makes no object for a row, and few for a morsel of rows, or for a row group
// or block of a file. Two morsels have nearly all groups, which are cut into parts that are not
// counted here.
func TestObjects(t *testing.T) {
	const morsel = 1 << 16
	d := host.New()
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range problems {
		p := &problems[i]
		most := 200.0
		if p.file != "" {
			most = 2000 // of a morsel's rows, which are four row groups of four columns here
		}
		few, many := objects(t, d, p, 2*morsel), objects(t, d, p, 6*morsel)
		if each := (float64(many) - float64(few)) / 4; each > most {
			t.Errorf("%s: %d objects for two morsels, %d for six: %.0f each, where %.0f are the most", p.name, few, many, each, most)
		}
	}
}
