package cuda

import "unsafe"

// code is a CUresult.
type code int32

// handle is a pointer of the driver's own (CUcontext, CUstream, CUevent,
// CUmodule, CUfunction, CUmemoryPool); address is a CUdeviceptr.
type (
	handle  = uintptr
	address = uintptr
)

// required are the entry points without which a driver is not used. CUDA 11.0
// has them all. The suffixes are the versions of the functions as cuda.h of
// CUDA 11 to 13 has them; streams are always named, so that no variant for a
// default stream (_ptds, _ptsz) is needed.
var required = []string{
	"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
	"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2",
	"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
	"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamWaitEvent",
	"cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventQuery", "cuEventSynchronize", "cuEventElapsedTime",
	"cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
	"cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemHostGetDevicePointer_v2",
	"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync", "cuMemsetD8Async",
	"cuModuleLoadDataEx", "cuModuleUnload", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute",
	"cuLaunchKernel", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
}

// optional are entry points that are used where there are: of later versions
// (memory pools 11.2, cuFuncGetParamInfo 12.4) or for what can be left out.
var optional = []string{
	"cuMemPoolCreate", "cuMemPoolDestroy", "cuMemPoolSetAttribute", "cuMemPoolGetAttribute", "cuMemPoolSetAccess", "cuMemPoolTrimTo",
	"cuMemAllocFromPoolAsync", "cuMemFreeAsync",
	"cuFuncGetParamInfo", "cuDevicePrimaryCtxReset_v2",
	"cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuDeviceGetUuid",
}

// nvrtcRequired and nvrtcOptional are those of NVRTC.
var (
	nvrtcRequired = []string{
		"nvrtcVersion", "nvrtcGetErrorString", "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcDestroyProgram",
		"nvrtcGetPTXSize", "nvrtcGetPTX", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
	}
	nvrtcOptional = []string{"nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"}
)

// driver is the part of the CUDA Driver API that is used, as Go functions: that
// of the machine, or a literal in a test. Each is the entry point of the same
// name; results come first and the CUresult last. Functions that a driver has
// not got and that can be left out are nil.
type driver struct {
	library string // where it was loaded from

	init        func() code
	version     func() (int, code) // 12090 is 12.9
	errorName   func(code) string
	errorString func(code) string

	deviceCount     func() (int, code)
	deviceGet       func(ordinal int) (int32, code)
	deviceName      func(dev int32) (string, code)
	deviceAttribute func(attribute int, dev int32) (int, code)
	deviceTotalMem  func(dev int32) (int64, code)
	deviceUUID      func(dev int32) ([16]byte, code) // may be nil

	primaryRetain  func(dev int32) (handle, code)
	primaryRelease func(dev int32) code
	primaryReset   func(dev int32) code // may be nil
	ctxPush        func(ctx handle) code
	ctxPop         func() code

	streamCreate      func(flags uint32) (handle, code)
	streamDestroy     func(stream handle) code
	streamSynchronize func(stream handle) code
	streamWaitEvent   func(stream, event handle) code

	eventCreate      func(flags uint32) (handle, code)
	eventDestroy     func(event handle) code
	eventRecord      func(event, stream handle) code
	eventQuery       func(event handle) code
	eventSynchronize func(event handle) code
	eventElapsed     func(start, end handle) (milliseconds float32, c code)

	memInfo           func() (free, total int64, c code)
	memAlloc          func(size int64) (address, code)
	memFree           func(p address) code
	hostAlloc         func(size int64, flags uint32) (unsafe.Pointer, code)
	hostFree          func(p unsafe.Pointer) code
	hostRegister      func(p unsafe.Pointer, size int64, flags uint32) code
	hostUnregister    func(p unsafe.Pointer) code
	hostDevicePointer func(p unsafe.Pointer) (address, code)

	copyToDevice func(dst address, src unsafe.Pointer, n int64, stream handle) code
	copyToHost   func(dst unsafe.Pointer, src address, n int64, stream handle) code
	copyOnDevice func(dst, src address, n int64, stream handle) code
	copyPeer     func(dst address, dstCtx handle, src address, srcCtx handle, n int64, stream handle) code
	fill         func(dst address, value byte, n int64, stream handle) code

	// moduleLoad gives the logs of the driver's compiler, also of a load that failed.
	moduleLoad   func(image []byte) (module handle, info, errors string, c code)
	moduleUnload func(module handle) code
	moduleGet    func(module handle, name string) (function handle, c code)
	funcGet      func(attribute int, function handle) (int, code)
	funcSet      func(function handle, attribute, value int) code
	// paramInfo is the place and size of a parameter; errorInvalidValue after the last. May be nil.
	paramInfo func(function handle, index int) (offset, size int64, c code)
	// launch takes the parameters' values one after the other, each in 8 bytes.
	launch    func(function handle, groups, items [3]uint32, local uint32, stream handle, params []uint64) code
	occupancy func(function handle, items int, local int64) (groups int, c code)

	// Memory pools; all nil where the driver has not got them.
	poolCreate       func(dev int32) (handle, code)
	poolDestroy      func(pool handle) code
	poolSetThreshold func(pool handle, bytes uint64) code
	poolKept         func(pool handle) (int64, code) // bytes that the pool holds and nobody uses
	poolSetAccess    func(pool handle, dev int32) code
	poolTrim         func(pool handle, keep int64) code
	poolAlloc        func(size int64, pool, stream handle) (address, code)
	poolFree         func(p address, stream handle) code

	// Peers; nil where the driver has not got them.
	canAccessPeer func(dev, peer int32) (bool, code)
	enablePeer    func(peerCtx handle) code
}
