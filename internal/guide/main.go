package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "guide:", err)
		os.Exit(1)
	}
}

// write makes the tests and the pictures of all pages below the repository's root.
func write(root string) error {
	files, err := filesOf(root)
	if err != nil {
		return err
	}
	for name, source := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(source), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// filesOf gives the test of each page with Go samples and the picture of each page of the guide, by their paths from the root.
func filesOf(root string) (map[string]string, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "guide", "*.md"))
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for name, p := range pictures {
		files["docs/guide/"+name+".svg"] = p.svg()
	}
	for _, path := range append([]string{filepath.Join(root, "README.md")}, pages...) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		page, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		page = filepath.ToSlash(page)
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".md"))
		blocks, err := blocksOf(page, string(text))
		if err != nil {
			return nil, err
		}
		source, err := testOf(page, name, blocks)
		if err != nil {
			return nil, err
		}
		if source != "" {
			files["internal/guide/page_"+name+"_test.go"] = source
		}
	}
	return files, nil
}
