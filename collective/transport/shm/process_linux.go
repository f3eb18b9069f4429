package shm

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

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
		local := []unix.Iovec{{Base: &into[0], Len: uint64(len(into))}}
		remote := []unix.RemoteIovec{{Base: uintptr(address), Len: len(into)}}
		n, err := unix.ProcessVMReadv(pid, local, remote, 0)
		if err != nil {
			return fmt.Errorf("read of process %d: %w", pid, err)
		}
		if n == 0 {
			return fmt.Errorf("read of process %d: no bytes", pid)
		}
		into, address = into[n:], address+uint64(n)
	}
	return nil
}

// readable says whether another process's memory can be read: it tries.
func readable(pid int, address uint64) bool {
	var probe [1]byte
	return readFrom(pid, probe[:], address) == nil
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
