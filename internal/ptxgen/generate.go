package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/volley-go/volley/kernels/cuda"
	"github.com/volley-go/volley/kernels/gpu"
)

// head are the lines that come before what NVRTC wrote.
func head(text string) string {
	return cuda.SourceLine(text) + fmt.Sprintf("// NVRTC %s %s\n", wanted, strings.Join(options, " "))
}

// generate brings the folder up to date, or with check compares it with what is
// made anew.
func generate(ctx context.Context, c *compiler, folder string, check bool) error {
	made, kept := 0, 0
	var faults []error
	want := map[string]bool{}
	for _, module := range gpu.Modules() {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := cuda.Text(module)
		if err != nil {
			return err
		}
		name := filepath.Join(folder, cuda.PTXFile(module))
		want[filepath.Base(name)] = true
		old, err := unpack(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
			continue
		}
		if !check && strings.HasPrefix(old, head(text)) {
			kept++
			continue
		}
		ptx, err := c.compile(module, text)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		made++
		ptx = head(text) + ptx
		switch {
		case !check:
			if err := pack(name, ptx); err != nil {
				return err
			}
		case old == "":
			faults = append(faults, fmt.Errorf("module %s has no PTX", module))
		case old != ptx:
			faults = append(faults, fmt.Errorf("module %s: the PTX is not what NVRTC makes of the present text: %s", module, difference(old, ptx)))
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.gz"))
	if err != nil {
		return err
	}
	for _, f := range files {
		switch {
		case want[filepath.Base(f)]:
		case check:
			faults = append(faults, fmt.Errorf("%s is of no module", f))
		default:
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if check {
		fmt.Printf("the PTX of %d modules is what NVRTC %s makes of them\n", made, wanted)
	} else {
		fmt.Printf("made the PTX of %d modules; that of %d was up to date\n", made, kept)
	}
	return nil
}

// difference shows the first line that differs.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d is %q and should be %q", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines and should have %d", len(x), len(y))
}

func unpack(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(text), nil
}

// pack writes text compressed, without a time or name, so that the same text
// gives the same file.
func pack(name, text string) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write([]byte(text)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}
