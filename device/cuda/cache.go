package cuda

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cache keeps compiled code on disk, in the folder volley/cuda of the user's
// cache, or in the folder cuda of VOLLEY_CACHE, which may be "off". It is never a
// failure: where it cannot be read or written, code is compiled.
type cache struct {
	folder string
	limit  int64 // bytes of all files; the ones used longest ago go first
}

const cacheLimit = 256 << 20

func openCache() cache {
	switch own := os.Getenv("VOLLEY_CACHE"); own {
	case "off":
		return cache{}
	case "":
	default:
		return cache{filepath.Join(own, "cuda"), cacheLimit}
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return cache{}
	}
	return cache{filepath.Join(base, "volley", "cuda"), cacheLimit}
}

// cacheKey tells apart all that a result depends on.
func cacheKey(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c cache) path(key string) string { return filepath.Join(c.folder, key+".bin") }

// A file is the SHA-256 of what follows, the length of the image, the image, and
// the PTX unless that is the image.
const cacheHead = sha256.Size + 8

// get reads what put wrote. A file that is damaged is as good as none.
func (c cache) get(key string) (image, ptx []byte, ok bool) {
	if c.folder == "" {
		return nil, nil, false
	}
	b, err := os.ReadFile(c.path(key))
	if err != nil || len(b) < cacheHead {
		return nil, nil, false
	}
	sum := sha256.Sum256(b[sha256.Size:])
	n := binary.LittleEndian.Uint64(b[sha256.Size:])
	body := b[cacheHead:]
	if !bytes.Equal(sum[:], b[:sha256.Size]) || n > uint64(len(body)) {
		return nil, nil, false
	}
	image, ptx = body[:n:n], body[n:]
	if len(ptx) == 0 {
		ptx = image
	}
	now := time.Now()
	_ = os.Chtimes(c.path(key), now, now) // when it was used; a folder that cannot be written is not trimmed either
	return image, ptx, true
}

// put writes a file under another name first, so that nobody reads half of it.
func (c cache) put(key string, image, ptx []byte) {
	if c.folder == "" || os.MkdirAll(c.folder, 0o755) != nil {
		return
	}
	body := binary.LittleEndian.AppendUint64(nil, uint64(len(image)))
	body = append(body, image...)
	if !bytes.Equal(image, ptx) {
		body = append(body, ptx...)
	}
	sum := sha256.Sum256(body)
	f, err := os.CreateTemp(c.folder, key+".*")
	if err != nil {
		return
	}
	_, err = f.Write(append(sum[:], body...))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what cannot be written is compiled again
		return
	}
	c.trim()
}

// trim removes the files that were used longest ago until the rest is no more
// than the limit.
func (c cache) trim() {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return
	}
	var files []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= c.limit {
			return
		}
		_ = os.Remove(filepath.Join(c.folder, f.Name())) // another program may have done it
		total -= f.Size()
	}
}
