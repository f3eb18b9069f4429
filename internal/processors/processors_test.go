package processors

import (
	"runtime"
	"testing"
)

func TestCountFollowsTheProgram(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	if n := Count(); n != before {
		t.Fatalf("%d of %d", n, before)
	}
	runtime.GOMAXPROCS(3)
	if n := Count(); n != 3 {
		t.Fatalf("%d of 3", n)
	}
}

func TestLeaveOneIsNotCounted(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer func() {
		apart.Store(0)
		runtime.GOMAXPROCS(before)
	}()
	for _, n := range []int{1, 2, 5} {
		apart.Store(0)
		runtime.GOMAXPROCS(n)
		LeaveOne()
		if all, count := runtime.GOMAXPROCS(0), Count(); all != n+1 || count != n {
			t.Fatalf("of %d: GOMAXPROCS is %d, and %d are counted", n, all, count)
		}
	}
	runtime.GOMAXPROCS(1) // as the program may
	if n := Count(); n != 1 {
		t.Fatalf("%d where there is one", n)
	}
}
