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
		skipped := to.answers[0].Value.(map[string]any)["skipped"].(map[string]string)
		if note := to.answers[0].Grid.Note; len(skipped) != 2*(len(shapes)-1) || !strings.Contains(note, "gemm_f64_4096x4096x4096: left out: a matrix has 16777216 elements, more than the 16384") {
			t.Errorf("%d skipped: %s", len(skipped), note)
		}
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

// The table of products marks ratios of unsteady rounds, and says how many there are.
func TestGEMMUnsteady(t *testing.T) {
	lines := []GEMMLine{{Op: "a", Threads: 1, Best: "mkl", Ratio: 1, Rounds: 5, Retaken: 7}, {Op: "b", Threads: 2, Best: "mkl", Ratio: 2, Rounds: 5, Unsteady: 3}}
	g := gemmAnswer(GEMMOptions{Peers: []string{"mkl"}, Elements: 4096 * 4096}, lines).Grid
	if g.Rows[0][5] != "1.00" || g.Rows[1][5] != "2.00*" || !strings.Contains(g.Note, "b, threads 2, 3 of 5") || !strings.Contains(g.Note, "7 rounds were run again") || strings.Contains(g.Note, "left out") {
		t.Errorf("%v: %s", g.Rows, g.Note)
	}
}
