package processors

import (
	"os"
	"strings"
)

// Mine lists the processors that the calling thread may run on, as Linux writes them: "0-3,8". It is empty where the system does not say.
func Mine() string {
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), "\nCpus_allowed_list:")
	list, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(list)
}
