package ncclemu

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed src/nccl.cpp
var source []byte

const variable = "VOLLEY_NCCL_LIBRARY"

// Start compiles the library, or finds it in the user's cache folder, and makes package
// collective/transport/nccl load it, unless the environment names one.
func Start(ctx context.Context) error {
	if os.Getenv(variable) != "" {
		return nil
	}
	library, err := Prepare(ctx)
	if err != nil {
		return err
	}
	return os.Setenv(variable, library)
}

// Prepare builds as Start does and returns the library.
func Prepare(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return build(ctx, filepath.Join(cache, "volley", "ncclemu"))
}

// build compiles into a file of its own that then gets its name, so that processes which
// build at the same time do not disturb each other.
func build(ctx context.Context, cache string) (string, error) {
	sum := sha256.Sum256(source)
	home := filepath.Join(cache, hex.EncodeToString(sum[:8]))
	library := filepath.Join(home, "libnccl.so.2")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(cache, "draft")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(draft)
	text, made := filepath.Join(draft, "nccl.cpp"), filepath.Join(draft, "libnccl.so.2")
	if err := os.WriteFile(text, source, 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "g++", "-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-shared", "-Wl,-soname,libnccl.so.2", "-Wl,-z,nodelete",
		"-o", made, text, "-lpthread", "-ldl")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("g++ %s: %w\n%s", text, err, out)
	}
	return library, os.Rename(made, library)
}
