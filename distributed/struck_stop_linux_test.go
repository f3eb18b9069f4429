package distributed

import (
	"os"
	"runtime"
	"syscall"
)

// stopSelf stops this process before it returns. A SIGSTOP for the process is taken by any one of its threads, when that next runs:
// on a busy machine the thread that has sent it goes on for milliseconds, in which an operator and the barrier behind it are over.
// One for the sender itself stops it on its way out of the call, and the others with it.
func stopSelf() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP); err != nil {
		panic(err)
	}
}
