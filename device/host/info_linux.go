package host

import (
	"bytes"
	"os"
	"strings"
)

// systemModel reads the processor's name where it has no way to tell itself.
func systemModel() string {
	if b, err := os.ReadFile("/sys/firmware/devicetree/base/model"); err == nil {
		return string(bytes.Trim(b, "\x00 \n"))
	}
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name", "Processor", "Hardware", "uarch":
			return strings.TrimSpace(value)
		}
	}
	return ""
}
