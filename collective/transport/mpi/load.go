package mpi

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/volley-go/volley/internal/dl"
)

// LibraryVariable names the library to load in place of the system's.
const LibraryVariable = "VOLLEY_MPI_LIBRARY"

// Unavailable is the error of a Join that finds no library: each that was tried, and
// why it does not serve.
type Unavailable struct{ Tried []dl.Try }

// Error lists them.
func (u *Unavailable) Error() string {
	return "no MPI library: " + (&dl.Missing{Tried: u.Tried}).Error()
}

// names are the libraries of a system, the standard ABI's first.
func names(goos string) []string {
	switch goos {
	case "linux":
		return []string{"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so"}
	case "darwin":
		return []string{"libmpi_abi.dylib", "libmpi.40.dylib", "libmpi.12.dylib", "libmpi.dylib"}
	}
	return nil
}

// load binds the first library that serves. The launcher's own kind is needed: a
// process that another kind's library starts is alone in its world.
func load(path string, getenv func(string) string) (*driver, error) {
	candidates := names(runtime.GOOS)
	if own := getenv(LibraryVariable); own != "" {
		candidates = []string{own}
	}
	if path != "" {
		candidates = []string{path}
	}
	if len(candidates) == 0 {
		return nil, &Unavailable{Tried: []dl.Try{{Path: "MPI", Reason: "no library's name is known on " + runtime.GOOS}}}
	}
	none := &Unavailable{}
	for _, name := range candidates {
		lib, err := dl.Open(name)
		if err != nil {
			var missing *dl.Missing
			if errors.As(err, &missing) {
				none.Tried = append(none.Tried, missing.Tried...)
			}
			continue
		}
		d, err := bind(lib)
		if err == nil {
			err = suits(version(lib), getenv)
		}
		if err == nil {
			return d, nil
		}
		// A library that was loaded stays: what it has begun at its loading may run on.
		none.Tried = append(none.Tried, dl.Try{Path: name, Reason: err.Error()})
	}
	return nil, none
}

// suits compares a library's version with the launcher's variables.
func suits(version string, getenv func(string) string) error {
	line, _, _ := strings.Cut(version, "\n")
	isOpen := strings.HasPrefix(version, "Open MPI")
	switch {
	case getenv("OMPI_COMM_WORLD_SIZE") != "" && !isOpen:
		return fmt.Errorf("it is %s, and Open MPI's launcher started this process", line)
	case getenv("OMPI_COMM_WORLD_SIZE") == "" && isOpen && (getenv("PMI_FD") != "" || getenv("PMI_PORT") != ""):
		return fmt.Errorf("it is %s, and MPICH's launcher started this process", line)
	}
	return nil
}
