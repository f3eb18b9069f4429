package opencl

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/volley-go/volley/device"
)

// describe asks the device about itself; what it gives is why the device cannot
// be used, or "".
func (p *processor) describe() string {
	p.kind = uint64(p.number(deviceType))
	p.version = p.text(deviceVersion)
	p.extensions = strings.Fields(p.text(deviceExtensions))
	p.alignment = max(1, p.number(deviceMemBaseAddrAlign)/8)
	p.maxAllocate = p.number(deviceMaxMemAllocSize)
	sizes, _ := p.drv.getDeviceInfo(p.id, deviceMaxWorkItemSizes)
	for i := range p.maxItems {
		if len(sizes) >= 8*(i+1) {
			p.maxItems[i] = int64(binary.NativeEndian.Uint64(sizes[8*i:]))
		}
	}
	if p.drv.svmAlloc != nil && atLeast(p.version, 2, 0) {
		p.svm = uint64(p.number(deviceSVMCapabilities))
	}
	p.standard = "-cl-std=CL1.2"
	if p.warps() {
		p.standard = "-cl-std=CL3.0" // what kernels ask of sub-groups is of that language
	}
	if p.kind&deviceTypeCPU == 0 && p.number(deviceSingleFPConfig)&fpCorrectlyRoundedDivideSqrt != 0 {
		// NVIDIA's compiler makes an approximate quotient of two float32 even of one in float64 that is rounded.
		p.standard += " -cl-fp32-correctly-rounded-divide-sqrt"
	}
	p.info = device.Info{
		Vendor:      p.text(deviceVendor),
		Model:       p.text(deviceName),
		Driver:      p.platformText + ", " + p.version + ", driver " + p.text(driverVersion),
		Units:       int(max(1, p.number(deviceMaxComputeUnits))),
		Lanes:       p.lanes(),
		Memory:      p.number(deviceGlobalMemSize),
		LocalMemory: p.number(deviceLocalMemSize),
		Cache:       p.number(deviceGlobalCacheSize),
		MaxGroup:    int(p.number(deviceMaxWorkGroupSize)),
		Features:    p.features(),
		Emulated:    p.kind&deviceTypeCPU != 0,
	}
	switch {
	case p.number(deviceAvailable) == 0:
		return "the device is not available"
	case p.number(deviceCompilerAvailable) == 0:
		return "the device has no compiler"
	case !atLeast(p.version, 1, 2):
		return p.version + " is too old, OpenCL 1.2 is needed"
	case p.number(deviceEndianLittle) == 0:
		return "the device is big-endian"
	case p.info.MaxGroup < 1 || p.maxAllocate < 1:
		return "the device tells no limits"
	}
	return ""
}

// lanes is how many 32-bit values the device handles in step: a warp, a
// wavefront, or a vector of a CPU.
func (p *processor) lanes() int {
	for _, key := range []uint32{deviceWarpSizeNV, deviceWavefrontWidthAMD} {
		if n := p.number(key); n > 0 {
			return int(n)
		}
	}
	if p.kind&deviceTypeCPU == 0 {
		return 32 // no query before OpenCL 2.1, and none that is not of a kernel after
	}
	return int(max(1, p.number(deviceNativeWidthInt)))
}

// warps reports that a kernel can be held to sub-groups of 32, with votes and
// shuffles between their items.
func (p *processor) warps() bool {
	for _, needed := range []string{
		"cl_intel_required_subgroup_size", "cl_khr_subgroup_ballot", "cl_khr_subgroup_shuffle", "cl_khr_subgroup_shuffle_relative",
	} {
		if !slices.Contains(p.extensions, needed) {
			return false
		}
	}
	const size, name = 68, 4
	features, _ := p.drv.getDeviceInfo(p.id, deviceLanguageFeatures)
	for f := range slices.Chunk(features, size) {
		if len(f) == size && text(f[name:]) == "__opencl_c_subgroups" {
			sizes, _ := p.drv.getDeviceInfo(p.id, deviceSubGroupSizes)
			for s := range slices.Chunk(sizes, 8) {
				if len(s) == 8 && binary.NativeEndian.Uint64(s) == 32 {
					return true
				}
			}
		}
	}
	return false
}

// features are the optional abilities under the names of device.Info, and
// "cpu" for a device that is the host's own processor. "subgroups-32" is a
// device that is built for in OpenCL C 3.0 and has sub-groups of 32 as warps.
func (p *processor) features() []string {
	var all []string
	add := func(has bool, name string) {
		if has {
			all = append(all, name)
		}
	}
	has := func(extension string) bool { return slices.Contains(p.extensions, extension) }
	add(p.number(deviceDoubleFPConfig) != 0, "fp64")
	add(has("cl_khr_fp16"), "fp16")
	add(has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics"), "int64-atomics")
	add(p.number(deviceMaxNumSubGroups) > 0 && (has("cl_khr_subgroups") || atLeast(p.version, 3, 0)), "subgroups")
	add(p.warps(), "subgroups-32")
	add(p.svm&svmFineGrainBuffer != 0, "svm")
	add(p.number(deviceHostUnifiedMemory) != 0, "unified-memory")
	add(p.kind&deviceTypeCPU != 0, "cpu")
	return all
}

// Info describes the device. Lanes is the width of a warp or wavefront, or of
// a CPU's vectors; MemoryFree is what this process has not taken, or what the
// driver says is free where it does. Emulated is true for OpenCL on a CPU, and
// "cpu" among the features. Unified is false even where the memory is the
// host's own ("unified-memory"), as bytes are copied all the same. Tier is
// left empty: it belongs to the kernels.
func (d *Device) Info() device.Info {
	info := d.core.proc.info
	info.Features = slices.Clone(info.Features)
	info.MemoryFree = max(0, info.Memory-d.core.inUse.Load())
	if value, st := d.core.drv.getDeviceInfo(d.core.proc.id, deviceFreeMemoryAMD); st == success && len(value) >= 8 && !info.Emulated {
		info.MemoryFree = min(info.MemoryFree, int64(binary.NativeEndian.Uint64(value))<<10)
	}
	return info
}

// hostCache is what a device that shares the host's memory may keep: as
// package host does.
func hostCache(total int64) int64 { return min(max(total/8, 64<<20), 4<<30) }
