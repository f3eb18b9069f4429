package opencl

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cache keeps built programs on disk, a file each. What cannot be read or
// written is built again: the cache changes how long a build takes and nothing
// else.
type cache struct {
	folder string // "" keeps nothing
	limit  int64  // bytes of all files; the longest unused go first
}

// cacheLimit is room for a few drivers' versions of all kernels.
const cacheLimit = 256 << 20

// cacheMark begins every file; what is kept in another way gets another mark.
const cacheMark = "volley OpenCL program 1\n"

// openCache is the cache in the folder that VOLLEY_CACHE names, else in the
// user's folder for such. VOLLEY_CACHE=off keeps nothing.
func openCache() *cache {
	folder := os.Getenv("VOLLEY_CACHE")
	switch folder {
	case "off":
		return &cache{}
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return &cache{}
		}
		folder = filepath.Join(user, "volley")
	}
	return &cache{folder: filepath.Join(folder, "opencl"), limit: cacheLimit}
}

// cacheKey is a name for what the parts, all of them, lead to.
func cacheKey(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *cache) path(key string) string { return filepath.Join(c.folder, key+".clbin") }

// read gives what was written under a key, or nil. A file that is not whole is
// removed.
func (c *cache) read(key string) []byte {
	if c.folder == "" {
		return nil
	}
	content, err := os.ReadFile(c.path(key))
	if err != nil {
		return nil
	}
	rest, ok := bytes.CutPrefix(content, []byte(cacheMark))
	if ok && len(rest) > sha256.Size {
		image := rest[sha256.Size:]
		if sha256.Sum256(image) == [sha256.Size]byte(rest) {
			now := time.Now()
			_ = os.Chtimes(c.path(key), now, now) // a cache that is read only is still one
			return image
		}
	}
	c.remove(key)
	return nil
}

// remove takes out what turned out not to work.
func (c *cache) remove(key string) {
	if c.folder != "" {
		_ = os.Remove(c.path(key)) // another process may have been first
	}
}

// write keeps image under a key: whole or not at all, also when several
// processes do so at once.
func (c *cache) write(key string, image []byte) error {
	if c.folder == "" || int64(len(image)) > c.limit/4 {
		return nil
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(image)
	f, err := os.CreateTemp(c.folder, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(slices.Concat([]byte(cacheMark), sum[:], image))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return c.shrink()
}

// shrink removes the files that were not used for longest until the rest is
// within the limit, and what writers that were interrupted have left.
func (c *cache) shrink() error {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if filepath.Ext(e.Name()) != ".clbin" {
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(c.folder, e.Name()))
			}
			continue
		}
		files = append(files, info)
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, info := range files {
		if total <= c.limit {
			break
		}
		_ = os.Remove(filepath.Join(c.folder, info.Name()))
		total -= info.Size()
	}
	return nil
}
