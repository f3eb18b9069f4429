// Command ptxgen makes the PTX that package kernels/cuda embeds, with NVRTC
// 12.0.140, whose PTX every driver since CUDA 12.0 takes. `go generate
// ./kernels/cuda` runs it; scripts/gpu.sh fetches the compilers into the user's
// cache folder.
//
//	ptxgen                  makes what is missing or of another text
//	ptxgen -check           makes all again and compares: any difference is an error
//	ptxgen -ptxas FILE      assembles what is embedded for the GPUs of a list, prints
//	                        the registers of each kernel, and fails on errors and spills
//
// It may be called in any folder of the clone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ptxgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	nvrtc := flag.String("nvrtc", cachedCompiler(), "NVRTC 12.0.140")
	check := flag.Bool("check", false, "compare what NVRTC makes with what is there, and write nothing")
	ptxas := flag.String("ptxas", "", "assemble what is there with this ptxas, and write nothing")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	folder := filepath.Join(root, "kernels", "cuda", "ptx")
	if *ptxas != "" {
		return assemble(ctx, *ptxas, folder)
	}
	compiler, err := loadCompiler(*nvrtc)
	if err != nil {
		return err
	}
	return generate(ctx, compiler, folder, *check)
}

// cachedCompiler is where scripts/packages.sh puts NVRTC; empty where the user has
// no cache folder.
func cachedCompiler() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "volley", "wheels", "nvidia-cuda-nvrtc-cu12-12.0.140", "nvidia", "cuda_nvrtc", "lib", "libnvrtc.so.12")
}

// moduleRoot is the folder of go.mod, looked for from the working folder up.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod here or above")
		}
		dir = parent
	}
}
