package memory

import (
	"os"
	"strconv"
	"strings"
)

// System gives the bytes of memory that this process may use in all, the
// machine's or its control group's, and how many of them are free now; 0 where
// the system does not tell.
func System() (total, free int64) {
	b, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "MemTotal":
			total = n << 10
		case "MemAvailable":
			free = n << 10
		}
	}
	for _, group := range [][2]string{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, used := readInt(group[0]), readInt(group[1])
		if limit > 0 && (total == 0 || limit < total) { // "max" and huge numbers mean no limit
			total = limit
			free = max(0, min(free, limit-used))
		}
	}
	return total, free
}

// readInt reads a file that holds one number, 0 where it does not.
func readInt(path string) int64 {
	b, _ := os.ReadFile(path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}
