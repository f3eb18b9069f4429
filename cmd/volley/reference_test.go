package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/reference/command-line.md again")

// begin stands before the part of the page that is made from the commands' own help.
const begin = "<!-- What follows is made from the commands' help: go test ./cmd/volley -run TestCommandLinePage -update -->\n"

// TestCommandLinePage holds docs/reference/command-line.md against the commands' own help.
func TestCommandLinePage(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "reference", "command-line.md")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	head, have, found := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), begin)
	require.True(t, found, "the page has no line\n%s", begin)
	var working bool
	var want strings.Builder
	describe(&want, newRoot(wire(), &working))
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+begin+want.String()), 0o666))
		return
	}
	require.Equal(t, want.String(), have, "make it again: go test ./cmd/volley -run TestCommandLinePage -update")
}

// describe writes what a command and those below it say of themselves.
func describe(to *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
		return
	}
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(to, "\n## %s\n%s\n\n```\n%s\n```\n", cmd.CommandPath(), text, cmd.UseLine())
	cmd.InitDefaultHelpFlag()
	rows := ""
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		flags := "--" + f.Name
		if f.Shorthand != "" {
			flags = "-" + f.Shorthand + ", " + flags
		}
		value := f.DefValue
		if f.Name == "threads" || value == "[]" || value == "false" { // threads are the machine's
			value = ""
		}
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", strings.TrimSpace(flags+" "+name), strings.ReplaceAll(usage, "|", `\|`), value)
	})
	if rows != "" {
		to.WriteString("\n| flag | what | when not given |\n| --- | --- | --- |\n" + rows)
	}
	for _, below := range cmd.Commands() {
		describe(to, below)
	}
}

// TestConsoleSamples runs the lines "$ volley …" of the blocks of ```console in README.md and docs/guide.
func TestConsoleSamples(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "guide", "*.md"))
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(root, "testdata"), filepath.Join(folder, "testdata")))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "out"), 0o777))
	t.Chdir(folder)
	ran := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
				line, command := strings.CutPrefix(line, "$ volley ")
				require.True(t, command, "%s: %q begins with no command", page, line)
				var out, said bytes.Buffer
				require.Zero(t, run(context.Background(), strings.Fields(line), &bytes.Buffer{}, &out, &said), "%s: volley %s: %s", page, line, &said)
				require.NotZero(t, out.Len()+said.Len(), "%s: volley %s says nothing", page, line)
				ran++
			}
		}
	}
	require.GreaterOrEqual(t, ran, 2)
}
