//go:build linux || darwin || freebsd || netbsd || openbsd

package storage

import (
	"os"
	"syscall"
)

// mapFile maps a file of some bytes for reading, and says how that ends.
func mapFile(f *os.File, size int64) ([]byte, func(), error) {
	bytes, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return bytes, func() { _ = syscall.Munmap(bytes) }, nil
}
