package cuda

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"strings"

	"github.com/volley-go/volley/kernels/gpu"
)

//go:generate go run ../../internal/ptxgen

//go:embed all:ptx
var images embed.FS

// PTXFile is the name of a module's PTX in the folder ptx: compressed, since PTX
// is wordy.
func PTXFile(module string) string { return module + ".ptx.gz" }

// SourceLine is the first line of the PTX made of a module's text, by which it
// is known for which text it is.
func SourceLine(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "// source sha256:" + hex.EncodeToString(sum[:]) + "\n"
}

// Text is a module in CUDA C, complete.
func Text(module string) (string, error) { return gpu.Assemble(prelude, module) }

// PTX is the embedded PTX of a module; nil where there is none, or only that of
// another text: such a module is compiled at run time by NVRTC. A test holds
// that every module has its PTX.
func PTX(module, text string) ([]byte, error) {
	packed, err := images.ReadFile("ptx/" + PTXFile(module))
	if err != nil {
		return nil, nil // not there: an embedded file cannot fail in another way
	}
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	ptx, err := io.ReadAll(unpack)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(string(ptx), SourceLine(text)) {
		return nil, nil
	}
	return ptx, nil
}
