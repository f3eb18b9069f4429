package cpu

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// All tasks of loops that look and loops that do not, from several callers at
// once, run once each, before their loop ends.
func TestHelpersDoAll(t *testing.T) {
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for i := range 300 {
				n, workers := 1+(i*7+caller)%23, 1+i%5
				var done [23]atomic.Int64
				err := each(context.Background(), n, workers, &queue{}, i%3 != 0, func(worker, task int) error {
					if worker >= workers {
						t.Errorf("worker %d of %d", worker, workers)
					}
					if i%50 == 0 {
						time.Sleep(time.Duration(task%3) * linger)
					}
					done[task].Add(1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				for task := range n {
					if got := done[task].Load(); got != 1 {
						t.Errorf("task %d of %d ran %d times", task, n, got)
					}
				}
			}
		})
	}
	callers.Wait()
	nobodyLooks(t)
}

// nobodyLooks waits for the helpers that look to give it up.
func nobodyLooks(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); idle.count.Load() > 0; time.Sleep(linger) {
		if time.Now().After(deadline) {
			t.Fatalf("%d helpers look on", idle.count.Load())
		}
	}
	idle.mu.Lock()
	defer idle.mu.Unlock()
	if len(idle.all) > 0 {
		t.Errorf("%d helpers are in the list", len(idle.all))
	}
}

// A helper that looks takes the next loop's job; where it has given up, another
// begins.
func TestHelperLooksForTheNext(t *testing.T) {
	nobodyLooks(t)
	h, got := new(helper), make(chan *job)
	go func() { got <- h.look() }()
	for idle.count.Load() == 0 {
		select {
		case <-got: // it gave up before this goroutine looked
			go func() { got <- h.look() }()
		default:
		}
	}
	var g crew
	g.begin(true)
	var ran atomic.Bool
	j := &job{&g, func() { ran.Store(true) }}
	help(j)
	if next := <-got; next != nil { // this test has the helper, and runs what it got
		if next != j || ran.Load() {
			t.Fatal("the helper got another job")
		}
		if !next.run() || !ran.Load() {
			t.Error("the helper's job did not run, or it may not look on")
		}
	}
	g.wait()
	if h.look() != nil {
		t.Error("a job out of nothing")
	}
	nobodyLooks(t)
}

// A helper that comes when the caller is through does nothing and is not waited
// for.
func TestLateHelperIsSentAway(t *testing.T) {
	var g crew
	g.begin(true)
	g.wait()
	if (&job{&g, func() { t.Error("it ran") }}).run() {
		t.Error("it may look on")
	}
}

// A caller sleeps until a helper that takes long has left, which then ends.
func TestCallerSleeps(t *testing.T) {
	for _, looks := range []bool{false, true} {
		var g crew
		g.begin(looks)
		for range 2 {
			if !g.enter() {
				t.Fatal("a helper is sent away")
			}
		}
		woken := make(chan bool)
		go func() { g.wait(); close(woken) }()
		for g.state.Load()&asleep == 0 {
			time.Sleep(linger)
		}
		if g.leave() {
			t.Error("a helper looks on while the caller sleeps")
		}
		select {
		case <-woken:
			t.Error("the caller goes on before all have left")
		case <-time.After(10 * linger):
		}
		if g.leave() {
			t.Error("the last helper looks on while the caller sleeps")
		}
		<-woken
	}
}

// Errors and panics in a helper's task are the loop's.
func TestHelpersFail(t *testing.T) {
	failure := errors.New("a failure")
	for range 50 {
		var others sync.WaitGroup
		others.Add(1)
		err := each(context.Background(), 2, 2, &queue{}, true, func(_, task int) error {
			if task == 0 {
				others.Wait() // so that a helper has the other
				return nil
			}
			defer others.Done()
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
		others.Add(1)
		err = each(context.Background(), 2, 2, &queue{}, true, func(_, task int) error {
			if task == 0 {
				others.Wait()
				return nil
			}
			defer others.Done()
			panic("a panic")
		})
		if err == nil {
			t.Fatal("no error")
		}
	}
	nobodyLooks(t)
}
