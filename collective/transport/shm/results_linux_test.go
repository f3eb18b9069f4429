package shm

import "testing"

// The way that took less is gone after both have been tried, and anew from time to time, when another may.
func TestResults(t *testing.T) {
	for _, quicker := range []bool{false, true} {
		r := results{}
		call := func(quicker bool) bool {
			taken, took := r.taken(), 2.0
			if taken == quicker {
				took = 1
			}
			if r.calls < resultsCold {
				took = 9
			}
			r.learn(taken, took)
			return taken
		}
		for n := range resultsAgain {
			tried := n >= resultsCold && n < resultsCold+2*resultsTries
			if taken := call(quicker); !tried && n < resultsCold && taken || !tried && n > resultsCold && taken != quicker {
				t.Fatalf("call %d: taken %v, quicker %v", n, taken, quicker)
			}
		}
		for n := range resultsAgain {
			if taken := call(!quicker); n >= 2*resultsTries && taken == quicker {
				t.Fatalf("call %d after it changed: taken %v, quicker %v", n, taken, !quicker)
			}
		}
	}
	// Of ranks that differ none has tried to take results.
	r := results{}
	for range resultsAgain {
		r.learn(false, 1)
	}
	r.calls = resultsAgain - 1
	if r.taken() {
		t.Error("a way that nobody has gone is taken")
	}
}
