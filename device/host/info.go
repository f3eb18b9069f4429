package host

import (
	"runtime"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
)

// Info describes the processor: its product name and caches as it tells them
// itself (CPUID, or what the system says on other architectures), as many
// units as GOMAXPROCS lets run, and the names of its instruction sets in lower
// case ("avx2", "avx512f", "asimd"). Memory is that of the machine or of the
// control group, whichever is less. Tier is left empty: it belongs to the
// kernels that are put on the device.
func (d *Device) Info() device.Info {
	total, free := memory.System()
	info := device.Info{
		Name:       name,
		Vendor:     cpuid.CPU.VendorString,
		Model:      strings.TrimSpace(cpuid.CPU.BrandName),
		Driver:     runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Units:      processors.Count(),
		Lanes:      lanes(),
		Memory:     total,
		MemoryFree: free,
		CacheL1:    known(cpuid.CPU.Cache.L1D),
		CacheL2:    known(cpuid.CPU.Cache.L2),
		MaxGroup:   1 << 20,
		Unified:    true,
	}
	info.Cache = max(info.CacheL2, known(cpuid.CPU.Cache.L3))
	for _, f := range cpuid.CPU.FeatureSet() {
		info.Features = append(info.Features, strings.ToLower(f))
	}
	if info.Model == "" {
		info.Model = systemModel()
	}
	if info.Model == "" {
		info.Model = runtime.GOARCH
	}
	return info
}

// known is a cache size, 0 where cpuid could not tell.
func known(size int) int64 { return int64(max(0, size)) }

// lanes is how many 32-bit values the widest vector register holds that both
// the processor and the operating system support.
func lanes() int {
	switch {
	case cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL):
		return 16
	case cpuid.CPU.Supports(cpuid.AVX2):
		return 8
	default:
		return 4 // SSE2 and NEON are part of their architectures
	}
}
