package nccl

import (
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/dl"
)

// LibraryVariable names the library to load in place of the system's.
const LibraryVariable = "VOLLEY_NCCL_LIBRARY"

// blockingVariable is NCCL's own; set to 1 it makes all communicators wait.
const blockingVariable = "NCCL_COMM_BLOCKING"

// Library is a loaded NCCL. It is never unloaded, since it has threads of its own.
type Library struct{ driver *driver }

var loaded struct {
	sync.Mutex
	libraries map[string]*Library
}

// Load loads the library that VOLLEY_NCCL_LIBRARY names, else the system's libnccl.so.2.
// Where there is none that serves, the error is an ErrUnavailable that says why.
func Load() (*Library, error) { return load(runtime.GOOS, os.Getenv) }

func load(goos string, getenv func(string) string) (*Library, error) {
	unavailable := func(format string, args ...any) error {
		return device.Errorf(device.ErrUnavailable, "cuda", "load NCCL", format, args...)
	}
	names := []string{"libnccl.so.2"}
	if own := getenv(LibraryVariable); own != "" {
		names = []string{own}
	} else if goos != "linux" {
		return nil, unavailable("there is no NCCL for %s", goos)
	}
	if getenv(blockingVariable) == "1" {
		return nil, unavailable("%s=1 makes the library wait for ranks that may be gone: unset it", blockingVariable)
	}
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.libraries[names[0]]; l != nil {
		return l, nil
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, unavailable("no NCCL here: %v", err)
	}
	d, err := bind(lib)
	if err != nil {
		return nil, unavailable("%s: %v", lib.Path(), err)
	}
	if loaded.libraries == nil {
		loaded.libraries = map[string]*Library{}
	}
	l := &Library{d}
	loaded.libraries[names[0]] = l
	return l, nil
}

// String is the version and the path.
func (l *Library) String() string {
	return fmt.Sprintf("NCCL %s (%s)", versionText(l.driver.version), l.driver.library)
}

// Version is 22703 for NCCL 2.27.3. All ranks of a communicator must have the same.
func (l *Library) Version() int { return l.driver.version }

// NewID makes the ID of a communicator, on one of its ranks.
func (l *Library) NewID() (ID, error) {
	id := new(ID)
	err := l.driver.failure("cuda", "ncclGetUniqueId", l.driver.id(id))
	return *id, err
}
