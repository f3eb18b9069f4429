package rendezvous

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The variables by which a rank of PMI is known, and what it has in common with the scripts
// around it.
var ofRank = []string{"PMI_RANK", "PMI_FD"}

// deepest is how many processes may be between a rank and its launcher.
const deepest = 64

// launcherProcess names the process that launched the ranks of this machine: the first that
// this one descends from that is not the same rank itself, such as a script around it. It is
// "" where the system does not tell, or where this process is none that was launched.
func launcherProcess(getenv func(string) string) string {
	if getenv(ofRank[0]) == "" {
		return ""
	}
	own := make([]string, len(ofRank))
	for i, name := range ofRank {
		own[i] = getenv(name)
		if own[i] != os.Getenv(name) { // who is told that it is a rank descends from no launcher
			return ""
		}
	}
	return ancestor("/proc", os.Getpid(), own)
}

// ancestor finds it in a folder of processes; own are the values of ofRank.
func ancestor(proc string, pid int, own []string) string {
	for range deepest {
		parent, _, err := family(proc, pid)
		if err != nil || parent <= 1 { // the launcher has ended: what is above is of all jobs
			return ""
		}
		// A process of somebody else, whose environment is not shown, is none of the rank's.
		environment, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", proc, parent))
		if err != nil || !same(environment, own) {
			_, began, err := family(proc, parent)
			if err != nil {
				return ""
			}
			return fmt.Sprintf("launcher-%d-%s", parent, began)
		}
		pid = parent
	}
	return ""
}

// same says that an environment, as the system shows it, is that of the rank.
func same(environment []byte, own []string) bool {
	for i, name := range ofRank {
		value := ""
		for _, v := range bytes.Split(environment, []byte{0}) {
			if text, ok := bytes.CutPrefix(v, []byte(name+"=")); ok {
				value = string(text)
			}
		}
		if value != own[i] {
			return false
		}
	}
	return true
}

// family is a process's parent and when it began, in the system's ticks.
func family(proc string, pid int) (parent int, began string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", proc, pid))
	if err != nil {
		return 0, "", err
	}
	// What comes after the name, which may have anything in it: state, parent, ...
	words := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const parentAt, beganAt = 1, 19
	if len(words) <= beganAt {
		return 0, "", fmt.Errorf("process %d: %q", pid, text)
	}
	parent, err = strconv.Atoi(words[parentAt])
	return parent, words[beganAt], err
}
