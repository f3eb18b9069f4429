package shm

import (
	"testing"
	"time"
)

// The way that takes less wins, again after the costs have changed places, and the other one is tried
// seldom.
func TestRouteFollowsCosts(t *testing.T) {
	var r route
	costs := map[bool]time.Duration{true: 3000, false: 5000}
	walk := func(n int) (ring int) {
		for range n {
			way := r.throughRing()
			r.learn(way, costs[way])
			if way {
				ring++
			}
		}
		return ring
	}
	walk(2 * routeTries)
	if ring := walk(routeAgain); ring != routeAgain-routeRetry {
		t.Errorf("%d of %d messages go through the faster ring", ring, routeAgain)
	}
	costs[true] = 15000
	walk(2 * routeAgain)
	if ring := walk(routeAgain); ring > routeRetry {
		t.Errorf("%d of %d messages go through a ring that has become slow", ring, routeAgain)
	}
	costs[true] = 2000
	walk(2 * routeAgain)
	if ring := walk(routeAgain); ring < routeAgain-routeRetry {
		t.Errorf("%d of %d messages go through a ring that is fast again", ring, routeAgain)
	}
}

func TestClassOf(t *testing.T) {
	for n, want := range map[int]int{1: -1, ringAlways: -1, ringAlways + 1: 0, 16 << 10: 0, 16<<10 + 1: 1, 32 << 10: 1, 64 << 10: 2, longest - 1: 4, longest: 4, longest + 1: -1} {
		if got := classOf(n); got != want || got >= routes {
			t.Errorf("%d bytes are of class %d, not %d", n, got, want)
		}
	}
}
