// Package main is the C interface of volley: built with -buildmode=c-shared it is libvolley.so, whose header is include/volley.h. It converts,
// and nothing more: every function finds the objects that its handles stand for, calls the Go library, and turns what comes back into handles
// and statuses.
//
// A function volley_x of the header is in entry.c, which is generated and looks for a fork and for NULLs; it goes on to go_volley_x here.
// Handles are numbers on both sides, so that C holds no address of Go's and a handle that was freed is found out. A panic ends in call, as the
// status VOLLEY_INTERNAL.
//
// All of it needs cgo; without cgo the package is empty.
package main

//go:generate go run ../internal/capigen -root ..

// #cgo CFLAGS: -I${SRCDIR}/include
// #include "base.h"
import "C"

import (
	"runtime"
	"sync"

	"github.com/volley-go/volley/internal/processors"
)

// Who calls the library has threads of its own, and finds a processor of the runtime's for each call, whatever loops run.
func init() {
	processors.LeaveOne()
	makeThreads(2*runtime.GOMAXPROCS(0) + 2)
	C.vly_as_it_was()
}

// makeThreads has the runtime make n threads now, which it keeps and takes before it makes another one. Later ones may come from a thread that
// calls in, and are not behind others then, see behind.c.
func makeThreads(n int) {
	var made, ended sync.WaitGroup
	end := make(chan struct{})
	made.Add(n)
	for range n {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			made.Done()
			<-end
		})
	}
	made.Wait()
	close(end)
	ended.Wait()
}

func main() {} // of a library: never called
