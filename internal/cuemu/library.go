package cuemu

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed src
var sources embed.FS

// Library is a compiled emulator.
type Library struct {
	Home   string // folder of all of it
	Driver string // libcuda.so.1
	NVRTC  string // libnvrtc.so.12
	cc     string // the compiler of modules
	hash   string // of everything that it was made of
}

// Missing says why the emulator cannot be built on this machine; "" where it can.
func Missing() string {
	if runtime.GOOS != "linux" {
		return "the emulated CUDA driver is for Linux"
	}
	if _, err := exec.LookPath("g++"); err != nil {
		return "the emulated CUDA driver needs g++"
	}
	return ""
}

// BuildLibrary compiles the emulator into a folder below cache, or finds it
// there. Processes that build at the same time do not disturb each other.
func BuildLibrary(ctx context.Context, cache string) (*Library, error) {
	if why := Missing(); why != "" {
		return nil, fmt.Errorf("%s", why)
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, err
	}
	compiler, err := exec.CommandContext(ctx, "g++", "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("g++ --version: %w", err)
	}
	hash := sha256.New()
	hash.Write(compiler)
	err = fs.WalkDir(sources, "src", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := sources.ReadFile(name)
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
		return err
	})
	if err != nil {
		return nil, err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	home := filepath.Join(cache, "emulator-"+sum[:16])
	lib := &Library{
		Home: home, Driver: filepath.Join(home, "libcuda.so.1"), NVRTC: filepath.Join(home, "libnvrtc.so.12"),
		cc: filepath.Join(home, "cuemu-cc"), hash: sum,
	}
	unlock, err := lock(filepath.Join(cache, "emulator.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(lib.cc); err == nil {
		return lib, nil
	}
	return lib, lib.build(ctx)
}

// build compiles into a draft folder that then gets its name, so that a build
// that is broken off leaves nothing half done.
func (l *Library) build(ctx context.Context) error {
	draft := l.Home + ".draft"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	if err := writeSources(draft); err != nil {
		return err
	}
	driver, err := filepath.Glob(filepath.Join(draft, "driver", "*.cpp"))
	if err != nil {
		return err
	}
	err = parallel(len(driver), func(i int) error {
		return compile(ctx, "-c", driver[i], "-o", strings.TrimSuffix(driver[i], ".cpp")+".o")
	})
	if err != nil {
		return err
	}
	link := []string{"-shared", "-Wl,-soname,libcuda.so.1", "-Wl,-z,nodelete", "-o", filepath.Join(draft, "libcuda.so.1")}
	for _, name := range driver {
		link = append(link, strings.TrimSuffix(name, ".cpp")+".o")
	}
	at := func(name string) string { return filepath.Join(draft, "compiler", name) }
	commands := [][]string{
		append(link, "-lpthread", "-ldl", "-lm"),
		{"-shared", "-Wl,-soname,libnvrtc.so.12", "-o", filepath.Join(draft, "libnvrtc.so.12"), at("nvrtc.cpp"), at("compile.cpp"), "-ldl"},
		{"-o", filepath.Join(draft, "cuemu-cc"), at("cc.cpp"), at("compile.cpp")},
	}
	err = parallel(len(commands), func(i int) error { return compile(ctx, commands[i]...) })
	if err != nil {
		return err
	}
	return os.Rename(draft, l.Home)
}

// writeSources lays the sources out: the headers for kernels beside the
// libraries, the rest in folders.
func writeSources(to string) error {
	return fs.WalkDir(sources, "src", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(name, "src/"), "kernel/")
		out := filepath.Join(to, filepath.FromSlash(rest))
		if err := os.MkdirAll(filepath.Join(to, filepath.FromSlash(path.Dir(rest))), 0o755); err != nil {
			return err
		}
		return os.WriteFile(out, text, 0o644)
	})
}

func compile(ctx context.Context, args ...string) error {
	args = append([]string{"-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden"}, args...)
	cmd := exec.CommandContext(ctx, "g++", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("g++ %s: %w\n%s", strings.Join(args, " "), err, out.Bytes())
	}
	return nil
}
