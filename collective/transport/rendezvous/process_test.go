package rendezvous

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The launcher is the first ancestor that is not the rank itself.
func TestAncestor(t *testing.T) {
	proc := t.TempDir()
	process := func(pid, parent int, name, environment string) {
		t.Helper()
		dir := filepath.Join(proc, fmt.Sprint(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		stat := fmt.Sprintf("%d (%s) S %d 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 %d00 23 24\n", pid, name, parent, pid)
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
		if environment == "-" { // not shown
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "environ"), []byte(environment), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const rank2 = "A=1\x00PMI_RANK=2\x00PMI_FD=9\x00"
	process(1, 0, "init", "-")
	process(10, 1, "mpiexec", "A=1\x00")
	process(20, 10, "hydra) (proxy", "A=1\x00")
	process(30, 20, "prog", rank2)
	process(31, 20, "sh", rank2)
	process(32, 31, "sh", rank2)
	process(33, 32, "prog", rank2)
	process(40, 33, "proxy of ranks in a rank", rank2)
	process(41, 40, "prog", "PMI_RANK=2\x00PMI_FD=12\x00")
	process(50, 10, "another user's", "-")
	process(51, 50, "prog", rank2)
	process(60, 1, "prog", rank2)
	own := []string{"2", "9"}
	for _, c := range []struct {
		name string
		pid  int
		own  []string
		want string
	}{
		{"a rank", 30, own, "launcher-20-2000"},
		{"a rank in scripts", 33, own, "launcher-20-2000"},
		{"launched within a rank", 41, []string{"2", "12"}, "launcher-40-4000"},
		{"below another user's process", 51, own, "launcher-50-5000"},
		{"whose launcher has ended", 60, own, ""},
		{"of which nothing is known", 99, own, ""},
	} {
		if got := ancestor(proc, c.pid, c.own); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
