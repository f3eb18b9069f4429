package tpch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/volley-go/volley/bench/progress"
)

// generator is the program that makes the data, of the PyPI package of its name.
const generator = "tpchgen-cli"

// Generate gives the folder of the Parquet files of a scale in the user's cache folder, and makes
// them with tpchgen-cli where they are not there: that beside the interpreter python, or else the one on
// the path.
func Generate(ctx context.Context, scale float64, python string, p progress.Progress) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("tpch: %w", err)
	}
	name := strconv.FormatFloat(scale, 'g', -1, 64)
	folder := filepath.Join(cache, "volley", "tpch", name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	program, err := exec.LookPath(filepath.Join(filepath.Dir(python), generator))
	if err != nil {
		if program, err = exec.LookPath(generator); err != nil {
			return "", fmt.Errorf("tpch: %s makes the data, and is neither beside %s nor on the path: pip install %s, or name a folder with --data", generator, python, generator)
		}
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return "", fmt.Errorf("tpch: %w", err)
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), name+"-made-")
	if err != nil {
		return "", fmt.Errorf("tpch: %w", err)
	}
	p.Start("make the data of scale "+name, 0)
	defer p.Done()
	out, err := exec.CommandContext(ctx, program, "parquet", "-s", name, "--output-dir", made).CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), context.Cause(ctx))
	}
	if err == nil {
		err = os.Rename(made, folder) // whole, or not there
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("tpch: %s: %w: %.500s", generator, err, out), os.RemoveAll(made))
	}
	return folder, nil
}
