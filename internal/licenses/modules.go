package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// own is the module whose licence the wheel has anyway.
const own = "github.com/volley-go/volley"

// module is one that is linked, and the folder of its source.
type module struct{ path, dir string }

// linked are the modules whose packages a package needs on systems, with the processors that wheels are for, and the Go distribution, whose runtime
// is in every program.
func linked(root, of string, systems ...string) ([]module, error) {
	dirs := map[string]string{}
	for i := range 2 * len(systems) {
		system, arch := systems[i/2], []string{"amd64", "arm64"}[i%2]
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", of)
		list.Dir = root
		list.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOWORK=off")
		out, err := list.Output()
		if err != nil {
			var failed *exec.ExitError
			if errors.As(err, &failed) {
				err = fmt.Errorf("%w: %s", err, failed.Stderr)
			}
			return nil, fmt.Errorf("go list %s: %w", of, err)
		}
		for line := range strings.Lines(string(out)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && path != own {
				dirs[path] = dir
			}
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	all := []module{{"go", strings.TrimSpace(string(goroot))}}
	for path, dir := range dirs {
		all = append(all, module{path, dir})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].path < all[j].path })
	return all, nil
}

// legal are the names of files that go with every copy.
var legal = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)

// permissive are the phrases by which licences are known that ask for no more than their own text.
var permissive = []string{
	"Apache License",
	"Redistribution and use in source and binary forms",
	"Permission is hereby granted, free of charge, to any person obtaining a copy",
	"Permission to use, copy, modify, and/or distribute this software for any purpose",
}

// collect reads the files of the modules, by their paths in the folder.
func collect(all []module) (map[string]string, error) {
	texts := map[string]string{}
	for _, m := range all {
		entries, err := os.ReadDir(m.dir)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", m.path, err)
		}
		licensed := false
		for _, e := range entries {
			if e.IsDir() || !legal.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("module %s: %w", m.path, err)
			}
			texts[m.path+"/"+e.Name()] = string(text)
			licensed = licensed || isPermissive(string(text))
		}
		if !licensed {
			return nil, fmt.Errorf("module %s has no licence that is known to be permissive", m.path)
		}
	}
	return texts, nil
}

func isPermissive(text string) bool {
	plain := strings.Join(strings.Fields(text), " ")
	for _, phrase := range permissive {
		if strings.Contains(plain, phrase) {
			return true
		}
	}
	return false
}

func folder(root string) string { return filepath.Join(root, "cgo", "licenses") }

// compare is an error where the folder has other files than these.
func compare(dir string, texts map[string]string) error {
	left := map[string]bool{}
	for path := range texts {
		left[path] = true
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if name = filepath.ToSlash(name); err == nil && texts[name] != string(text) {
			err = fmt.Errorf("%s is not what the modules say: run go run ./internal/licenses", name)
		}
		delete(left, name)
		return err
	})
	if err != nil {
		return err
	}
	for path := range left {
		return fmt.Errorf("%s is not there: run go run ./internal/licenses", path)
	}
	return nil
}

// write makes the folder anew.
func write(dir string, texts map[string]string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for path, text := range texts {
		to := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
