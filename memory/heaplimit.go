package memory

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// LimitVariable is the environment variable that limits [Heap] from a process's
// start, as [SetHeapLimit] does later: bytes, or a number with KiB, MiB, GiB or
// TiB, such as "4GiB". What is none of these is the error of every request.
const LimitVariable = "VOLLEY_MEMORY"

// heapLimit is what Heap has given out and may give out; a limit of 0 is none.
var heapLimit struct{ used, limit atomic.Int64 }

// SetHeapLimit has [Heap] give out up to limit bytes at a time in all of this
// process, and gives the limit before; 0 is none. A request beyond it is an
// [OutOfMemory] that says what was asked for, what is held and the limit; what is
// held stays, and requests that fit go on working. Before it fails, the blocks
// that pools over Heap keep for reuse go back.
//
// It counts the blocks of columns, tables, readers and loaders that are in host
// memory, padded. It does not count what Go has beside them, nor a device's memory.
func SetHeapLimit(limit int64) (before int64, err error) {
	before, err = HeapLimit()
	if err != nil {
		return 0, err
	}
	if limit < 0 {
		return before, mismatch("a memory limit of %d bytes", limit)
	}
	heapLimit.limit.Store(limit)
	if limit > 0 && heapLimit.used.Load() > limit {
		trimPools() // or they would go on giving out more
	}
	return before, nil
}

// HeapLimit is the limit of [Heap], 0 for none.
func HeapLimit() (int64, error) {
	if err := fromEnvironment(); err != nil {
		return 0, err
	}
	return heapLimit.limit.Load(), nil
}

// HeapInUse is the bytes that [Heap] has given out, those kept by pools among them.
func HeapInUse() int64 { return heapLimit.used.Load() }

// fromEnvironment sets the limit of LimitVariable, once.
var fromEnvironment = sync.OnceValue(func() error {
	text, set := os.LookupEnv(LimitVariable)
	if !set || text == "" {
		return nil
	}
	limit, err := parseBytes(text)
	if err != nil {
		return fmt.Errorf("%s: %w", LimitVariable, err)
	}
	heapLimit.limit.Store(limit)
	return nil
})

// parseBytes reads a number of bytes.
func parseBytes(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if before, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = strings.TrimSpace(before), 1<<(10*(i+1))
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if bytes := n * float64(unit); err == nil && bytes >= 1 && bytes < math.MaxInt64 {
		return int64(bytes), nil
	}
	return 0, mismatch("%q is no number of bytes: such as 4GiB, 512MiB or 4e9", text)
}

// takeHeap counts a block of so many padded bytes, where the limit allows it.
func takeHeap(size, padded int64) error {
	limit, err := HeapLimit()
	if err != nil {
		return err
	}
	if _, ok := takeIfFits(padded, limit); ok {
		return nil
	}
	trimPools()
	if used, ok := takeIfFits(padded, limit); !ok {
		return &OutOfMemory{Place: Host, Requested: size, InUse: used, Limit: limit}
	}
	return nil
}

func takeIfFits(padded, limit int64) (used int64, ok bool) {
	for {
		used = heapLimit.used.Load()
		if limit > 0 && padded > limit-used {
			return used, false
		}
		if heapLimit.used.CompareAndSwap(used, used+padded) {
			return used, true
		}
	}
}

// heapCount is that a block of Heap counts, until it is freed or collected.
type heapCount struct {
	padded int64
	over   atomic.Bool
}

func (c *heapCount) end() {
	if !c.over.Swap(true) {
		heapLimit.used.Add(-c.padded)
	}
}

// countHeap is the tag of a block whose bytes are counted: one that is forgotten
// and never freed counts until the collector finds it. Small blocks that are forgotten
// while there is no limit count for ever, which costs them nothing now.
func countHeap(raw []byte, padded int64) any {
	if padded < large && heapLimit.limit.Load() == 0 {
		return nil
	}
	c := &heapCount{padded: padded}
	runtime.AddCleanup(unsafe.SliceData(raw), func(c *heapCount) { c.end() }, c)
	return c
}

// uncountHeap is the end of a block.
func uncountHeap(b Block) {
	if c, ok := b.Tag.(*heapCount); ok {
		c.end()
		return
	}
	heapLimit.used.Add(-Padded(b.Size))
}

// pools are those over Heap, as long as anybody has them.
var pools struct {
	sync.Mutex
	all []weak.Pointer[Caching]
}

// watchPool remembers a pool over Heap.
func watchPool(c *Caching) {
	pools.Lock()
	defer pools.Unlock()
	pools.all = append(living(pools.all), weak.Make(c))
}

func living(all []weak.Pointer[Caching]) []weak.Pointer[Caching] {
	n := 0
	for _, p := range all {
		if p.Value() != nil {
			all[n] = p
			n++
		}
	}
	return all[:n]
}

// trimPools has the pools over Heap give back what they keep.
func trimPools() {
	pools.Lock()
	var all []*Caching
	for _, p := range pools.all {
		if c := p.Value(); c != nil {
			all = append(all, c)
		}
	}
	pools.Unlock()
	for _, c := range all {
		c.Trim()
	}
}
