//go:build !cpuonly && (darwin || (linux && !android)) && (amd64 || arm64)

package dl

import "github.com/ebitengine/purego"

// load resolves all of the library's own symbols at once, so that one with a
// missing dependency fails here and not in a call, and keeps them to itself.
func load(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func find(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }

func unload(handle uintptr) error { return purego.Dlclose(handle) }
