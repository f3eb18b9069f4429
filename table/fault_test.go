package table

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// budget is an allocator with a limit that a test moves; 0 is none.
type budget struct {
	memory.Allocator
	mu                sync.Mutex
	used, limit, most int64
}

func (b *budget) Allocate(n int64) (memory.Block, error) {
	padded := memory.Padded(n)
	b.mu.Lock()
	if b.limit > 0 && b.used+padded > b.limit {
		err := &memory.OutOfMemory{Place: b.Place(), Requested: n, InUse: b.used, Limit: b.limit}
		b.mu.Unlock()
		return memory.Block{}, err
	}
	b.used += padded
	b.most = max(b.most, b.used)
	b.mu.Unlock()
	block, err := b.Allocator.Allocate(n)
	if err != nil {
		b.give(padded)
	}
	return block, err
}

func (b *budget) Free(block memory.Block) {
	n := memory.Padded(block.Size)
	b.Allocator.Free(block)
	b.give(n)
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
}

// allow lets callers take n bytes more than they have, and forgets what they
// took at most; it returns what they have.
func (b *budget) allow(n int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit, b.most = 0, b.used
	if n > 0 {
		b.limit = b.used + n
	}
	return b.used
}

const manyLeft, manyRight = 3000, 50 // rows of one key: 150,000 pairs

// sides are two tables whose rows all match.
func sides(t *testing.T, b *kernels.Backend) (left, right *Table) {
	t.Helper()
	left, err := New(b, Column("k", make([]int64, manyLeft)), Column("l", rising(manyLeft)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(left.Release)
	right, err = New(b, Column("k", make([]int64, manyRight)), Column("r", rising(manyRight)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(right.Release)
	return left, right
}

// allPairs runs a join of sides batch by batch and looks at each row: they must
// come in order. It returns the number of batches.
func allPairs(t *testing.T, b *kernels.Backend, q *Query) (batches int) {
	t.Helper()
	next := int64(0)
	for batch, err := range q.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		batches++
		at := next
		for name, want := range map[string]func(int64) int64{
			"l": func(i int64) int64 { return i / manyRight },
			"r": func(i int64) int64 { return i % manyRight },
		} {
			s, err := b.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			host, err := b.OnHost(t.Context(), s, batch.ColumnNamed(name))
			if err != nil {
				t.Fatal(err)
			}
			next = at
			for _, v := range memory.Values[int64](host) {
				if v != want(next) {
					t.Fatalf("%s of row %d is %d", name, next, v)
				}
				next++
			}
			host.Release()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if next != manyLeft*manyRight {
		t.Fatalf("%d pairs", next)
	}
	return batches
}

// TestJoinWithinLittleMemory: a join that the memory does not hold at once comes
// in pieces; where not even the pieces fit it says what it asked for and what
// there was; and after that it goes as before.
func TestJoinWithinLittleMemory(t *testing.T) {
	var limit *budget
	b := backendOver(t, func(a memory.Allocator) memory.Allocator {
		limit = &budget{Allocator: a}
		return limit
	})
	left, right := sides(t, b)
	for name, q := range map[string]*Query{
		"inner": From(left).Join(right, Inner, On("k")),
		"cross": From(left).Select("l").Join(From(right).Select("r"), Cross),
	} {
		t.Run(name, func(t *testing.T) {
			held := limit.allow(0)
			if n := allPairs(t, b, q); n != 1 {
				t.Errorf("%d batches with all the memory that there is", n)
			}
			whole := limit.most - held
			held = limit.allow(whole / 4)
			if n := allPairs(t, b, q); n < 4 {
				t.Errorf("%d batches within %d bytes of %d", n, whole/4, whole)
			}
			if took := limit.most - held; took > whole/4 {
				t.Errorf("%d bytes taken of %d", took, whole/4)
			}
			for _, room := range []int64{1 << 8, 1 << 14, whole / 4} { // Collect keeps all that was made
				held = limit.allow(room)
				got, err := q.Collect(t.Context())
				if err == nil {
					got.Release()
					t.Errorf("all pairs within %d bytes", room)
				} else if !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "join") ||
					!strings.Contains(err.Error(), "requested") || !strings.Contains(err.Error(), "free") {
					t.Errorf("within %d bytes: %v", room, err)
				}
				if now := limit.allow(0); now != held {
					t.Errorf("within %d bytes: %d are held, %d before", room, now, held)
				}
			}
			allPairs(t, b, q)
		})
	}
}

// emulated sets the environment for two CUDA devices of the emulator with that
// much memory each. It is false where there can be none, or where the tests have
// begun to use another driver or one device.
func emulated(t *testing.T, bytes string) bool {
	t.Helper()
	if !backends.OnHost() {
		return false
	}
	if why := cuemu.Missing(); why != "" {
		if cuemu.Required() {
			t.Fatal(why)
		}
		t.Log(why)
		return false
	}
	t.Setenv("CUEMU_DEVICES", "2")
	t.Setenv("CUEMU_MEMORY", bytes)
	if err := cuemu.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := cuemu.Count("launches"); errors.Is(err, cuemu.ErrReal) {
		t.Log(err)
		return false
	} else if err != nil {
		t.Fatal(err)
	}
	return true
}

// TestJoinOnFaultyDevices is the same with the memory of an emulated CUDA device
// itself, and then a device that is lost in the middle of a query: the error
// names the launch and stays, and the other device does its work.
func TestJoinOnFaultyDevices(t *testing.T) {
	const all = 3 << 20
	if !emulated(t, "3145728") {
		return
	}
	open := func(name string) *kernels.Backend {
		t.Setenv("VOLLEY_BACKEND", name)
		return backends.Open(t, func(a memory.Allocator) memory.Allocator { return a })
	}
	first, second := open("cuda:0"), open("cuda:1")
	t.Cleanup(func() {
		if err := errors.Join(first.Close(), second.Close()); err != nil {
			t.Error(err)
		}
	})
	left, right := sides(t, first)
	q := From(left).Join(right, Inner, On("k"))
	if n := allPairs(t, first, q); n < 2 {
		t.Errorf("%d batches within %d bytes", n, all)
	}
	got, err := q.Collect(t.Context())
	if err == nil {
		got.Release()
	}
	if !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "requested") || !strings.Contains(err.Error(), "free") || !strings.Contains(err.Error(), "cuda:0") {
		t.Errorf("150,000 pairs within %d bytes: %v", all, err)
	}
	allPairs(t, first, q)

	const illegalAddress = 700
	if err := cuemu.Fail("execute", 5, illegalAddress); err != nil {
		t.Fatal(err)
	}
	_, err = q.Collect(t.Context())
	if !errors.Is(err, device.ErrLost) || !strings.Contains(err.Error(), "cuda:0") {
		t.Fatalf("the device is lost: %v", err)
	}
	var lost *device.Error
	if !errors.As(err, &lost) || lost.Call == "" || lost.Call == "wait" {
		t.Errorf("which launch it was is not in: %v", err)
	}
	if _, again := q.Collect(t.Context()); !errors.Is(again, device.ErrLost) || !strings.Contains(again.Error(), lost.Call) {
		t.Errorf("afterwards: %v", again)
	}
	l, r := sides(t, second)
	allPairs(t, second, From(l).Join(r, Inner, On("k")))
}
