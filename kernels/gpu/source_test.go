package gpu

import (
	"strings"
	"testing"
)

func TestAssemble(t *testing.T) {
	text, err := Assemble("#define PRE\n", "prefix.u32")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#define PRE\n", "#define T u32\n", "#define T_BITS 32\n", "#define VARIANT u32\n", "K(prefix)", "#line 1 \"lookback.h\"\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(text, want))
		}
	}
	if strings.Contains(text, "#include") {
		t.Error("an include is left")
	}
	for module, why := range map[string]string{"none": "no kernel module", "prefix": "variants", "prefix.i128": "variants", "bits.u8": "variants"} {
		if _, err := Assemble("", module); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", module, err)
		}
	}
}

// Every module has all its headers, and a file name is a stem of one module.
func TestModules(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Modules() {
		if seen[m] {
			t.Errorf("%s is there twice", m)
		}
		seen[m] = true
		if _, err := Assemble("", m); err != nil {
			t.Error(err)
		}
	}
	if !seen["prefix.u64"] || !seen["bits"] {
		t.Error(Modules())
	}
}
