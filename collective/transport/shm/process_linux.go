package shm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// permitReads lets the other ranks read this process's memory where the system
// asks for the process's own consent (Yama).
func permitReads() {
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
}

// readFrom copies from another process's memory. Short reads are an error: memory
// that was posted is there until it is flushed.
func readFrom(pid int, into []byte, address uint64) error {
	for len(into) > 0 {
		n := min(len(into), onceRead)
		local := unix.Iovec{Base: &into[0], Len: uint64(n)}
		remote := unix.RemoteIovec{Base: uintptr(address), Len: n}
		// A raw call: it is as long as a copy of so many bytes, during which a goroutine
		// gives way to nobody either, and the scheduler's part costs more than a short one.
		got, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
		if errno != 0 {
			return fmt.Errorf("read of process %d: %w", pid, errno)
		}
		if got == 0 {
			return fmt.Errorf("read of process %d: no bytes", pid)
		}
		into, address = into[got:], address+uint64(got)
	}
	return nil
}

// onceRead is how much is read at a time: some tens of microseconds.
const onceRead = 256 << 10

// readable says whether another process's memory can be read: it tries.
func readable(pid int, address uint64) bool {
	var probe [1]byte
	return readFrom(pid, probe[:], address) == nil
}

// writable says whether another process's memory can be written: it tries.
func writable(pid int, address uint64) bool {
	var probe [4]byte
	local := unix.Iovec{Base: &probe[0], Len: uint64(len(probe))}
	remote := unix.RemoteIovec{Base: uintptr(address), Len: len(probe)}
	got, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_WRITEV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return errno == 0 && int(got) == len(probe)
}

// watchable says whether the states of another process's threads can be seen.
func watchable(pid int) bool {
	state, ok := threadState(pid, pid)
	return ok && state != gone
}

// gone is the state of a thread that is not there any more.
const gone = 'X'

// threadState is what a thread does, in the letters of /proc; ok says that it can be told.
func threadState(pid, thread int) (state byte, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(thread) + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return gone, true
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) == 0 {
		return 0, false
	}
	return fields[0][0], true
}

// processor is the number of the one that this thread is on.
func processor() uint32 {
	var cpu uint32
	_, _, _ = unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0) // 0 where there is no such call: then all ranks share one
	return cpu
}

// bornAt is when a process started, in the system's ticks, and whether it runs: a
// zombie does not. With the number it tells a process from a later one of the same
// number.
func bornAt(pid int) (ticks uint64, runs bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The name, in parentheses, may hold anything; fields are counted behind it.
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if end < 0 || len(fields) < 20 {
		return 0, false
	}
	ticks, err = strconv.ParseUint(string(fields[19]), 10, 64)
	state := fields[0][0]
	return ticks, err == nil && state != 'Z' && state != 'X'
}
