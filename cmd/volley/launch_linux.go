package main

import (
	"runtime"
	"syscall"
)

// endsWithParent has the system kill a process when the thread that starts it has ended: that of launch, which stays.
func endsWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// staysOnThread keeps this goroutine on its thread until leave.
func staysOnThread() (leave func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
