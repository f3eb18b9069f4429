package shm

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// sleeping starts a sleep that would last much longer than a test may, and gives what is
// closed when it has ended.
func sleeping(word *atomic.Uint32) <-chan struct{} {
	ended, begun := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		close(begun)
		sleepUntold(word, 0, limit)
	}()
	<-begun
	time.Sleep(10 * time.Millisecond)
	return ended
}

func within(t *testing.T, ended <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(limit / 4):
		t.Fatalf("%s does not end a sleep", what)
	}
}

// The Go runtime does not know of these sleeps: what it stops goroutines with must end them.
func TestUntoldSleepEndsForTheRuntime(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // or nobody could ask for the collection
	}
	var word atomic.Uint32
	ended := sleeping(&word)
	runtime.GC()
	within(t, ended, "a garbage collection")
}

func TestUntoldSleepIsWoken(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	var word atomic.Uint32
	ended := sleeping(&word)
	word.Store(1)
	wake(&word)
	within(t, ended, "a wake")

	start := time.Now()
	sleepUntold(&word, 0, limit) // which is 1
	sleepUntold(&word, 1, time.Millisecond)
	if took := time.Since(start); took < time.Millisecond || took > limit/4 {
		t.Errorf("a word of another number and a sleep of 1 ms took %v", took)
	}
}
