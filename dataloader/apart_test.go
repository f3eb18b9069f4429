package dataloader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// events are what happens in a loader's goroutines. A wait for one that does not come is an
// error after a minute, not a verdict about time.
type events struct {
	mu  sync.Mutex
	all map[string]chan struct{}
}

func (e *events) of(name string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string]chan struct{}{}
	}
	if e.all[name] == nil {
		e.all[name] = make(chan struct{})
	}
	return e.all[name]
}

func (e *events) has(name string) {
	c := e.of(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

func (e *events) await(name string) error {
	select {
	case <-e.of(name):
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("%s: it does not come", name)
	}
}

// slowPiece is a piece that tells when it is read, and whose decoding waits.
type slowPiece struct {
	rawPiece
	number int
	of     *events
	until  func(number int) string // the event that decoding waits for, or ""
}

func (p *slowPiece) Fetch(ctx context.Context) {
	p.rawPiece.Fetch(ctx)
	p.of.has(fmt.Sprint("read ", p.number))
}

func (p *slowPiece) wait() error {
	if name := p.until(p.number); name != "" {
		return p.of.await(name)
	}
	return nil
}

func (p *slowPiece) Table(ctx context.Context) (*table.Table, error) {
	if err := p.wait(); err != nil {
		return nil, err
	}
	return p.rawPiece.Table(ctx)
}

func (p *slowPiece) OpenWords(ctx context.Context, as []arrow.DataType) (*storage.WordGroup, error) {
	w, ok := p.rawPiece.(wordsPiece)
	if !ok {
		return nil, nil
	}
	if err := p.wait(); err != nil {
		return nil, err
	}
	return w.OpenWords(ctx, as)
}

// TestReadsBesideDecoding: while as many pieces as there are processors are being decoded,
// the next ones are read: decoding of the first goes on only when those were.
func TestReadsBesideDecoding(t *testing.T) {
	b, a := onHost(t)
	const rows, pieces = 8000, 40
	x := numbers(t, b, rows, 3)
	dir := t.TempDir()
	path, arrows := filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.arrow")
	if err := storage.WriteParquet(ctx, x, path, storage.ParquetOptions{RowGroupRows: rows / pieces}); err != nil {
		t.Fatal(err)
	}
	if err := storage.WriteIPC(ctx, numbers(t, b, rows, 3, cutsOf(rows, rows/pieces)...), arrows, storage.IPCOptions{Compression: storage.CompressionZstd}); err != nil {
		t.Fatal(err)
	}
	decoders := processors.Count()
	for name, s := range map[string]table.Source{"parquet": storage.Parquet(path), "ipc": storage.IPC(arrows)} {
		files := opened(t, b, s, FileOptions{})
		if n := len(files.Blocks()); n != pieces {
			t.Fatalf("%s: %d pieces", name, n)
		}
		seen := &events{}
		begin := files.begin
		files.begin = func(i int, names []string) (rawPiece, error) {
			raw, err := begin(i, names)
			return &slowPiece{raw, i, seen, func(i int) string {
				if i < decoders { // all who decode
					return fmt.Sprint("read ", decoders+1)
				}
				return ""
			}}, err
		}
		o := Options{Batch: 100, Epochs: 1, Workers: 1, Memory: a}
		l := load(t, files, o)
		same(t, name, l, load(t, FromTable(x), o))
		r := l.reader.(*pieceReader)
		r.cache.mu.Lock()
		if n := r.cache.line.taken; n != 0 {
			t.Errorf("%s: what was read takes %d bytes at the end", name, n)
		}
		r.cache.mu.Unlock()
	}
}

// cutsOf are the rows at which a table of some rows is cut into pieces.
func cutsOf(rows, each int64) (cuts []int64) {
	for at := each; at < rows; at += each {
		cuts = append(cuts, at)
	}
	return cuts
}

// TestStreamBesideDecoding: a stream is read on while what came of it is decoded.
func TestStreamBesideDecoding(t *testing.T) {
	b, a := onHost(t)
	const rows, each = 1000, 20
	x, seen := numbers(t, b, rows, 2), &events{}
	s, err := FromBatches(b, x.Schema(), rows, func(context.Context) iter.Seq2[*table.Batch, error] {
		return func(yield func(*table.Batch, error) bool) {
			for at := int64(0); at < rows; at += each {
				seen.has(fmt.Sprint("asked for ", at))
				one, err := x.Chunks()[0].Slice(at, each)
				if !yield(one, err) {
					return
				}
			}
		}
	}, StreamOptions{Piece: each})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.pieces([]Part{{Columns: []int{0, 1}, Type: arrow.PrimitiveTypes.Float32}}, a)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	decode := r.cache.decode
	r.cache.decode = func(ctx context.Context, i int, raw rawPiece) (heldPiece, int64, error) {
		if i < processors.Count() {
			if err := seen.await(fmt.Sprint("asked for ", processors.Count()*each)); err != nil {
				return nil, 0, err
			}
		}
		return decode(ctx, i, raw)
	}
	r.cache.ahead(7) // which could not be read again, if it made way
	if n := len(r.cache.pieces); n != 0 {
		t.Errorf("%d pieces of a stream stand aside", n)
	}
	for i := range 2 * processors.Count() {
		r.cache.want(i)
	}
	for i := range 2 * processors.Count() {
		p, err := r.cache.take(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		r.cache.giveBack(p)
	}
}

// TestLineMakesWay: pieces that were read ahead make way for those that are needed, and
// what is read and not decoded is never more than there is room for.
func TestLineMakesWay(t *testing.T) {
	var mu sync.Mutex
	held, most, closed := int64(0), int64(0), 0
	size := int64(lineBytes)
	c := newPieceCache(1, func(int) int64 { return 1 }, pieceSteps{readers: 2, begin: func(int) (rawPiece, error) {
		return &countedPiece{size: size, held: func(n int64) {
			mu.Lock()
			defer mu.Unlock()
			held += n
			most = max(most, held)
			if n < 0 {
				closed++
			}
		}}, nil
	}, decode: func(context.Context, int, rawPiece) (heldPiece, int64, error) { return nil, 0, errors.New("no piece") }})
	for i := range 100 {
		c.ahead(1000 + i)
		if i%3 == 0 {
			c.ahead(i + 1)
		}
		if _, err := c.take(ctx, i); err == nil || err.Error() != "no piece" {
			t.Fatal(err)
		}
	}
	c.close()
	if held != 0 || closed < 100 || most > lineBytes*int64(1+processors.Count()) || c.line.taken != 0 {
		t.Errorf("%d bytes are held, %d at most, after %d pieces; %d are counted", held, most, closed, c.line.taken)
	}
	if _, err := c.take(ctx, 5); err == nil {
		t.Error("a closed cache gave a piece")
	}
}

// countedPiece is a piece that says what it holds.
type countedPiece struct {
	size int64
	held func(int64)
	read bool
}

func (p *countedPiece) Size() int64 { return p.size }
func (p *countedPiece) Fetch(context.Context) {
	p.read = true
	p.held(p.size)
}
func (p *countedPiece) Table(context.Context) (*table.Table, error) { return nil, nil }
func (p *countedPiece) Close() {
	if p.read {
		p.held(-p.size)
	}
}

// told is a source whose reading tells of itself.
type told struct {
	Source
	read func()
}

func (s *told) Open(ctx context.Context, m memory.Allocator, parts []Part, spare int64) (Reader, error) {
	r, err := s.Source.Open(ctx, m, parts, spare)
	return &toldReader{r, s.read}, err
}

type toldReader struct {
	Reader
	read func()
}

func (r *toldReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	defer r.read()
	return r.Reader.Read(ctx, rows, to)
}

// TestEvaluatesApart: with one worker the rows of a batch are read while the one before is
// evaluated, however sources nest; in the caller one is done after the other, and there are
// no goroutines.
func TestEvaluatesApart(t *testing.T) {
	b, a := onHost(t)
	x := numbers(t, b, 300, 2)
	for _, nest := range []string{"mapped", "mapped, derived", "derived, mapped", "mapped twice", "derived, windows", "resizing"} {
		for _, workers := range []int{1, InCaller} {
			seen, reads, calls := &events{}, 0, 0
			var mu sync.Mutex
			source := Source(&told{FromTable(x), func() {
				mu.Lock()
				defer mu.Unlock()
				reads++
				seen.has(fmt.Sprint("read ", reads))
			}})
			m := BatchMap{Name: "m", Schema: x.Schema(), Do: func(_ context.Context, t *table.Table) (*table.Table, error) {
				mu.Lock()
				calls++
				at := calls
				ahead := reads
				mu.Unlock()
				if workers == InCaller {
					if ahead != at {
						return nil, fmt.Errorf("%d batches were read for the %d-th", ahead, at)
					}
					return t, nil
				}
				if at <= 2 {
					return t, seen.await(fmt.Sprint("read ", at+1))
				}
				return t, nil
			}}
			o := Options{Batch: 30, Epochs: 1, Workers: workers, Memory: a}
			if nest == "derived, windows" {
				o.Batch = 27
			}
			twice := func(s Source) Source {
				d, err := DeriveBeside(b, s, Column{"z", expr.Col("aa").Mul(2)})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			var s Source
			switch nest {
			case "mapped":
				s = mapOver(t, b, source, m)
			case "mapped, derived":
				s = twice(mapOver(t, b, source, m))
			case "derived, mapped":
				d, err := Derive(b, source, Column{"aa", expr.Col("aa").Add(0).Cast(arrow.PrimitiveTypes.Float32)}, Column{"ab", expr.Col("ab")})
				if err != nil {
					t.Fatal(err)
				}
				s = mapOver(t, b, d, m)
			case "mapped twice":
				s = mapOver(t, b, mapOver(t, b, source, m), BatchMap{Name: "n", Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }})
			case "derived, windows":
				s = twice(mapOver(t, b, source, m))
				o.Window = &Window{History: 4}
			case "resizing":
				m.MaxRows = 30
				s = mapOver(t, b, source, m)
			}
			before := runtime.NumGoroutine()
			l := load(t, s, o)
			if n := runtime.NumGoroutine(); workers == InCaller && n > before {
				t.Errorf("%s: %d goroutines were begun", nest, n-before)
			}
			n := int64(0)
			for batch, err := range l.Batches(ctx) {
				if err != nil {
					t.Fatalf("%s, %d workers: %v", nest, workers, err)
				}
				f, err := batch.Features()
				if err != nil {
					t.Fatal(err)
				}
				rows, err := batch.Rows()
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range elements[float32](t, f)[:len(rows)*int(f.Columns)*max(1, int(f.Steps))] {
					each := int(f.Columns) * max(1, int(f.Steps))
					if i%each == 0 && float64(v) != value(rows[i/each], 0) {
						t.Fatalf("%s: row %d begins with %v", nest, rows[i/each], v)
					}
				}
				n += int64(len(rows))
			}
			if n != l.source.NumRows() {
				t.Errorf("%s: %d rows of %d", nest, n, l.source.NumRows())
			}
			if s := l.Stats(); s.Transform <= 0 || s.Gather < 0 || workers == InCaller && (s.TransformWait != 0 || s.GatherRoomWait != 0) {
				t.Errorf("%s: %+v", nest, s)
			}
		}
	}
}

// TestDeriveInTwoSteps: the first step evaluates nothing, and what it took goes back where
// the second does not come.
func TestDeriveInTwoSteps(t *testing.T) {
	b, a := onHost(t)
	d, err := DeriveBeside(b, FromTable(numbers(t, b, 100, 2)), Column{"z", expr.Col("aa").Add(expr.Col("ab"))})
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, d, Options{Batch: 10, Workers: InCaller, Memory: a})
	r := l.reader.(*derivedReader)
	s := l.slots[0]
	l.spread(s, 3)
	for range 2 {
		g, err := l.twoStep.gather(ctx, -1, []int64{5, 0, 99}, s.tensors)
		if err != nil {
			t.Fatal(err)
		}
		if n := r.spent.get(); n != 0 {
			t.Errorf("%v were spent in expressions", n)
		}
		g.drop()
	}
	g, err := l.twoStep.gather(ctx, -1, []int64{5, 0, 99}, s.tensors)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := g.evaluate(ctx, s.room); n != 3 || err != nil || r.spent.get() <= 0 {
		t.Errorf("%d rows, %v in %v", n, err, r.spent.get())
	}
	for i, row := range []int64{5, 0, 99} {
		if x := elements[float32](t, s.tensors[0])[3*i:][:3]; float64(x[0]) != value(row, 0) || float64(x[2]) != value(row, 0)+value(row, 1) {
			t.Errorf("row %d: %v", row, x)
		}
	}
}

// TestCloseBetweenSteps closes loaders while batches wait to be evaluated, or are: nothing
// hangs, and no memory is lost.
func TestCloseBetweenSteps(t *testing.T) {
	b, a := onHost(t)
	x := numbers(t, b, 2000, 2)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, x, path, storage.ParquetOptions{RowGroupRows: 150}); err != nil {
		t.Fatal(err)
	}
	files := opened(t, b, storage.Parquet(path), FileOptions{})
	began := make(chan struct{}, 1000)
	m := BatchMap{Name: "m", Schema: x.Schema(), Do: func(ctx context.Context, t *table.Table) (*table.Table, error) {
		began <- struct{}{}
		<-ctx.Done() // until the loader is closed
		return nil, ctx.Err()
	}}
	for i, s := range []Source{mapOver(t, b, files, m), mapOver(t, b, FromTable(x), m), mapOver(t, b, mapOver(t, b, FromTable(x), BatchMap{Name: "same", Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }}), m)} {
		l, err := New(ctx, s, Options{Batch: 20, Workers: 1, Prefetch: 5, Memory: a})
		if err != nil {
			t.Fatal(err)
		}
		<-began
		for range 10_000 { // until one batch waits to be evaluated, and the worker for room
			if len(l.gathered) == cap(l.gathered) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if n := len(l.gathered); n != 1 || cap(l.gathered) != 1 {
			t.Errorf("%d: %d batches wait in a queue of %d", i, n, cap(l.gathered))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Next(ctx); err == nil || err == io.EOF {
			t.Error(err)
		}
	}
	d, err := Derive(b, files, Column{"z", expr.Col("aa").Add(expr.Col("ab"))})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		l, err := New(ctx, d, Options{Batch: 20, Workers: 2, Prefetch: 4, Shuffle: n%2 == 0, Memory: a})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			next(t, l)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
