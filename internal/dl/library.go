package dl

import (
	"fmt"
	"sync"
)

// Library is a loaded library. Its methods may be called from any goroutine.
type Library struct {
	path   string
	handle uintptr
	close  sync.Once
}

// Open loads the first of the candidates that can be loaded: names for the
// system's own search, or absolute paths. The error is a *Missing.
func Open(candidates ...string) (*Library, error) {
	missing := &Missing{}
	for _, path := range candidates {
		handle, err := load(path)
		if err == nil {
			return &Library{path: path, handle: handle}, nil
		}
		missing.Tried = append(missing.Tried, Try{path, reason(path, err)})
	}
	return nil, missing
}

// Path is the candidate that was loaded.
func (l *Library) Path() string { return l.path }

// Symbol is the address of a function or variable. The error names the symbol
// and the library.
func (l *Library) Symbol(name string) (uintptr, error) {
	address, err := find(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("%s has no %s: %s", l.path, name, reason(l.path, err))
	}
	return address, nil
}

// Optional is Symbol with 0 for what the library has not got.
func (l *Library) Optional(name string) uintptr {
	address, err := find(l.handle, name)
	if err != nil {
		return 0
	}
	return address
}

// Close unloads the library; addresses of it must not be called after. Drivers
// that start threads of their own are best left loaded.
func (l *Library) Close() error {
	var err error
	l.close.Do(func() { err = unload(l.handle) })
	return err
}
