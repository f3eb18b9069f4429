package main

import (
	"errors"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// endsWithParent has the system kill a process when the thread that starts it has ended: that of launch, which stays.
func endsWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// staysOnThread keeps this goroutine on its thread until leave.
func staysOnThread() (leave func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// holdPort binds a port of the loopback device for as long as the ranks run, without listening on it. The system gives it to nobody who asks for any port,
// and rank 0, which names it, may still listen on it, as may what else takes MASTER_PORT: the socket lets itself be bound beside.
func holdPort() (port int, letGo func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		return 0, nil, errors.Join(err, unix.Close(fd))
	}
	return at.(*unix.SockaddrInet4).Port, func() { _ = unix.Close(fd) }, nil
}
