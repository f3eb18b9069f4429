package kernels_test

import (
	"slices"
	"testing"

	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/reference"
)

func TestMissing(t *testing.T) {
	if m := cpu.Generic().Missing(); len(m) > 0 {
		t.Errorf("the CPU's set lacks %v", m)
	}
	set := reference.New()
	set.Filter.Func, set.Evaluate.Func = nil, nil
	if m := set.Missing(); !slices.Equal(m, []string{"Filter"}) {
		t.Errorf("without Filter and Evaluate the set lacks %v", m)
	}
}
