package opencl

import (
	"fmt"

	"github.com/volley-go/volley/device"
)

// status is a cl_int: 0 is success.
type status int32

// The codes that are told apart.
const (
	success               status = 0
	deviceNotFound        status = -1
	deviceNotAvailable    status = -2
	compilerNotAvailable  status = -3
	memAllocationFailure  status = -4
	outOfResources        status = -5
	outOfHostMemory       status = -6
	profilingNotAvailable status = -7
	memCopyOverlap        status = -8
	buildProgramFailure   status = -11
	misalignedSubBuffer   status = -13
	waitListFailed        status = -14
	invalidContext        status = -34
	invalidCommandQueue   status = -36
	invalidBinary         status = -42
	invalidKernelName     status = -46
	invalidArgIndex       status = -49
	invalidArgValue       status = -50
	invalidArgSize        status = -51
	invalidKernelArgs     status = -52
	invalidWorkGroupSize  status = -54
	invalidWorkItemSize   status = -55
	invalidBufferSize     status = -61
	invalidGlobalWorkSize status = -63
	platformNotFound      status = -1001
	illegalAccessNV       status = -9999
)

var statusNames = map[status]string{
	deviceNotFound:        "CL_DEVICE_NOT_FOUND",
	deviceNotAvailable:    "CL_DEVICE_NOT_AVAILABLE",
	compilerNotAvailable:  "CL_COMPILER_NOT_AVAILABLE",
	memAllocationFailure:  "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	outOfResources:        "CL_OUT_OF_RESOURCES",
	outOfHostMemory:       "CL_OUT_OF_HOST_MEMORY",
	profilingNotAvailable: "CL_PROFILING_INFO_NOT_AVAILABLE",
	memCopyOverlap:        "CL_MEM_COPY_OVERLAP",
	buildProgramFailure:   "CL_BUILD_PROGRAM_FAILURE",
	misalignedSubBuffer:   "CL_MISALIGNED_SUB_BUFFER_OFFSET",
	waitListFailed:        "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-30:                   "CL_INVALID_VALUE",
	-33:                   "CL_INVALID_DEVICE",
	invalidContext:        "CL_INVALID_CONTEXT",
	invalidCommandQueue:   "CL_INVALID_COMMAND_QUEUE",
	-38:                   "CL_INVALID_MEM_OBJECT",
	invalidBinary:         "CL_INVALID_BINARY",
	-43:                   "CL_INVALID_BUILD_OPTIONS",
	-44:                   "CL_INVALID_PROGRAM",
	-45:                   "CL_INVALID_PROGRAM_EXECUTABLE",
	invalidKernelName:     "CL_INVALID_KERNEL_NAME",
	-48:                   "CL_INVALID_KERNEL",
	invalidArgIndex:       "CL_INVALID_ARG_INDEX",
	invalidArgValue:       "CL_INVALID_ARG_VALUE",
	invalidArgSize:        "CL_INVALID_ARG_SIZE",
	invalidKernelArgs:     "CL_INVALID_KERNEL_ARGS",
	invalidWorkGroupSize:  "CL_INVALID_WORK_GROUP_SIZE",
	invalidWorkItemSize:   "CL_INVALID_WORK_ITEM_SIZE",
	-57:                   "CL_INVALID_EVENT_WAIT_LIST",
	-58:                   "CL_INVALID_EVENT",
	-59:                   "CL_INVALID_OPERATION",
	invalidBufferSize:     "CL_INVALID_BUFFER_SIZE",
	invalidGlobalWorkSize: "CL_INVALID_GLOBAL_WORK_SIZE",
	platformNotFound:      "CL_PLATFORM_NOT_FOUND_KHR",
	illegalAccessNV:       "illegal read or write to a buffer",
}

func (s status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("OpenCL error %d", int32(s))
}

// kind is the kind of error of a code that a call of the driver returned.
func (s status) kind() error {
	switch s {
	case memAllocationFailure, outOfResources, outOfHostMemory, invalidBufferSize:
		return device.ErrOutOfMemory
	case deviceNotAvailable, invalidContext, invalidCommandQueue, illegalAccessNV:
		return device.ErrLost
	case deviceNotFound, platformNotFound:
		return device.ErrUnavailable
	case compilerNotAvailable:
		return device.ErrUnsupported
	case memCopyOverlap, misalignedSubBuffer, invalidArgIndex, invalidArgValue, invalidArgSize, invalidKernelArgs,
		invalidWorkGroupSize, invalidWorkItemSize, invalidGlobalWorkSize:
		return device.ErrMismatch
	}
	return nil
}

// runKind is the kind of error of work that the device began and did not
// finish: what is not a lack of memory leaves the device in no known state.
func (s status) runKind() error {
	switch s {
	case memAllocationFailure, outOfHostMemory:
		return device.ErrOutOfMemory
	}
	return device.ErrLost
}
