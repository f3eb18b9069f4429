package gang

import (
	"fmt"
	"os"
)

// machine is what members have in common that reach the same files of a folder in memory: the boot of a system, the file system, and the user. It is
// empty where tables had better go over connections.
func machine(folder string) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	info, err := os.Stat(folder)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %v %d", boot, deviceOf(info), os.Getuid())
}
