package cuemu

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is a kernel module in CUDA C.
type Module struct {
	Name string // in errors
	Text string
}

// SourceHash is the SHA-256 of a module's text: PTX made of it says it in a line
// "// source sha256:HASH", and the emulated driver refuses PTX of another text
// than that of the host-compiled kernels.
func SourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// BuildModules compiles the modules for the host and returns the folder with
// their index, for CUEMU_KERNELS. What is compiled already is not compiled again.
func (l *Library) BuildModules(ctx context.Context, modules []Module) (folder string, err error) {
	all := sha256.New()
	fmt.Fprintln(all, l.hash)
	for _, m := range modules {
		fmt.Fprintln(all, m.Name, SourceHash(m.Text))
	}
	cache := filepath.Dir(l.Home)
	folder = filepath.Join(cache, "kernels-"+hex.EncodeToString(all.Sum(nil))[:16])
	unlock, err := lock(filepath.Join(cache, "kernels.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	index := filepath.Join(folder, "index")
	if _, err := os.Stat(index); err == nil {
		return folder, nil
	}
	compiled := filepath.Join(cache, "modules-"+l.hash[:16])
	for _, name := range []string{folder, compiled} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return "", err
		}
	}
	entries := make([][]string, len(modules))
	err = parallel(len(modules), func(i int) (err error) {
		entries[i], err = l.module(ctx, compiled, modules[i])
		return err
	})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	owner := make(map[string]string)
	for i, m := range modules {
		for _, entry := range entries[i] {
			if other, twice := owner[entry]; twice {
				return "", fmt.Errorf("kernel %s is in the modules %s and %s", entry, other, m.Name)
			}
			owner[entry] = m.Name
			fmt.Fprintf(&text, "%s %s %s\n", entry, filepath.Join(compiled, SourceHash(m.Text)+".so"), SourceHash(m.Text))
		}
	}
	if err := os.WriteFile(index+".draft", []byte(text.String()), 0o644); err != nil {
		return "", err
	}
	return folder, os.Rename(index+".draft", index)
}

// module compiles one module, unless it is there, and returns its kernels' names.
func (l *Library) module(ctx context.Context, folder string, m Module) (entries []string, err error) {
	out := filepath.Join(folder, SourceHash(m.Text)+".so")
	list := out + ".entries"
	if names, err := os.ReadFile(list); err == nil {
		return strings.Fields(string(names)), nil
	}
	cmd := exec.CommandContext(ctx, l.cc, out, m.Name)
	cmd.Stdin = strings.NewReader(m.Text)
	var names, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &names, &errors
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("module %s for the emulated CUDA driver: %w\n%s", m.Name, err, errors.Bytes())
	}
	if err := os.WriteFile(list, names.Bytes(), 0o644); err != nil {
		return nil, err
	}
	return strings.Fields(names.String()), nil
}
