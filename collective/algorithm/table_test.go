package algorithm

import (
	"strings"
	"testing"
)

// Algorithms are found under the names that they have elsewhere too.
func TestNames(t *testing.T) {
	for name, own := range otherNames {
		found := false
		for op := range numOps {
			a, err := Named(name, op)
			if err != nil {
				continue
			}
			if found = true; a.Name != own {
				t.Errorf("%s is %s for %s, want %s", name, a.Name, op, own)
			}
		}
		if !found {
			t.Errorf("%s does nothing", name)
		}
	}
	if _, err := Named("round-robin", Barrier); err == nil || !strings.Contains(err.Error(), `no algorithm "pairwise" for Barrier: there are doubling, hierarchical, linear`) {
		t.Errorf("a barrier by turns: %v", err)
	}
}
