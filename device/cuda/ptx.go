package cuda

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Parts of PTX, as the chapters "Kernel and Function Directives" and "Kernel
// Function Parameters" of the PTX ISA have them.
var (
	ptxComment = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	ptxEntry   = regexp.MustCompile(`\.entry\s+([A-Za-z0-9_$%]+)\s*(\(([^)]*)\))?`)
	ptxParam   = regexp.MustCompile(`^\.param\s+(?:.*\s)?\.([busf]|bf)(8|16|32|64)(x2)?\s(?:.*\s)?[A-Za-z0-9_$%]+\s*(?:\[\s*(\d+)\s*\])?$`)
)

// isText reports whether an image is PTX and not a binary of the assembler.
func isText(image []byte) bool {
	return !bytes.HasPrefix(image, []byte("\x7fELF")) && !bytes.HasPrefix(image, []byte{0x50, 0xED, 0x55, 0xBA}) &&
		bytes.Contains(image, []byte(".version"))
}

// entries reads the sizes of the parameters of every kernel of a PTX text.
func entries(ptx []byte) (map[string][]int64, error) {
	text := ptxComment.ReplaceAll(ptx, []byte(" "))
	found := make(map[string][]int64)
	for _, m := range ptxEntry.FindAllSubmatch(text, -1) {
		name := string(m[1])
		var sizes []int64
		if list := strings.TrimSpace(string(m[3])); list != "" {
			for i, p := range strings.Split(list, ",") {
				size, err := ptxSize(strings.Join(strings.Fields(p), " "))
				if err != nil {
					return nil, fmt.Errorf("parameter %d of %s: %w", i, name, err)
				}
				sizes = append(sizes, size)
			}
		}
		found[name] = sizes
	}
	return found, nil
}

// ptxSize is the size in bytes of a declared parameter.
func ptxSize(declaration string) (int64, error) {
	m := ptxParam.FindStringSubmatch(declaration)
	if m == nil {
		return 0, fmt.Errorf("%q is no declaration of PTX that is known", declaration)
	}
	bits, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return 0, err
	}
	size := bits / 8
	if m[3] != "" {
		size *= 2
	}
	if m[4] != "" {
		n, err := strconv.ParseInt(m[4], 10, 32)
		if err != nil {
			return 0, err
		}
		size *= n
	}
	return size, nil
}
