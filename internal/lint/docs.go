package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// checkDocs finds exported identifiers without a doc comment, doc comments that do not begin with the name they document, and packages
// without a package comment. The doc of a group of constants or variables counts for its members; fields of structs need none.
func checkDocs(t *Tree) []Finding {
	var found []Finding
	packages := make(map[string]*File)
	documented := make(map[string]bool)
	for _, f := range t.Files {
		if f.Syntax == nil || f.Test {
			continue
		}
		if first, ok := packages[f.Package()]; !ok || first.Path > f.Path {
			packages[f.Package()] = f
		}
		if !isEmpty(f.Syntax.Doc) {
			documented[f.Package()] = true
		}
		if f.Syntax.Name.Name != "main" {
			found = append(found, t.undocumented(f)...)
		}
	}
	for pkg, f := range packages {
		if !documented[pkg] {
			found = append(found, Finding{f.Path, t.line(f.Syntax.Package), fmt.Sprintf("package %s has no package comment", pkg)})
		}
	}
	return found
}

func (t *Tree) undocumented(f *File) []Finding {
	var found []Finding
	for _, decl := range f.Syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			recv := receiver(d)
			if d.Name.IsExported() && (d.Recv == nil || token.IsExported(recv)) {
				found = append(found, t.docFault(f, d.Name, "function", d.Doc)...)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				found = append(found, t.undocumentedSpec(f, d, spec)...)
			}
		}
	}
	return found
}

func (t *Tree) undocumentedSpec(f *File, d *ast.GenDecl, spec ast.Spec) []Finding {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		doc := s.Doc
		if isEmpty(doc) && !d.Lparen.IsValid() {
			doc = d.Doc
		}
		found := t.docFault(f, s.Name, "type", doc)
		if face, ok := s.Type.(*ast.InterfaceType); ok {
			found = append(found, t.undocumentedMethods(f, face)...)
		}
		return found
	case *ast.ValueSpec:
		if !isEmpty(s.Doc) || !isEmpty(s.Comment) || !isEmpty(d.Doc) {
			return nil
		}
		for _, name := range s.Names {
			if name.IsExported() {
				return []Finding{{f.Path, t.line(name.Pos()), fmt.Sprintf("exported %s has no comment, and neither has its group", name.Name)}}
			}
		}
	}
	return nil
}

// undocumentedMethods checks the methods of an exported interface: they are the contract of whoever implements it.
func (t *Tree) undocumentedMethods(f *File, face *ast.InterfaceType) []Finding {
	var found []Finding
	for _, m := range face.Methods.List {
		for _, name := range m.Names {
			if name.IsExported() && isEmpty(m.Doc) && isEmpty(m.Comment) {
				found = append(found, Finding{f.Path, t.line(name.Pos()), fmt.Sprintf("interface method %s has no comment", name.Name)})
			}
		}
	}
	return found
}

func (t *Tree) docFault(f *File, name *ast.Ident, kind string, doc *ast.CommentGroup) []Finding {
	if isEmpty(doc) {
		return []Finding{{f.Path, t.line(name.Pos()), fmt.Sprintf("exported %s %s has no doc comment", kind, name.Name)}}
	}
	if !beginsWith(doc.Text(), name.Name) {
		return []Finding{{f.Path, t.line(doc.Pos()), fmt.Sprintf("the doc comment of %s %s does not begin with its name", kind, name.Name)}}
	}
	return nil
}

// beginsWith reports whether the first word of a comment, after an article, is the name.
func beginsWith(text, name string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n,.:;()'’[]", r) })
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") && words[0] != name {
		words = words[1:]
	}
	return len(words) > 0 && words[0] == name
}

// isEmpty reports whether a comment says nothing to a reader: directives such as //go:noescape do not count.
func isEmpty(c *ast.CommentGroup) bool { return c == nil || strings.TrimSpace(c.Text()) == "" }
