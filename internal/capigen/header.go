package main

import (
	"fmt"
	"regexp"
	"strings"
)

// header is what the C header declares.
type header struct {
	major, minor string
	handles      []string   // names of opaque types
	constants    []constant // members of the enumerations
	structs      []structure
	functions    []function
}

type constant struct{ name, value string }

type structure struct {
	name   string
	fields []parameter
}

type function struct {
	result, name string
	parameters   []parameter
	doc          string
}

// parameter is a parameter of a function or a field of a structure. Of a pointer to a function the type is all but the name.
type parameter struct{ typ, name string }

var (
	comment   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	version   = regexp.MustCompile(`(?m)^#define VOLLEY_ABI_(MAJOR|MINOR) (\d+)$`)
	enum      = regexp.MustCompile(`(?s)enum \{(.*?)\};`)
	member    = regexp.MustCompile(`(VOLLEY_\w+) = (-?\d+)`)
	opaque    = regexp.MustCompile(`typedef struct (\w+) (\w+);`)
	structs   = regexp.MustCompile(`(?s)typedef struct (\w+) \{(.*?)\} (\w+);`)
	prototype = regexp.MustCompile(`(?s)VOLLEY_API\s+([\w\s*]*?[\s*])(volley_\w+)\((.*?)\);`)
	pointer   = regexp.MustCompile(`^(.*)\(\*(\w+)\)\s*(\(.*\))$`)
	named     = regexp.MustCompile(`(?s)^(.*[\s*])(\w+)$`)
	spaces    = regexp.MustCompile(`\s+`)
)

// parseHeader reads the header, which keeps to one plain style of declarations; what it does not understand is an error.
func parseHeader(text string) (*header, error) {
	h := &header{}
	for _, m := range version.FindAllStringSubmatch(text, -1) {
		if m[1] == "MAJOR" {
			h.major = m[2]
		} else {
			h.minor = m[2]
		}
	}
	if h.major == "" || h.minor == "" {
		return nil, fmt.Errorf("the header has no VOLLEY_ABI_MAJOR and VOLLEY_ABI_MINOR")
	}
	docs := documentation(text)
	code := comment.ReplaceAllString(text, "")
	for _, m := range enum.FindAllStringSubmatch(code, -1) {
		for _, c := range member.FindAllStringSubmatch(m[1], -1) {
			h.constants = append(h.constants, constant{c[1], c[2]})
		}
	}
	for _, m := range opaque.FindAllStringSubmatch(code, -1) {
		h.handles = append(h.handles, m[2])
	}
	for _, m := range structs.FindAllStringSubmatch(code, -1) {
		s := structure{name: m[3]}
		for field := range strings.SplitSeq(m[2], ";") {
			if field = strings.TrimSpace(field); field != "" {
				p, err := parseParameter(field)
				if err != nil {
					return nil, err
				}
				s.fields = append(s.fields, p)
			}
		}
		h.structs = append(h.structs, s)
	}
	for _, m := range prototype.FindAllStringSubmatch(code, -1) {
		f := function{result: plain(m[1]), name: m[2], doc: docs[m[2]]}
		for _, part := range splitParameters(m[3]) {
			p, err := parseParameter(part)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			f.parameters = append(f.parameters, p)
		}
		h.functions = append(h.functions, f)
	}
	if n := strings.Count(code, "VOLLEY_API ") - strings.Count(code, "#define VOLLEY_API "); n != len(h.functions) {
		return nil, fmt.Errorf("%d functions are declared and %d understood", n, len(h.functions))
	}
	return h, nil
}

// documentation is the comment that stands right before each function.
func documentation(text string) map[string]string {
	docs := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?s)/\*([^/]*?)\*/\nVOLLEY_API [^;]*?(volley_\w+)\(`).FindAllStringSubmatch(text, -1) {
		doc := regexp.MustCompile(`(?m)^ \* ?`).ReplaceAllString(m[1], "")
		docs[m[2]] = plain(doc)
	}
	return docs
}

// splitParameters cuts at the commas outside of parentheses. (void) is none.
func splitParameters(list string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, list[from:i])
			from = i + 1
		}
	}
	parts = append(parts, list[from:])
	if len(parts) == 1 && plain(parts[0]) == "void" {
		return nil
	}
	return parts
}

func parseParameter(text string) (parameter, error) {
	text = plain(text)
	if m := pointer.FindStringSubmatch(text); m != nil {
		return parameter{typ: plain(m[1]) + " (*)" + m[3], name: m[2]}, nil
	}
	if m := named.FindStringSubmatch(text); m != nil {
		return parameter{typ: plain(m[1]), name: m[2]}, nil
	}
	return parameter{}, fmt.Errorf("%q is no parameter with a name", text)
}

// plain is a text with single spaces and none at its ends.
func plain(text string) string { return strings.TrimSpace(spaces.ReplaceAllString(text, " ")) }

// handle is the opaque type that a parameter points at, and how many stars it has; "" for others.
func (h *header) handle(p parameter) (name string, stars int) {
	bare := strings.ReplaceAll(strings.ReplaceAll(p.typ, "const", ""), " ", "")
	stars = strings.Count(bare, "*")
	bare = strings.ReplaceAll(bare, "*", "")
	for _, n := range h.handles {
		if n == bare {
			return n, stars
		}
	}
	return "", stars
}

// isOut reports whether the function hands something out through the parameter.
func (p parameter) isOut() bool { return p.name == "out" || strings.HasPrefix(p.name, "out_") }
