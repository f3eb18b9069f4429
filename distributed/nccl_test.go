package distributed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/collective/faultinject"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
	cudadevice "github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/internal/dl"
	"github.com/volley-go/volley/internal/ncclemu"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cuda"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// emulated starts the emulated driver of four GPUs and the emulated NCCL, unless the environment names others.
var emulated = sync.OnceValue(func() error {
	if os.Getenv("VOLLEY_CUDA_LIBRARY") != "" {
		return nil
	}
	return errors.Join(os.Setenv("CUEMU_DEVICES", "4"), os.Setenv("CUEMU_MEMORY", "67108864"), ncclemu.Start(context.Background()), cuemu.Start(context.Background()))
})

// gpus opens a backend a rank, each of a GPU of its own, whose memory is counted: when the test ends none is out, and no communicator is left.
// It is nil where there are not so many GPUs, nor the emulated driver.
func gpus(t *testing.T, n int, over func(rank int, a memory.Allocator) memory.Allocator) []*kernels.Backend {
	t.Helper()
	if !dl.Available || cuemu.Missing() != "" && os.Getenv("VOLLEY_CUDA_LIBRARY") == "" {
		t.Log("neither CUDA nor the emulated driver here: " + cuemu.Missing())
		return nil
	}
	require.NoError(t, emulated())
	infos, err := cudadevice.List()
	require.NoError(t, err)
	if len(infos) < n {
		t.Logf("%d GPUs", len(infos))
		return nil
	}
	releases := memory.OverReleases()
	t.Cleanup(func() {
		require.Equal(t, releases, memory.OverReleases(), "columns released too often")
		left, err := ncclemu.Comms()
		if !errors.Is(err, ncclemu.ErrReal) {
			require.NoError(t, err)
			require.Zero(t, left, "communicators")
		}
	})
	all := make([]*kernels.Backend, n)
	for r := range all {
		d, err := cudadevice.Open(r)
		require.NoError(t, err)
		b := cuda.New(d)
		a := b.Device.Memory()
		if over != nil {
			a = over(r, a)
		}
		counted := memory.NewTraced(a)
		b.Device = devicetest.WithMemory(b.Device, counted)
		all[r] = b
		t.Cleanup(func() {
			require.NoError(t, counted.Check())
			require.NoError(t, b.Close())
		})
	}
	return all
}

// ncclCalls is how many operations NCCL had so far.
func ncclCalls(t *testing.T) int {
	n, err := ncclemu.Calls()
	if errors.Is(err, ncclemu.ErrReal) {
		return -1
	}
	require.NoError(t, err)
	return n
}

// manyTypes is rows [from, to) of columns of every layout, in chunks of odd lengths, a window of longer ones. Rows depend on their number alone.
func manyTypes(t *testing.T, b *kernels.Backend, from, to int) *table.Table {
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Boolean, arrow.BinaryTypes.String,
		arrow.BinaryTypes.LargeString, &arrow.Decimal128Type{Precision: 20, Scale: 2}, arrow.ListOf(arrow.BinaryTypes.String), arrow.Null,
		arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}}
	fields := []arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	for i, typ := range types {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: typ, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	s, err := b.NewStream()
	require.NoError(t, err)
	defer s.Close()
	var chunks []*table.Batch
	for at := from; at < to; at += 29 {
		end := min(at+29, to)
		var cols []*memory.Column
		for c, f := range fields {
			builder := array.NewBuilder(arrowmem.DefaultAllocator, f.Type)
			for i := at - 3; i < end+2; i++ { // three rows before and two behind the window
				text := fmt.Sprint(max(0, i) * 7 % 100)
				switch {
				case c > 1 && (i+c)%5 == 0 || f.Type.ID() == arrow.NULL:
					builder.AppendNull()
				case f.Type.ID() == arrow.BOOL:
					builder.(*array.BooleanBuilder).Append(i%3 == 0)
				case f.Type.ID() == arrow.LIST || f.Type.ID() == arrow.STRUCT:
					text = map[bool]string{true: `["x", "` + text + `"]`, false: `{"a": 7, "b": "` + text + `"}`}[f.Type.ID() == arrow.LIST]
					require.NoError(t, builder.UnmarshalJSON([]byte("["+text+"]")))
				case f.Type.ID() == arrow.STRING || f.Type.ID() == arrow.LARGE_STRING:
					require.NoError(t, builder.AppendValueFromString("text "+strings.Repeat(text, max(0, i)%3)))
				case f.Type.ID() == arrow.DICTIONARY:
					require.NoError(t, builder.AppendValueFromString(fmt.Sprint("d", max(0, i)%9)))
				default:
					require.NoError(t, builder.AppendValueFromString(text))
				}
			}
			a := builder.NewArray()
			whole, err := memory.FromArrow(a)
			require.NoError(t, err)
			a.Release()
			there, err := table.OnDevice(context.Background(), b, s, whole)
			require.NoError(t, err)
			whole.Release()
			window, err := there.Slice(3, int64(end-at))
			require.NoError(t, err)
			there.Release()
			cols = append(cols, window)
		}
		chunk, err := table.NewBatch(schema, int64(end-at), cols)
		require.NoError(t, err)
		chunks = append(chunks, chunk)
	}
	made, err := table.NewTable(b, schema, chunks)
	require.NoError(t, err)
	return made
}

// Rows move between GPUs by NCCL, of all types, however they are spread: what comes is what the host's table has, and at each other rank what went.
func TestNCCLMoves(t *testing.T) {
	const n = 150
	for _, ranks := range []int{1, 2, 3, 4} {
		for _, shape := range []string{"even", "empty ranks", "all on one rank"} {
			t.Run(fmt.Sprint(ranks, " ", shape), func(t *testing.T) {
				all := gpus(t, ranks, nil)
				if all == nil {
					return
				}
				before := ncclCalls(t)
				cuts := newSource(shape, 1, n, ranks).cuts
				for r, err := range groupOn(t, ranks, func(rank int) *kernels.Backend { return all[rank] }, func(r *rank) error {
					part := manyTypes(t, r.backend, cuts[r.id()], cuts[r.id()+1])
					defer part.Release()
					whole := manyTypes(t, r.backend, 0, n)
					defer whole.Release()
					want := rows(whole)
					d, err := New(r, r.comm, part)
					if err != nil {
						return err
					}
					defer d.Release()
					for _, step := range []struct {
						name    string
						ordered bool
						run     func() (*Table, error)
					}{
						{"rebalance", true, func() (*Table, error) { return d.Rebalance(r) }},
						{"shuffle by hash", false, func() (*Table, error) { return d.Shuffle(r, Hash("k", "c4")) }},
						{"round robin", false, func() (*Table, error) { return d.Shuffle(r, RoundRobin()) }},
					} {
						got, err := step.run()
						if err != nil {
							return fmt.Errorf("%s: %w", step.name, err)
						}
						have, err := r.all(got)
						got.Release()
						if err != nil {
							return fmt.Errorf("%s: %w", step.name, err)
						}
						mine := want
						if !step.ordered {
							mine = slices.Sorted(slices.Values(want))
							slices.Sort(have)
						}
						if !slices.Equal(mine, have) {
							return fmt.Errorf("%s: %d rows, want %d:\n%s\n%s", step.name, len(have), len(mine), strings.Join(have, "\n"), strings.Join(mine, "\n"))
						}
					}
					return nil
				}) {
					require.NoError(t, err, "rank %d of %d", r, ranks)
				}
				if after := ncclCalls(t); before >= 0 && ranks > 1 {
					require.Greater(t, after, before, "NCCL was not called")
				}
			})
		}
	}
}

// Operators on GPUs over NCCL are what the local ones are.
func TestNCCLOperators(t *testing.T) {
	all := gpus(t, 3, nil)
	if all == nil {
		return
	}
	backend := func(rank int) *kernels.Backend { return all[rank] }
	for _, shape := range []string{"zipf", "null keys", "empty ranks"} {
		before := ncclCalls(t)
		for name, run := range operations {
			for r, err := range groupOn(t, 3, backend, func(r *rank) error { return dies(r, run) }) {
				require.NoError(t, err, "%s: rank %d", name, r)
			}
		}
		require.True(t, before < 0 || ncclCalls(t) >= before+3*(len(operations)-2), "NCCL was called %d times", ncclCalls(t)-before)
		for r, err := range groupOn(t, 3, backend, func(r *rank) error {
			left, right := newSource(shape, 1, 90, 3), newSource("zipf", 2, 60, 3)
			d, err := r.spread(left, "")
			if err != nil {
				return err
			}
			defer d.Release()
			o, err := r.spread(right, "r")
			if err != nil {
				return err
			}
			defer o.Release()
			got, err := d.Join(r, o, table.Full, table.Keys("k", "rk"))
			if err != nil {
				return err
			}
			defer got.Release()
			have, err := r.all(got)
			if err != nil {
				return err
			}
			l, m := left.whole(r.backend, ""), right.whole(r.backend, "r")
			defer l.Release()
			defer m.Release()
			local, err := l.Query().Join(m, table.Full, table.Keys("k", "rk")).Collect(r)
			if err != nil {
				return err
			}
			defer local.Release()
			want := rows(local)
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(want, have) {
				return fmt.Errorf("%d rows, want %d", len(have), len(want))
			}
			return nil
		}) {
			require.NoError(t, err, "%s: rank %d", shape, r)
		}
	}
}

// Where two ranks have the same GPU, or one has none, the host carries.
func TestNCCLNotForAll(t *testing.T) {
	all := gpus(t, 2, nil)
	if all == nil {
		return
	}
	host := open(t, nil)
	for name, backends := range map[string][]*kernels.Backend{"the same": {all[0], all[1], all[0]}, "one without": {all[0], all[1], host}} {
		before := ncclCalls(t)
		for r, err := range groupOn(t, 3, func(rank int) *kernels.Backend { return backends[rank] }, func(r *rank) error {
			return dies(r, operations["shuffle by hash"])
		}) {
			require.NoError(t, err, "%s: rank %d", name, r)
		}
		require.Equal(t, before, ncclCalls(t), name)
	}
}

// A rank that dies at any message is one Fault on all survivors, also where NCCL carries; those make a smaller Comm, which gets a communicator of its own.
func TestNCCLRankDies(t *testing.T) {
	faults := 0
	for n := int64(2); n < 60; n += 11 {
		all := gpus(t, 3, nil)
		if all == nil {
			return
		}
		ends, in := faultinject.Wrap(inproc.New(3), faultinject.Event{Rank: 1, N: n, Kind: faultinject.Kill})
		errs := groupOver(t, ends, collective.Options{Deadline: 2 * time.Second}, func(rank int) *kernels.Backend { return all[rank] }, func(r *rank) error {
			err := dies(r, operations["shuffle by hash"])
			if err == nil || r.id() == 1 {
				return err
			}
			small, again := r.comm.Shrink(r)
			if again != nil {
				return errors.Join(err, again)
			}
			defer small.Close()
			if again := dies(&rank{Context: r.Context, t: r.t, comm: small, backend: r.backend}, operations["shuffle by hash"]); again != nil {
				return fmt.Errorf("the smaller Comm: %w", again)
			}
			return err
		})
		in.Thaw()
		for _, r := range []int{0, 2} {
			if errs[r] == nil {
				continue
			}
			var f *collective.Fault
			require.ErrorAs(t, errs[r], &f, "after %d messages: rank %d", n, r)
			require.Equal(t, []int{1}, f.Ranks, "after %d messages: rank %d: %v", n, r, errs[r])
			require.NotContains(t, errs[r].Error(), "the smaller Comm")
			faults++
		}
	}
	require.Greater(t, faults, 4)
}

// Where the library cannot connect the GPUs, the host carries.
func TestNCCLCannotConnect(t *testing.T) {
	all := gpus(t, 3, nil)
	if all == nil || ncclCalls(t) < 0 {
		return
	}
	require.NoError(t, ncclemu.Fault(1, 6))
	defer func() { require.NoError(t, ncclemu.Fault(1, 0)) }()
	before := ncclCalls(t)
	for r, err := range groupOn(t, 3, func(rank int) *kernels.Backend { return all[rank] }, func(r *rank) error {
		return dies(r, operations["shuffle round robin"])
	}) {
		require.NoError(t, err, "rank %d", r)
	}
	require.Equal(t, before, ncclCalls(t))
}

// Where the memory of one GPU ends, all ranks get one error that names the rank before a byte moves, and the Comm goes on.
func TestNCCLMemoryEnds(t *testing.T) {
	var poor *scarce
	refused := 0
	for _, after := range []int64{0, 2, 4, 8, 12, 20, 30, 45, 60} {
		all := gpus(t, 3, func(rank int, a memory.Allocator) memory.Allocator {
			if rank != 1 {
				return a
			}
			poor = &scarce{Allocator: a}
			poor.left.Store(after)
			return poor
		})
		if all == nil {
			return
		}
		for r, err := range groupOn(t, 3, func(rank int) *kernels.Backend { return all[rank] }, func(r *rank) error {
			d, err := r.spread(newSource("zipf", 1, 90, 3), "")
			if err != nil {
				return err
			}
			defer d.Release()
			if err := r.comm.Barrier(r); err != nil {
				return err
			}
			poor.on.Store(true)
			got, err := d.Shuffle(r, Hash("k", "s"))
			if err == nil {
				got.Release()
				return nil
			}
			var e *agree.Error
			if !errors.As(err, &e) || !slices.Equal(e.Ranks, []int{1}) || !errors.Is(err, device.ErrOutOfMemory) && !errors.Is(err, memory.ErrOutOfMemory) {
				return fmt.Errorf("after %d: %w", after, err)
			}
			if r.id() == 1 {
				refused++
				poor.on.Store(false)
			}
			if err := r.comm.Barrier(r); err != nil {
				return err
			}
			got, err = d.Shuffle(r, Hash("k", "s"))
			got.Release()
			return err
		}) {
			require.NoError(t, err, "rank %d", r)
		}
	}
	require.Greater(t, refused, 2)
}
