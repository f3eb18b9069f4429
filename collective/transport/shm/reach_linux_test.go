package shm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Processes reach each other that know each other by the same numbers.
func TestReach(t *testing.T) {
	processes, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	if r := Reach(); !strings.Contains(r, processes) || r != Reach() {
		t.Errorf("the reach is %q, without %s", r, processes)
	}
}

// What another user has put in a segment's place is not taken for it.
func TestSegmentOfAnotherUser(t *testing.T) {
	const size = 2
	file := filepath.Join(t.TempDir(), "segment")
	s, err := create(file, "group", size)
	if err != nil {
		t.Fatal(err)
	}
	defer s.forget()
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the segment is for %v: %v", info, err)
	}
	own, err := attach(file, "group", size)
	if err != nil {
		t.Fatal(err)
	}
	own.forget()
	if os.Chown(file, os.Getuid()+1, -1) != nil {
		file = os.DevNull // only root may give files away; this one is root's
	}
	if _, err := attach(file, "group", size); err == nil || !strings.Contains(err.Error(), "another user's") {
		t.Errorf("a segment of another user: %v", err)
	}
}
