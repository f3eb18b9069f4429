//go:build unix

package rendezvous

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file of a meeting that is another user's, or that others may read or write, or that is no plain file, is not met in; nor
// is a link followed, wherever it leads, and what it leads to stays as it is.
func TestMeetingInAForeignFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	make := func(name string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	cases := map[string]string{
		make("writable", 0o622): "its mode is 0622",
		make("readable", 0o644): "its mode is 0644",
		make("group", 0o640):    "its mode is 0640",
		at("link"):              "is a link",
		at("dangling"):          "is a link",
		at("fifo"):              "is no plain file",
	}
	target := make("target", 0o600)
	for link, to := range map[string]string{"link": target, "dangling": at("nothing")} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := make("foreign", 0o600)
	if os.Chown(foreign, os.Geteuid()+1, -1) == nil { // only root may give files away
		cases[foreign] = "is another user's"
	}
	for path, want := range cases {
		for rank := range 2 {
			_, err := Meet(within(t, limit), world(rank, 2, "file://"+path), nil, nil)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("rank %d: %v, want %s", rank, err, want)
			}
		}
	}
	if info, err := os.Stat(target); err != nil || info.Size() != 0 {
		t.Errorf("what the link leads to was written: %v, %v", info, err)
	}
	if _, err := os.Lstat(at("nothing")); err == nil {
		t.Error("what the dangling link leads to was made")
	}
	checkTables(t, meetAll(t, within(t, limit), all(2, "file://"+target), nil))
}
