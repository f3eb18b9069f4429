//go:build !cpuonly && (amd64 || arm64)

package dl

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// load looks in the program's own folder and in those of the system, never in
// the current folder or along PATH; beside an absolute path it looks for that
// library's own dependencies too.
func load(path string) (uintptr, error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	if filepath.IsAbs(path) {
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	handle, err := windows.LoadLibraryEx(path, 0, flags)
	return uintptr(handle), err
}

func find(handle uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), name)
}

func unload(handle uintptr) error { return windows.FreeLibrary(windows.Handle(handle)) }
