//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package storage

import (
	"io"
	"os"
)

// mapFile reads a file of some bytes whole, where it cannot be mapped.
func mapFile(f *os.File, size int64) ([]byte, func(), error) {
	bytes := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, size), bytes)
	return bytes, func() {}, err
}
