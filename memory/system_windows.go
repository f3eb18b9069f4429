package memory

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var globalMemoryStatusEx = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// System gives the bytes of memory of the machine, and how many of them are
// free now; 0 where the system does not tell.
func System() (total, free int64) {
	// MEMORYSTATUSEX of sysinfoapi.h
	var status struct {
		length, load                                 uint32
		totalPhys, availPhys, totalPage, availPage   uint64
		totalVirtual, availVirtual, availExtendedVir uint64
	}
	status.length = uint32(unsafe.Sizeof(status))
	if ok, _, _ := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0, 0
	}
	return int64(status.totalPhys), int64(status.availPhys)
}
