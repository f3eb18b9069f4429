package gang

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/volley-go/volley/device"
)

// folder is where the files of a generation are: its name has run and generation, and it is locked as long as the gang's start has it.
type folder struct {
	all, path string
	lock      *os.File
}

// sharedMemory is where files are memory, on Linux.
const sharedMemory = "/dev/shm"

// base is the folder of all gangs of this user.
func base(where string) string {
	if where == "" {
		where = os.TempDir()
		if info, err := os.Stat(sharedMemory); err == nil && info.IsDir() {
			where = sharedMemory
		}
	}
	return filepath.Join(where, fmt.Sprintf("volley-gang-%d", os.Getuid()))
}

// openFolder makes one, and sweeps those whose gangs have gone.
func openFolder(where, name string) (_ *folder, err error) {
	defer func() {
		if err != nil {
			err = &device.Error{Call: "gang.Start", Kind: device.ErrUnavailable, Cause: err}
		}
	}()
	all := base(where)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return nil, err
	}
	if err := own(all); err != nil {
		return nil, err
	}
	turn, err := sweeper(all)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	if err := sweep(all); err != nil {
		return nil, err
	}
	path := filepath.Join(all, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	lock, err := locked(filepath.Join(path, "lock"), false)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{all, path, lock}, nil
}

// sweeper is the lock of those who make, sweep and remove folders: else one finds what another is half through with.
func sweeper(all string) (*os.File, error) { return locked(filepath.Join(all, "lock"), true) }

// sweep removes the folders that nobody has locked.
func sweep(all string) error {
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || strings.Count(e.Name(), ".") != 1 {
			continue
		}
		path := filepath.Join(all, e.Name())
		lock, err := locked(filepath.Join(path, "lock"), false)
		if errors.Is(err, errLocked) {
			continue // its gang lives
		}
		if err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(path), lock.Close()); err != nil {
			return err
		}
	}
	return nil
}

// close removes it.
func (f *folder) close() error {
	turn, err := sweeper(f.all)
	if err == nil {
		defer func() { _ = turn.Close() }() // it was only locked
	}
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// errLocked is of a file that somebody else has locked.
var errLocked = errors.New("somebody else has locked it")
