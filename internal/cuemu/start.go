package cuemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/volley-go/volley/kernels/gpu"
)

// Environment variables that name the libraries to load instead of the system's.
const (
	driverVariable = "VOLLEY_CUDA_LIBRARY"
	nvrtcVariable  = "VOLLEY_NVRTC_LIBRARY"
)

// Run is m.Run after Start, for TestMain. On a machine where the emulator cannot
// be built the tests run without it, and find the machine's CUDA or none;
// VOLLEY_REQUIRE=cuda (a list with commas) makes that a failure.
func Run(m interface{ Run() int }) int {
	why := Missing()
	switch {
	case os.Getenv(driverVariable) != "" || why == "":
		if err := Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case Required():
		fmt.Fprintln(os.Stderr, "VOLLEY_REQUIRE asks for CUDA: "+why)
		return 1
	}
	return m.Run()
}

// Required reports whether VOLLEY_REQUIRE says that tests must find CUDA.
func Required() bool {
	return slices.Contains(strings.Split(os.Getenv("VOLLEY_REQUIRE"), ","), "cuda")
}

// Cache is the folder of the user's cache that keeps compiled emulators and kernels,
// each by what it was made of, for all clones of a user.
func Cache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "volley", "cuemu"), nil
}

// Start builds the emulator and this module's kernels, both in Cache, and sets the environment so that package device/cuda loads
// it; call it before the first use of CUDA. Where the environment names a driver
// already (VOLLEY_CUDA_LIBRARY=libcuda.so.1 is the machine's own), nothing is done.
func Start(ctx context.Context) error {
	if os.Getenv(driverVariable) != "" {
		return nil
	}
	variables, err := Prepare(ctx)
	if err != nil {
		return err
	}
	for _, v := range variables {
		if err := os.Setenv(v.Name, v.Value); err != nil {
			return err
		}
	}
	return nil
}

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// Prepare builds as Start does and returns the variables to set.
func Prepare(ctx context.Context) ([]Variable, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	modules, err := ownModules(root)
	if err != nil {
		return nil, err
	}
	cache, err := Cache()
	if err != nil {
		return nil, err
	}
	lib, err := BuildLibrary(ctx, cache)
	if err != nil {
		return nil, err
	}
	kernels, err := lib.BuildModules(ctx, modules)
	if err != nil {
		return nil, err
	}
	variables := []Variable{{driverVariable, lib.Driver}, {nvrtcVariable, lib.NVRTC}, {"CUEMU_KERNELS", kernels}}
	if os.Getenv("VOLLEY_CACHE") == "" {
		// What the emulated NVRTC makes names files of Cache and must not outlive them.
		variables = append(variables, Variable{"VOLLEY_CACHE", filepath.Join(lib.Home, "cache")})
	}
	return variables, nil
}

// ownModules are the kernels of this module in CUDA C. The prelude is read from
// the clone, so that the tests of kernels/cuda can use this package.
func ownModules(root string) ([]Module, error) {
	prelude, err := os.ReadFile(filepath.Join(root, "kernels", "cuda", "prelude.h"))
	if err != nil {
		return nil, err
	}
	var modules []Module
	for _, name := range gpu.Modules() {
		text, err := gpu.Assemble(string(prelude), name)
		if err != nil {
			return nil, err
		}
		modules = append(modules, Module{name, text})
	}
	return modules, nil
}

// moduleRoot is the folder of go.mod, looked for from the working folder up.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", err
		}
		dir = parent
	}
}
