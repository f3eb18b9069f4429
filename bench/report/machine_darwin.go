package report

import "golang.org/x/sys/unix"

// detect leaves at zero what the running system does not know: an Apple
// processor, for one, has no hw.l3cachesize.
func (m *Machine) detect() {
	if s, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil {
		m.CPU = s
	}
	if n, err := unix.SysctlUint32("hw.physicalcpu"); err == nil {
		m.Cores = int(n)
	}
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		m.MemoryBytes = int64(n)
	}
	if s, err := unix.Sysctl("kern.osproductversion"); err == nil {
		m.OS = "macOS " + s
	}
	for _, name := range []string{"hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"} {
		if n, err := unix.SysctlUint64(name); err == nil {
			m.CacheBytes = max(m.CacheBytes, int64(n))
		}
	}
}
