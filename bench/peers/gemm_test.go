package peers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/progress"
)

// Products of both types by all libraries, with one thread and with two; an
// element that is off by more than rounding is found.
func TestGEMM(t *testing.T) {
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, mode := range []string{"right", "wrong"} {
		to := &kept{}
		o := GEMMOptions{Backend: b, Python: python(t, mode), Peers: GEMMPeers(), Elements: 128 * 128, Rounds: 1, Threads: 2}
		if err := GEMM(context.Background(), o, to, progress.Nothing()); err != nil {
			t.Fatal(err)
		}
		if len(to.records) != 2*2*4 {
			t.Fatalf("%d records", len(to.records))
		}
		for _, r := range to.records {
			right := mode == "right" || r.Engine != "mkl" || r.Op != "gemm_f64_128x128x128"
			if r.OK == nil || *r.OK != right || r.GFLOPs == nil || *r.GFLOPs <= 0 || r.ShareOfPeak == nil || *r.ShareOfPeak <= 0 {
				t.Errorf("%s: %+v", mode, r)
			}
		}
		lines := to.answers[0].Value.(map[string]any)["peers"].([]GEMMLine)
		threads := []int{lines[0].Threads, lines[1].Threads, lines[2].Threads, lines[3].Threads}
		if len(lines) != 4 || !slices.Equal(threads, []int{1, 1, 2, 2}) || lines[0].Ratio != lines[0].Ours/lines[0].Peers[lines[0].Best] {
			t.Errorf("%+v", lines)
		}
	}
	o := GEMMOptions{Backend: b, Python: python(t, "right"), Peers: []string{"abacus"}, Elements: 1, Rounds: 1, Threads: 1}
	if err := GEMM(context.Background(), o, &kept{}, progress.Nothing()); err == nil || !strings.Contains(err.Error(), `no peer "abacus"`) {
		t.Error(err)
	}
}
