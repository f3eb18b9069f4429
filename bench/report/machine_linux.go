package report

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func (m *Machine) detect() {
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU, m.Cores = cpuinfo(b)
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.MemoryBytes, _ = statusBytes(b, "MemTotal") // zero means not known
	}
	if b, err := os.ReadFile("/etc/os-release"); err == nil {
		if name := osRelease(b); name != "" {
			m.OS = name
		}
	}
	files, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*/size") // the pattern is well formed
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			m.CacheBytes = max(m.CacheBytes, cacheSize(string(b)))
		}
	}
}

// cpuinfo finds the processor's name and counts distinct pairs of socket and
// core. Kernels for arm64 give neither: "" and 0.
func cpuinfo(b []byte) (name string, cores int) {
	seen, socket := map[string]bool{}, ""
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20) // the line of feature flags is long
	for s.Scan() {
		key, value, _ := strings.Cut(s.Text(), ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "model name":
			name = value
		case "physical id":
			socket = value
		case "core id":
			seen[socket+"/"+value] = true
		}
	}
	return name, len(seen)
}

func osRelease(b []byte) string {
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// cacheSize reads the kernel's notation, such as "2048K".
func cacheSize(s string) int64 {
	s = strings.TrimSpace(s)
	shift := 0
	switch {
	case strings.HasSuffix(s, "K"):
		shift = 10
	case strings.HasSuffix(s, "M"):
		shift = 20
	}
	n, err := strconv.ParseInt(strings.TrimRight(s, "KM"), 10, 64)
	if err != nil {
		return 0
	}
	return n << shift
}
