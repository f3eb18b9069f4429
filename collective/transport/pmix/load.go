package pmix

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/volley-go/volley/internal/dl"
)

// LibraryVariable names the library to load in place of the system's.
const LibraryVariable = "VOLLEY_PMIX_LIBRARY"

// The variables by which a server tells its clients where it is; the first that is there
// says that there is one.
var variables = []string{"PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_URI5", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
	"PMIX_SERVER_URI2", "PMIX_SERVER_URI", "PMIX_VERSION"}

// seen names the variables that are set, for errors.
func seen(getenv func(string) string) string {
	var set []string
	for _, name := range variables {
		if v := getenv(name); v != "" {
			set = append(set, name+"="+v)
		}
	}
	return strings.Join(set, ", ")
}

// serverOf tells servers of a job from each other, by where they are.
func serverOf(getenv func(string) string) string {
	for _, name := range variables {
		if v := getenv(name); v != "" && strings.HasPrefix(name, "PMIX_SERVER_URI") {
			return v
		}
	}
	return ""
}

// names are the libraries of a system.
func names(goos string) []string {
	switch goos {
	case "linux":
		return []string{"libpmix.so.2", "libpmix.so"}
	case "darwin":
		return []string{"libpmix.2.dylib", "libpmix.dylib"}
	}
	return nil
}

var (
	loading sync.Mutex
	loaded  = map[string]*driver{} // by name; a library is never unloaded, since it may have threads
)

// load binds the first library that serves.
func load(getenv func(string) string) (*driver, error) {
	candidates := names(runtime.GOOS)
	if own := getenv(LibraryVariable); own != "" {
		candidates = []string{own}
	}
	loading.Lock()
	defer loading.Unlock()
	none := &dl.Missing{}
	for _, name := range candidates {
		if d := loaded[name]; d != nil {
			return d, nil
		}
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
			loaded[name] = d
			return d, nil
		}
		none.Tried = append(none.Tried, dl.Try{Path: name, Reason: err.Error()})
	}
	if len(candidates) == 0 {
		return nil, fmt.Errorf("no PMIx library's name is known on %s", runtime.GOOS)
	}
	return nil, fmt.Errorf("no PMIx library (%s names one): %w", LibraryVariable, none)
}
