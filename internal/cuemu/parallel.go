package cuemu

import (
	"errors"
	"sync"
)

// compilers is how many run at a time: more do not pay on the small machines
// that tests run on.
const compilers = 2

// parallel calls f for 0 to n-1 and returns all errors.
func parallel(n int, f func(int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(compilers, n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				errs[i] = f(i)
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}
