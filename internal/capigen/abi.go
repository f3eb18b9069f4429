package main

import (
	"fmt"
	"strings"
)

// signatures lists everything that a program compiled against the header relies on, a line each.
func signatures(h *header) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %s.%s\n", h.major, h.minor)
	for _, c := range h.constants {
		fmt.Fprintf(&b, "constant %s = %s\n", c.name, c.value)
	}
	for _, s := range h.structs {
		var fields []string
		for _, f := range s.fields {
			fields = append(fields, declaration(f))
		}
		fmt.Fprintf(&b, "struct %s { %s }\n", s.name, strings.Join(fields, "; "))
	}
	for _, f := range h.functions {
		var types []string
		for _, p := range f.parameters {
			types = append(types, p.typ)
		}
		fmt.Fprintf(&b, "function %s %s(%s)\n", f.result, f.name, strings.Join(types, ", "))
	}
	return b.String()
}

// allowed is an error where signatures changed and the version did not change as it must.
func allowed(recorded, now string) error {
	if recorded == "" || recorded == now {
		return nil
	}
	before, after := strings.Split(strings.TrimSpace(recorded), "\n"), strings.Split(strings.TrimSpace(now), "\n")
	beforeMajor, _, _ := strings.Cut(before[0], ".")
	afterMajor, _, _ := strings.Cut(after[0], ".")
	if beforeMajor != afterMajor {
		return nil
	}
	have := make(map[string]bool)
	for _, line := range after[1:] {
		have[line] = true
	}
	for _, line := range before[1:] {
		if !have[line] && !grownStruct(line, have) {
			return fmt.Errorf("gone or different, and VOLLEY_ABI_MAJOR is the same: %s", line)
		}
	}
	if before[0] == after[0] {
		return fmt.Errorf("there is something new, and VOLLEY_ABI_MINOR is the same: the header has %d signatures, cgo/testdata/abi.txt %d",
			len(after)-1, len(before)-1)
	}
	return nil
}

// grownStruct reports whether a structure that states its size has only got more fields at its end.
func grownStruct(line string, have map[string]bool) bool {
	start := strings.TrimSuffix(line, " }")
	if !strings.HasPrefix(line, "struct ") || !strings.Contains(line, "{ uint64_t size;") {
		return false
	}
	for other := range have {
		if strings.HasPrefix(other, start+";") {
			return true
		}
	}
	return false
}
