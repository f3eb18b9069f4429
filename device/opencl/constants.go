package opencl

// handle is an object of the driver: a cl_platform_id, cl_device_id, cl_mem,
// cl_event and so on. 0 is none.
type handle = uintptr

// Values of cl.h that are used, by their names there.
const (
	platformVersion = 0x0901
	platformName    = 0x0902
	platformVendor  = 0x0903

	deviceTypeCPU         = 1 << 1
	deviceTypeGPU         = 1 << 2
	deviceTypeAccelerator = 1 << 3

	deviceType              = 0x1000
	deviceMaxComputeUnits   = 0x1002
	deviceMaxWorkGroupSize  = 0x1004
	deviceMaxWorkItemSizes  = 0x1005
	deviceMaxMemAllocSize   = 0x1010
	deviceMemBaseAddrAlign  = 0x1019 // in bits
	deviceGlobalCacheSize   = 0x101E
	deviceGlobalMemSize     = 0x101F
	deviceLocalMemSize      = 0x1023
	deviceEndianLittle      = 0x1026
	deviceAvailable         = 0x1027
	deviceCompilerAvailable = 0x1028
	deviceName              = 0x102B
	deviceVendor            = 0x102C
	driverVersion           = 0x102D
	deviceVersion           = 0x102F
	deviceExtensions        = 0x1030
	deviceHostUnifiedMemory = 0x1035
	deviceNativeWidthInt    = 0x1038
	deviceSingleFPConfig    = 0x101b
	deviceDoubleFPConfig    = 0x1032
	deviceSVMCapabilities   = 0x1053
	deviceMaxNumSubGroups   = 0x105C
	deviceLanguageFeatures  = 0x106F // cl_name_version: 4 bytes, then 64 of the name
	deviceSubGroupSizes     = 0x4108 // of cl_intel_required_subgroup_size: size_t each
	deviceWarpSizeNV        = 0x4003
	deviceFreeMemoryAMD     = 0x4039 // in KiB
	deviceWavefrontWidthAMD = 0x4043

	svmFineGrainBuffer = 1 << 1

	queueProfiling = 1 << 1

	memReadWrite     = 1 << 0
	memAllocHostPtr  = 1 << 4
	svmFineGrainFlag = 1 << 10

	memSize    = 0x1102
	memContext = 0x1106

	mapRead  = 1 << 0
	mapWrite = 1 << 1

	programBinarySizes = 0x1165
	programBinaries    = 0x1166
	programBuildLog    = 0x1183

	kernelNumArgs       = 0x1191
	kernelWorkGroupSize = 0x11B0
	kernelLocalMemSize  = 0x11B2

	eventExecutionStatus = 0x11D3
	profilingCommandEnd  = 0x1283
)

// fpCorrectlyRoundedDivideSqrt is a bit of what deviceSingleFPConfig tells.
const fpCorrectlyRoundedDivideSqrt = 1 << 7
