package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// expandWithin turns paths, folders and globs into the files they name: each argument's in lexical
// order. A folder has the files that [FilesOf] finds. A glob that matches nothing is an error, as a missing file is when it is opened.
// For each file it has the folder that was given: the part of its path in front of a
// pattern, or what is common to the files that were named one by one.
func expandWithin(paths []string) (all, within []string, err error) {
	given := ""
	for i, p := range paths {
		if dir := filepath.Dir(p); i == 0 {
			given = dir
		} else {
			given = common(given, dir)
		}
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err == nil && info.IsDir() {
			found, err := FilesOf(p)
			if err != nil {
				if at, ok := err.(*Error); ok && at.Path == p {
					err = &Error{Path: p, Kind: device.ErrUnavailable, Text: "is a directory, and " + at.Text, Cause: at.Cause}
				}
				return nil, nil, err
			}
			all, within = append(all, found...), append(within, slices.Repeat([]string{p}, len(found))...)
			continue
		}
		if err == nil || !strings.ContainsAny(p, "*?[") {
			all, within = append(all, p), append(within, given)
			continue
		}
		found, err := glob(p)
		if err != nil {
			return nil, nil, &Error{Path: p, Kind: device.ErrMismatch, Cause: err}
		}
		if len(found) == 0 {
			return nil, nil, &Error{Path: p, Text: "no file matches", Kind: device.ErrUnavailable, Cause: fs.ErrNotExist}
		}
		slices.Sort(found)
		all = append(all, found...)
		base := filepath.Dir(p[:strings.IndexAny(p, "*?[")] + "x")
		for range found {
			within = append(within, base)
		}
	}
	if len(all) == 0 {
		return nil, nil, &Error{Path: "storage", Kind: device.ErrMismatch, Text: "no file given"}
	}
	return all, within, nil
}

// glob is [filepath.Glob] in which an element ** stands for any number of folders, none too. Names that begin with a dot are not among
// them.
func glob(pattern string) ([]string, error) {
	head, tail, deep := strings.Cut(filepath.ToSlash(pattern), "**/")
	if !deep || head != "" && !strings.HasSuffix(head, "/") {
		return filepath.Glob(pattern)
	}
	roots := []string{"."}
	switch head {
	case "":
	case "/":
		roots[0] = head
	default:
		var err error
		if roots, err = filepath.Glob(strings.TrimSuffix(head, "/")); err != nil {
			return nil, err
		}
	}
	var all []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if path != root && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			found, err := glob(filepath.Join(literal(path), filepath.FromSlash(tail)))
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// literal is a pattern of one path.
func literal(path string) string {
	if filepath.Separator == '\\' { // where patterns have no escapes
		return path
	}
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// common is the folder that two lie in.
func common(a, b string) string {
	x, y := strings.Split(filepath.ToSlash(a), "/"), strings.Split(filepath.ToSlash(b), "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return strings.Join(x[:n], "/")
}

// input is an open file. Its ReadAt may be called from any goroutine.
type input struct {
	path string
	file *os.File
	at   io.ReaderAt // the file
	info os.FileInfo // when it was opened
	size int64
	busy atomic.Int64 // nanoseconds in reads of an until
	kept stretches    // of it in memory
}

// openInput opens a regular file for reading.
func openInput(path string) (*input, error) {
	f, err := os.Open(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // the path is said once
		}
		return nil, &Error{Path: path, Kind: device.ErrUnavailable, Cause: err}
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a directory")
	}
	if err != nil {
		f.Close()
		return nil, &Error{Path: path, Kind: device.ErrUnavailable, Cause: err}
	}
	return &input{path: path, file: f, at: f, info: info, size: info.Size()}, nil
}

// ReadAt reads as *os.File does, without the file where what is asked for was fetched.
func (in *input) ReadAt(p []byte, off int64) (int, error) {
	if in.kept.copy(p, off) {
		return len(p), nil
	}
	return in.at.ReadAt(p, off)
}

func (in *input) close() { in.file.Close() }

// readStep is how many bytes are read between two looks at the context.
const readStep = 4 << 20

// until is the input as a reader for one task: reads fail once ctx has ended.
type until struct {
	ctx context.Context
	in  *input
	pos int64
}

// ReadAt reads as *os.File does.
func (u *until) ReadAt(p []byte, off int64) (int, error) {
	begin := time.Now()
	defer func() { u.in.busy.Add(int64(time.Since(begin))) }()
	if err := canceled(u.ctx, u.in.path); err != nil {
		return 0, err
	}
	n := 0
	for len(p)-n > readStep {
		k, err := u.in.ReadAt(p[n:n+readStep], off+int64(n))
		n += k
		if err == nil {
			err = canceled(u.ctx, u.in.path)
		}
		if err != nil {
			return n, err
		}
	}
	k, err := u.in.ReadAt(p[n:], off+int64(n))
	return n + k, err
}

// Read reads from the reader's own position.
func (u *until) Read(p []byte) (int, error) {
	n, err := u.ReadAt(p, u.pos)
	u.pos += int64(n)
	return n, err
}

// Seek moves the reader's own position.
func (u *until) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case 1:
		offset += u.pos
	case 2:
		offset += u.in.size
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	u.pos = offset
	return offset, nil
}

// largestBlock is the most that one allocation may take while a file of that
// size is read: a gigabyte, or 16 times the file.
func largestBlock(size int64) int64 { return max(1<<30, min(16*size, 1<<40)) }
