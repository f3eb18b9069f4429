package kerneltest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

var update = flag.Bool("update", false, "rewrite the golden lists of supported kernels and types")

// pairs are the (kernel, type) pairs that ran with a result that was compared.
type pairs struct {
	mu  sync.Mutex
	set map[kernels.Support]bool
}

func (p *pairs) add(kernel string, c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	types := c.Types
	if types == nil {
		types = []arrow.DataType{c.Case.Type}
	}
	for _, t := range types {
		p.set[kernels.Support{Kernel: kernel, Type: t.ID()}] = true
		if c.Also != "" {
			p.set[kernels.Support{Kernel: c.Also, Type: t.ID()}] = true
		}
	}
}

var (
	exercisedMu sync.Mutex
	exercised   = map[string]*pairs{} // by the name of the set
)

func pairsOf(set *kernels.Set) *pairs {
	exercisedMu.Lock()
	defer exercisedMu.Unlock()
	p := exercised[set.Name]
	if p == nil {
		p = &pairs{set: map[kernels.Support]bool{}}
		exercised[set.Name] = p
	}
	return p
}

// Golden holds the (kernel, type) pairs that a set supports against the list in
// a file, a line a kernel, and against what Run has run of that set in this
// process: a pair that is new, gone, or supported but never run is a failure.
// With the flag -update it rewrites the file.
func Golden(t testing.TB, set *kernels.Set, path string) {
	t.Helper()
	ran := pairsOf(set)
	ran.mu.Lock()
	defer ran.mu.Unlock()
	var text strings.Builder
	last := ""
	for _, pair := range set.Support() {
		if pair.Kernel != last {
			if last != "" {
				text.WriteByte('\n')
			}
			text.WriteString(pair.Kernel + ":")
			last = pair.Kernel
		}
		fmt.Fprintf(&text, " %s", strings.ToLower(pair.Type.String()))
		if !ran.set[pair] {
			t.Errorf("%s: %s of %s is supported, but was never run", set.Name, pair.Kernel, pair.Type)
		}
	}
	text.WriteByte('\n')
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("%s: supports\n%swhile %s lists\n%sif this is meant, run the test with -update", set.Name, text.String(), path, want)
	}
}
