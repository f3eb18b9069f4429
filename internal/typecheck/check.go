package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// listed is a package as go list has it.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	SFiles     []string
	ImportMap  map[string]string // from what a file says to the ImportPath of what it gets, where they differ
	Module     *struct {
		Main      bool
		GoVersion string
	}
}

// ours says that a package's functions are checked too, not its exported names alone.
func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// check checks the packages of the module that folder is in, and says how many they are, each with its tests a second time.
func check(folder, system, processor string) (ours int, err error) {
	packages, err := list(folder, system, processor)
	if err != nil {
		return 0, err
	}
	sizes := types.SizesFor("gc", processor)
	if sizes == nil {
		return 0, fmt.Errorf("no processor %q", processor)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	fset := token.NewFileSet()
	var wrong []error
	for _, p := range packages { // those that others import come first
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // the program of a package's tests is made by go test
		}
		files, err := parse(fset, p)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		config := types.Config{
			Importer:         importer{p, done},
			Sizes:            sizes,
			FakeImportC:      true,
			IgnoreFuncBodies: !p.ours(),
			Error: func(err error) {
				if p.ours() {
					wrong = append(wrong, err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		// An error of ours was noted above; of another's package, that those which import it can do without counts as none.
		pkg, _ := config.Check(strings.Fields(p.ImportPath)[0], fset, files, nil)
		done[p.ImportPath] = pkg
		if p.ours() {
			ours++
			wrong = append(wrong, bodies(fset, p, files)...)
		}
	}
	return ours, errors.Join(wrong...)
}

// list are the packages of the module, with their tests, and all that they import, in that order.
func list(folder, system, processor string) ([]*listed, error) {
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,Module", "./...")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, said.Bytes())
	}
	var all []*listed
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		p := new(listed)
		if err := d.Decode(p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

// parse reads the files of a package.
func parse(fset *token.FileSet, p *listed) ([]*ast.File, error) {
	files, errs := make([]*ast.File, len(p.GoFiles)), make([]error, len(p.GoFiles))
	var reading sync.WaitGroup
	for i, name := range p.GoFiles {
		reading.Go(func() {
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.Dir, name)
			}
			files[i], errs[i] = parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		})
	}
	reading.Wait()
	return files, errors.Join(errs...)
}

// bodies are errors for functions without one in a package without assembly.
func bodies(fset *token.FileSet, p *listed, files []*ast.File) (wrong []error) {
	if len(p.SFiles) > 0 {
		return nil
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); is && fn.Body == nil {
				wrong = append(wrong, fmt.Errorf("%s: %s has no body", fset.Position(fn.Pos()), fn.Name.Name))
			}
		}
	}
	return wrong
}

// importer gives a package what its files import, of what has been checked.
type importer struct {
	of   *listed
	done map[string]*types.Package
}

// Import is the package that a path stands for.
func (i importer) Import(path string) (*types.Package, error) {
	if mapped := i.of.ImportMap[path]; mapped != "" {
		path = mapped
	}
	if pkg := i.done[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("%s is not among what it imports", path)
}
