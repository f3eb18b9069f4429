package distributed

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// sizes are the numbers of ranks that operations are held against the local ones with.
var sizes = []int{1, 2, 3, 4, 7}

// A pretended device takes its time: there fewer sizes, and shapes, do.
func TestMain(m *testing.M) {
	heavyLeast = 8
	if place := os.Getenv(soakRank); place != "" {
		if err := soakProcess(place); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if how := os.Getenv(asRank); how != "" {
		splitRows, roundRows = 5, 16
		if err := struckProcess(how); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if flag.Parse(); flag.Lookup("test.bench").Value.String() == "" {
		splitRows, roundRows = 5, 16
	}
	if !backends.OnHost() {
		sizes, shapes, rightSizes = []int{3}, []string{"empty ranks", "null keys"}, []int{36}
	}
	os.Exit(m.Run())
}

// limit is how long anything may take.
const limit = 30 * time.Second

// rank is one of a group in a test.
type rank struct {
	context.Context
	t       *testing.T
	comm    *collective.Comm
	backend *kernels.Backend
	folder  string // of files, in programs of processes
	begins  func() // is called, where it is not nil, when the operation begins behind its preparations
}

func (r *rank) id() int { return r.comm.Rank() }

// open opens a backend whose memory is counted: when the test ends none is out.
func open(t *testing.T, over func(memory.Allocator) memory.Allocator) *kernels.Backend {
	t.Helper()
	var counted *memory.Counted
	releases := memory.OverReleases()
	b := backends.Open(t, func(a memory.Allocator) memory.Allocator {
		if over != nil {
			a = over(a)
		}
		counted = memory.NewTraced(a)
		return counted
	})
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.NoError(t, counted.Check())
		require.Equal(t, releases, memory.OverReleases(), "columns released too often")
	})
	return b
}

// group runs f on every rank of a group in this process, and gives what it returns.
func group(t *testing.T, n int, f func(r *rank) error) []error {
	t.Helper()
	b := open(t, nil)
	return groupOn(t, n, func(int) *kernels.Backend { return b }, f)
}

// groupOn is group with a backend for every rank.
func groupOn(t *testing.T, n int, backend func(int) *kernels.Backend, f func(r *rank) error) []error {
	t.Helper()
	return groupOver(t, inproc.New(n), collective.Options{Deadline: limit}, backend, func(r *rank) error {
		err := f(r)
		if err == nil && r.comm.Fault() == nil {
			err = r.comm.Barrier(r)
		}
		return err
	})
}

// groupOver is groupOn of ranks that have met, who leave when f returns.
func groupOver(t *testing.T, ends []transport.Endpoint, options collective.Options, backend func(int) *kernels.Backend, f func(r *rank) error) []error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	errs := make([]error, len(ends))
	var all sync.WaitGroup
	for i, end := range ends {
		all.Go(func() {
			comm, err := collective.New(end, options)
			if err != nil {
				errs[i] = err
				return
			}
			defer comm.Close()
			errs[i] = f(&rank{Context: ctx, t: t, comm: comm, backend: backend(i)})
		})
	}
	all.Wait()
	return errs
}

// each is group where no rank may have an error.
func each(t *testing.T, n int, f func(r *rank) error) {
	t.Helper()
	for r, err := range group(t, n, f) {
		require.NoError(t, err, "rank %d of %d", r, n)
	}
}

// rows are the rows of a table as texts, in order.
func rows(t *table.Table) []string {
	var all []string
	here, err := onHost(t)
	if err != nil {
		return []string{err.Error()}
	}
	defer here.Release()
	for _, b := range here.Chunks() {
		for i := range b.Len() {
			var row []string
			for c := range b.NumColumns() {
				row = append(row, fmt.Sprint(kernels.ScalarAt(b.Column(c), i)))
			}
			all = append(all, strings.Join(row, "|"))
		}
	}
	return all
}

// onHost is a table where the host can read it.
func onHost(t *table.Table) (*table.Table, error) {
	if t.Backend().Device.Place().HostAccessible() {
		return t.Retain(), nil
	}
	b, err := cpu.New(host.New())
	if err != nil {
		return nil, err
	}
	return t.To(context.Background(), b)
}

// ints makes a table of columns of int64 by name.
func ints(b *kernels.Backend, columns ...any) *table.Table {
	var all []table.Series
	for i := 0; i < len(columns); i += 2 {
		all = append(all, table.Column(columns[i].(string), columns[i+1]))
	}
	t, err := table.New(b, all...)
	if err != nil {
		panic(err)
	}
	return t
}

var int64s = arrow.PrimitiveTypes.Int64

// All tests once more on a device whose memory the host cannot address.
func TestOnRemoteDevice(t *testing.T) { backends.Again(t, "remote") }
