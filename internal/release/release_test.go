package release

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// What is written before a store is there for whoever sees the store.
func TestOrder(t *testing.T) {
	const times = 2000
	var data [8]uint64 // its words are read after the flag only
	var flag atomic.Uint32
	var taken atomic.Uint64
	var both sync.WaitGroup
	both.Go(func() {
		for i := uint64(1); i <= times; i++ {
			for taken.Load() != i-1 {
			}
			for k := range data {
				atomic.StoreUint64(&data[k], i)
			}
			Store32(&flag, uint32(i))
		}
	})
	both.Go(func() {
		for i := uint64(1); i <= times; i++ {
			for flag.Load() != uint32(i) {
			}
			for k := range data {
				if got := atomic.LoadUint64(&data[k]); got != i {
					t.Errorf("word %d is %d after flag %d", k, got, i)
				}
			}
			Store64(&taken, i)
		}
	})
	both.Wait()
}

func TestAddEach(t *testing.T) {
	var sums [8]atomic.Uint64
	n := [8]uint64{1, 0, 3 << 40, 4, 5, 6, 7, 8}
	for range 3 {
		AddEach(&sums, &n)
		Own(unsafe.Pointer(&sums[0]), int(unsafe.Sizeof(sums))) // changes nothing
	}
	for i := range sums {
		if sums[i].Load() != 3*n[i] {
			t.Errorf("three additions of %d come to %d", n[i], sums[i].Load())
		}
	}
}
