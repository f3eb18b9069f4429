package flights

import (
	"context"
	"strings"
	"testing"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// TestEpochIsChecked spoils what an epoch is held against, of terms in the host's memory
// and in a device's, where its batches are gathered.
func TestEpochIsChecked(t *testing.T) {
	here := onHost(t)
	for name, on := range map[string]*kernels.Backend{"host": here, "device": remote(t)} {
		t.Run(name, func(t *testing.T) { epochIsChecked(t, here, on) })
	}
}

func epochIsChecked(t *testing.T, here, on *kernels.Backend) {
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = float64(i)
	}
	made, err := table.New(here, table.Column("a", values), table.Column("b", values), table.Column(target, values))
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	terms, err := made.To(context.Background(), on)
	if err != nil {
		t.Fatal(err)
	}
	defer terms.Release()
	e, ctx := epoch{terms, make([]uint8, len(values))}, context.Background()
	if err := e.check(ctx); err == nil || !strings.Contains(err.Error(), "row 0 came 0 times") {
		t.Errorf("before an epoch: %v", err)
	}
	if err := e.draw(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := e.check(ctx); err != nil {
		t.Error(err)
	}
	e.seen[77]++
	if err := e.check(ctx); err == nil || !strings.Contains(err.Error(), "row 77 came 2 times") {
		t.Errorf("a row that comes twice: %v", err)
	}
	for _, name := range []string{"a", "b", target} {
		wrong := append([]float64(nil), values...)
		wrong[4321]++
		if err := e.held(ctx, map[string][]float64{name: wrong}); err == nil || !strings.Contains(err.Error(), name+" of row 4321 is 4321, not 4322") {
			t.Errorf("another value of %s: %v", name, err)
		}
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if err := e.draw(ended, nil); err == nil {
		t.Error("an epoch under a context that has ended")
	}
}
