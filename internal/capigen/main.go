// Command capigen makes what follows from the C header, volley.h and what it includes: the entry points of libvolley, the declarations of the Python package, and the list
// of signatures that the ABI test holds the header against. The header is the one place where a signature is written by hand.
//
//	go run ./internal/capigen            # writes the files
//	go run ./internal/capigen -check     # fails where one of them is not what the header says
//
// The list of signatures, cgo/testdata/abi.txt, is written only where the version in the header allows the change: something that is gone or
// different needs another VOLLEY_ABI_MAJOR, something that is new at least another VOLLEY_ABI_MINOR.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	root := flag.String("root", ".", "the module's root")
	check := flag.Bool("check", false, "compare and write nothing")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "capigen:", err)
		os.Exit(1)
	}
}

// output is one file that follows from the header.
type output struct {
	path  string
	bytes []byte
}

// outputs are the files that follow from the header, without the list of signatures.
func outputs(h *header) []output {
	return []output{
		{"cgo/entry.c", entryPoints(h)},
		{"cgo/test/calls.c", wrongCalls(h)},
		{"python/volley/_abi.py", pythonDeclarations(h)},
	}
}

var include = regexp.MustCompile(`(?m)^#include "(volley_\w+\.h)"$`)

// readHeader is volley.h with the files of its folder that it includes in their places.
func readHeader(folder string) (text string, err error) {
	read := func(name string) string {
		part, failed := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = failed
		}
		return string(part)
	}
	text = include.ReplaceAllStringFunc(read("volley.h"), func(line string) string { return read(include.FindStringSubmatch(line)[1]) })
	return text, err
}

func run(root string, check bool) error {
	text, err := readHeader(filepath.Join(root, "cgo/include"))
	if err != nil {
		return err
	}
	h, err := parseHeader(text)
	if err != nil {
		return err
	}
	abiPath := filepath.Join(root, "cgo/testdata/abi.txt")
	recorded, err := os.ReadFile(abiPath)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	now := signatures(h)
	if err := allowed(string(recorded), now); err != nil {
		return err
	}
	all := append(outputs(h), output{"cgo/testdata/abi.txt", []byte(now)})
	for _, o := range all {
		path := filepath.Join(root, o.path)
		if check {
			have, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if string(have) != string(o.bytes) {
				return fmt.Errorf("%s is not what the header says: run go run ./internal/capigen", o.path)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, o.bytes, 0o644); err != nil {
			return err
		}
	}
	return nil
}
