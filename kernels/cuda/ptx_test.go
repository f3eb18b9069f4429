package cuda_test

import (
	"testing"

	"github.com/volley-go/volley/kernels/cuda"
	"github.com/volley-go/volley/kernels/gpu"
)

// TestEmbedded holds that every module has its PTX, made of the present text.
// `go generate ./kernels/cuda` makes it.
func TestEmbedded(t *testing.T) {
	for _, module := range gpu.Modules() {
		text, err := cuda.Text(module)
		if err != nil {
			t.Fatal(err)
		}
		ptx, err := cuda.PTX(module, text)
		if err != nil {
			t.Errorf("%s: %v", module, err)
		}
		if ptx == nil {
			t.Errorf("module %s has no PTX of its present text: run go generate ./kernels/cuda", module)
		}
	}
}
