package gpu

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed src
var files embed.FS

const variantsLine = "// variants:"

// Modules lists the names of all modules, in order: "prefix.u32", "bits".
func Modules() []string {
	entries, err := files.ReadDir("src")
	if err != nil {
		return nil // the folder is embedded
	}
	var all []string
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".cl")
		if !ok {
			continue
		}
		text, _ := files.ReadFile(path.Join("src", e.Name()))
		variants := variantsOf(string(text))
		if len(variants) == 0 {
			all = append(all, stem)
		}
		for _, v := range variants {
			all = append(all, stem+"."+v)
		}
	}
	return all
}

func variantsOf(text string) []string {
	first, _, _ := strings.Cut(text, "\n")
	list, ok := strings.CutPrefix(first, variantsLine)
	if !ok {
		return nil
	}
	return strings.Fields(list)
}

// scalarTypes are the variants that define T or U, with the traits of T.
var scalarTypes = map[string]struct {
	float, signed bool
	bits          int
}{
	"i8": {false, true, 8}, "i16": {false, true, 16}, "i32": {false, true, 32}, "i64": {false, true, 64},
	"u8": {false, false, 8}, "u16": {false, false, 16}, "u32": {false, false, 32}, "u64": {false, false, 64},
	"f32": {true, true, 32}, "f64": {true, true, 64},
}

// Assemble gives the complete text of a module: the prelude of a dialect, the
// variant's macros, and the file with its includes in place. Errors of a
// compiler name the lines of the files that the text came from.
func Assemble(prelude, module string) (string, error) {
	stem, variant, _ := strings.Cut(module, ".")
	text, err := files.ReadFile("src/" + stem + ".cl")
	if err != nil {
		return "", fmt.Errorf("no kernel module %q", module)
	}
	if known := variantsOf(string(text)); variant == "" && len(known) > 0 || variant != "" && !slices.Contains(known, variant) {
		return "", fmt.Errorf("kernel module %q: the variants of %s.cl are %v", module, stem, known)
	}
	return join(prelude, variantMacros(variant), stem+".cl", string(text))
}

// Wrap gives the complete text of a kernel that is not among the modules: one
// made for an expression, or a user's.
func Wrap(prelude, name, text string) (string, error) { return join(prelude, "", name, text) }

func join(prelude, macros, name, text string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "#line 1 \"prelude.h\"\n%s%s", prelude, macros)
	seen := map[string]bool{}
	if err := include(&b, seen, "dialect.h", ""); err != nil {
		return "", err
	}
	if err := splice(&b, seen, name, text); err != nil {
		return "", err
	}
	return b.String(), nil
}

// include writes a header of src, once.
func include(b *strings.Builder, seen map[string]bool, name, from string) error {
	if seen[name] {
		return nil
	}
	seen[name] = true
	text, err := files.ReadFile("src/" + name)
	if err != nil {
		return fmt.Errorf("%s: no header %q", from, name)
	}
	return splice(b, seen, name, string(text))
}

// splice writes a text with its includes in place of the lines that name them.
func splice(b *strings.Builder, seen map[string]bool, name, text string) error {
	fmt.Fprintf(b, "#line 1 %q\n", name)
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		header, ok := strings.CutPrefix(line, `#include "`)
		if !ok {
			b.WriteString(line)
			b.WriteByte('\n')
			continue
		}
		if err := include(b, seen, strings.TrimSuffix(strings.TrimSpace(header), `"`), name); err != nil {
			return err
		}
		fmt.Fprintf(b, "#line %d %q\n", i+2, name)
	}
	return nil
}

// variantMacros are the macros that a variant defines.
func variantMacros(variant string) string {
	if variant == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#define VARIANT %s\n#define V_%s 1\n", variant, variant)
	names := strings.Split(variant, "_")
	for i, macro := range []string{"T", "U"} {
		if i >= len(names) {
			break
		}
		t, ok := scalarTypes[names[i]]
		if !ok {
			break
		}
		fmt.Fprintf(&b, "#define %s %s\n#define %s_FLOAT %d\n#define %s_SIGNED %d\n#define %s_BITS %d\n#define %s_%s 1\n",
			macro, names[i], macro, number(t.float), macro, number(t.signed), macro, t.bits, macro, names[i])
	}
	return b.String()
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
