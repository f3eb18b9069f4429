package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley"
)

// The test's own program stands in for Python: its first argument is
// "stub:MODE", and then come the worker's arguments.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && strings.HasPrefix(os.Args[1], "stub:") {
		if err := stub(strings.TrimPrefix(os.Args[1], "stub:"), os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// python is the interpreter that is a stub.
func python(t testing.TB, mode string) []string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, "stub:" + mode}
}

// stub is a worker that computes by our own kernels. Modes other than "right"
// concern the peers "polars" and "mkl" only.
func stub(mode, name string) error {
	if name != "polars" && name != "mkl" && mode != "memory" {
		mode = "right"
	}
	if mode == "missing" {
		return say(map[string]any{"error": "ModuleNotFoundError: No module named 'polars'"})
	}
	b, err := volley.Open("cpu")
	if err != nil {
		return err
	}
	if mode == "memory" {
		if name != orderedName {
			name = oursName // a peer that is ours under another name
		}
		return Serve(context.Background(), b, name, os.Stdin, os.Stdout)
	}
	if err := say(map[string]any{"version": "1.0"}); err != nil {
		return err
	}
	o, g := &ours{backend: b}, &goGEMM{of: gonumGEMM, called: name}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		answer := func() error { return stubAnswer(o, c, mode) }
		if strings.HasPrefix(c.Op, "gemm") || g.multiply != nil {
			answer = func() error { return stubProduct(g, c, mode) }
		}
		if err := answer(); err != nil {
			return err
		}
	}
	return lines.Err()
}

func stubAnswer(o *ours, c command, mode string) error {
	ctx := context.Background()
	switch {
	case (c.Do == "load" || c.Do == "measure") && mode == "lacks":
		return say(map[string]any{"lacks": "no such thing here"})
	case c.Do == "load":
		s := &stage{records: map[string]arrow.RecordBatch{}, file: c.File}
		for name, path := range c.Inputs {
			r, err := readArrow(path)
			if err != nil {
				return err
			}
			s.records[name] = r
		}
		p := problemNamed(c.Op)
		ways, _, err := o.load(ctx, p, s)
		if err != nil {
			return err
		}
		return say(map[string]any{"ways": ways})
	case c.Do == "check" && mode == "fails":
		return say(map[string]any{"error": "MemoryError: too much"})
	case c.Do == "check" && mode == "dies" && o.problem.name == "sum" || mode == "ends" && c.Do == "run" || mode == "leaves" && c.Do == "unload":
		fmt.Fprintln(os.Stderr, "Segmentation fault")
		os.Exit(9)
	case c.Do == "check" && mode == "hangs":
		time.Sleep(time.Hour)
	case c.Do == "check" && mode == "babbles":
		_, err := fmt.Println("Warning: nothing to see")
		return err
	case c.Do == "check":
		r, err := o.check(ctx, c.Way)
		if err != nil {
			return err
		}
		if mode == "wrong" {
			r.Multiset++
		}
		return say(answer{Fingerprint: r.Fingerprint, turn: turn{Seconds: []float64{r.seconds}}})
	case c.Do == "run":
		t, err := o.run(ctx, c.Way, time.Duration(c.AtLeast*float64(time.Second)), c.Most)
		if err != nil {
			return err
		}
		return say(answer{turn: t})
	case c.Do == "write" && mode == "scribe":
		os.Exit(9)
	case c.Do == "write":
		if err := os.WriteFile(c.Path, []byte("i,v,k,s\n1,0.5,7,a\n2,0.25,8,b\n"), 0o666); err != nil {
			return err
		}
		return say(map[string]any{})
	case c.Do == "unload":
		if err := o.unload(ctx); err != nil {
			return err
		}
		return say(map[string]any{})
	}
	return say(map[string]any{"error": "unknown command " + c.Do})
}

// stubProduct answers commands about products.
func stubProduct(g *goGEMM, c command, mode string) error {
	ctx := context.Background()
	if mode == "ends" && c.Do == "run" && strings.HasPrefix(g.called, "mkl") {
		os.Exit(9)
	}
	switch c.Do {
	case "load":
		a, err := readArrow(c.Inputs["a"])
		if err != nil {
			return err
		}
		b, err := readArrow(c.Inputs["b"])
		if err != nil {
			return err
		}
		m := &matrices{of: a.Column(0).DataType(), a: a.Column(0), b: b.Column(0)}
		width := 0
		if _, err := fmt.Sscanf(c.Op, "gemm_f%d_%dx%dx%d", &width, &m.m, &m.n, &m.k); err != nil {
			return err
		}
		ways, _, err := g.load(ctx, nil, &stage{product: m})
		if err != nil {
			return err
		}
		return say(map[string]any{"ways": ways})
	case "keep":
		x, seconds, err := g.product(ctx, c.Way)
		if err != nil {
			return err
		}
		if mode == "wrong" && x.DataType().ID() == arrow.FLOAT64 {
			numbers[float64](x)[77] += 1e-9
		}
		if err := writeArrow(c.Path, record(column{"x", x})); err != nil {
			return err
		}
		return say(answer{turn: turn{Seconds: []float64{seconds}}})
	case "run":
		t, err := g.run(ctx, c.Way, 0, 1)
		if err != nil {
			return err
		}
		return say(answer{turn: t})
	}
	if err := g.unload(ctx); err != nil {
		return err
	}
	return say(map[string]any{})
}

func say(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", b)
	return err
}

func problemNamed(name string) *problem {
	for i := range problems {
		if problems[i].name == name {
			return &problems[i]
		}
	}
	panic("no problem " + name)
}
