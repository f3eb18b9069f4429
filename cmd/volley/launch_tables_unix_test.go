//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLaunchTables starts the program in Go of docs/guide/tables.md as the page says: two ranks print what the page says of one, and write a file each.
func TestLaunchTables(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/tables.md")
	require.NoError(t, err)
	code := regexp.MustCompile("(?s)\n```go\n(package main\n.*?)```").FindSubmatch(page)
	require.NotNil(t, code)
	said := regexp.MustCompile("(?s)It prints:\n\n```\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, said)
	folder := t.TempDir()
	source, program := filepath.Join(folder, "states.go"), filepath.Join(folder, "states")
	require.NoError(t, os.WriteFile(source, code[1], 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", program, source)
	build.Dir = "../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	launch := exec.CommandContext(ctx, os.Args[0], "launch", "-n", "2", "--", program)
	launch.Dir, launch.Env = "../..", append(os.Environ(), "OUT="+folder)
	out, err = launch.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, string(said[1]), strings.ReplaceAll(string(out), "[0] ", ""))
	files, err := filepath.Glob(filepath.Join(folder, "states-go", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 2)
}
