package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// File is one source file of the module.
type File struct {
	Path      string    // relative to the module's root, with forward slashes
	Source    []byte    // as read
	Syntax    *ast.File // nil unless a Go file
	Test      bool      // a Go file whose name ends in _test.go
	Generated bool      // carries the mark of generated code
	Nested    bool      // belongs to a module of its own below the root, such as a generator's
}

// Package returns the path of the file's folder relative to the module's root; "." is the root package.
func (f *File) Package() string { return path.Dir(f.Path) }

// Lines returns the number of lines of the file.
func (f *File) Lines() int {
	n := bytes.Count(f.Source, []byte("\n"))
	if len(f.Source) > 0 && f.Source[len(f.Source)-1] != '\n' {
		n++
	}
	return n
}

// Tree is every source file of the module, in lexical order of path.
type Tree struct {
	Fset  *token.FileSet
	Files []*File
	fsys  fs.FS
}

// exists reports whether there is a file or folder of that path, whether it is source or not.
func (t *Tree) exists(name string) bool {
	_, err := fs.Stat(t.fsys, name)
	return err == nil
}

// File returns the file at the given path, or nil.
func (t *Tree) File(name string) *File {
	for _, f := range t.Files {
		if f.Path == name {
			return f
		}
	}
	return nil
}

// line returns the line of a position in one of the tree's Go files.
func (t *Tree) line(p token.Pos) int { return t.Fset.Position(p).Line }

// Load reads every source file below the root of fsys and parses the Go files, whatever their build constraints say. Folders that hold no
// source are left out: testdata, vendor, out, and those whose names begin with a dot (but .ci is read) or an underscore. The error names
// the first file that cannot be read or parsed.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{Fset: token.NewFileSet(), fsys: fsys}
	nested := make(map[string]bool)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipFolder(name) {
				return fs.SkipDir
			}
			if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil && name != "." {
				nested[name] = true
			}
			nested[name] = nested[name] || nested[path.Dir(name)]
			return nil
		}
		if !isSource(name) {
			return nil
		}
		f, err := t.read(fsys, name)
		if err != nil {
			return err
		}
		f.Nested = nested[path.Dir(name)]
		t.Files = append(t.Files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	return t, nil
}

func (t *Tree) read(fsys fs.FS, name string) (*File, error) {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	f := &File{Path: name, Source: src, Test: strings.HasSuffix(name, "_test.go"), Generated: hasGeneratedMark(src)}
	if path.Ext(name) == ".go" {
		f.Syntax, err = parser.ParseFile(t.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	}
	return f, err
}

func skipFolder(name string) bool {
	base := path.Base(name)
	switch base {
	case ".", ".ci":
		return false
	case "testdata", "vendor", "out", "venv", "node_modules":
		return true
	}
	return base[0] == '.' || base[0] == '_'
}

// isSource reports whether the file is one that people write or read: code in any of the module's languages, scripts, texts, module files.
func isSource(name string) bool {
	switch path.Ext(name) {
	case ".go", ".s", ".cl", ".cu", ".c", ".h", ".hpp", ".cpp", ".py", ".sh", ".md", ".mod":
		return true
	}
	return path.Base(name) == "Makefile" || name == ".ci/run"
}

// isCode reports whether the file counts as code for the limits on length: texts and module files do not.
func isCode(name string) bool {
	switch path.Ext(name) {
	case ".md", ".mod":
		return false
	}
	return true
}
