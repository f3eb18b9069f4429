package storage

import (
	"container/list"
	"os"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

const (
	// keptFooters is how many bytes of footers, as they lie in files, are kept. Decoded they
	// take more.
	keptFooters = 8 << 20
	// settled is how old a file's last change must be when its footer is read for it to be
	// kept: a change after that has another time on every file system.
	settled = 3 * time.Second
)

// footers keeps what was decoded of the footers of files, those used last. A footer is that
// of a file as it was: another size, another time of the last change, or another file in
// its place, and it is read anew.
type footers struct {
	mu    sync.Mutex
	most  int64 // bytes
	bytes int64
	of    map[string]*list.Element // of *footer, by path
	last  *list.List               // those used last at the front
}

// footer is what is known of a file, which any number of goroutines may read.
type footer struct {
	path   string
	info   os.FileInfo
	bytes  int64
	meta   *metadata.FileMetaData
	schema *arrow.Schema
	leaves [][]int
	sum    uint32
}

// readFooters are those of this process: a loader for each epoch, or a query for each
// question, then decodes the footers of a folder once.
var readFooters = newFooters(keptFooters)

func newFooters(most int64) *footers {
	return &footers{most: most, of: map[string]*list.Element{}, last: list.New()}
}

// get is the footer of a file that is as info says, or nil.
func (f *footers) get(path string, info os.FileInfo) *footer {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.of[path]
	if e == nil {
		return nil
	}
	one := e.Value.(*footer)
	if one.info.Size() != info.Size() || !one.info.ModTime().Equal(info.ModTime()) || !os.SameFile(one.info, info) {
		f.drop(e)
		return nil
	}
	f.last.MoveToFront(e)
	return one
}

// put keeps a footer that was read after info was asked for.
func (f *footers) put(one *footer) {
	if time.Since(one.info.ModTime()) < settled || one.bytes > f.most {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.of[one.path]; e != nil {
		f.drop(e)
	}
	f.of[one.path] = f.last.PushFront(one)
	for f.bytes += one.bytes; f.bytes > f.most; {
		f.drop(f.last.Back())
	}
}

// drop forgets a footer. The lock is held.
func (f *footers) drop(e *list.Element) {
	one := f.last.Remove(e).(*footer)
	delete(f.of, one.path)
	f.bytes -= one.bytes
}
