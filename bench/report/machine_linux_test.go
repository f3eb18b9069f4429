package report

import "testing"

func TestProcFiles(t *testing.T) {
	name, cores := cpuinfo([]byte("processor\t: 0\nmodel name\t: X 9\nphysical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 1\nmodel name\t: X 9\nphysical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n"))
	if name != "X 9" || cores != 2 {
		t.Errorf("cpuinfo: %q, %d cores", name, cores)
	}
	if n, err := statusBytes([]byte("VmPeak:\t 9 kB\nVmHWM:\t   12 kB\n"), "VmHWM"); n != 12<<10 || err != nil {
		t.Errorf("VmHWM: %d, %v", n, err)
	}
	for _, bad := range []string{"", "VmHWM: x kB\n", "VmHWMX: 1 kB\n"} {
		if n, err := statusBytes([]byte(bad), "VmHWM"); err == nil {
			t.Errorf("%q gave %d", bad, n)
		}
	}
	if got := osRelease([]byte("ID=x\nPRETTY_NAME=\"Some Linux 1\"\n")); got != "Some Linux 1" {
		t.Errorf("os-release: %q", got)
	}
	for in, want := range map[string]int64{"2048K\n": 2 << 20, "32M": 32 << 20, "7": 7, "": 0, "x": 0} {
		if got := cacheSize(in); got != want {
			t.Errorf("cache %q: %d", in, got)
		}
	}
}
