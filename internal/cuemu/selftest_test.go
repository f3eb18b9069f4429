package cuemu

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// checks are those of src/selftest, and what the emulator's log must then say;
// "" is an empty log.
var checks = []struct {
	name, log string
	seeds     []string // all when empty
}{
	{name: "sum"},
	{name: "chain"},
	{name: "votes"},
	{name: "broken_barrier", log: `barrier divergence in kernel broken_barrier, block \(\d,0,0\): 128 threads wait at a barrier \(line \d+\), 128 have ended, of 256`},
	{name: "two_barriers", log: `kernel two_barriers, block .*: barrier divergence: it came to the barrier of line \d+ while \d+ of 128 threads wait at that of line \d+`},
	{name: "missing_barrier"},
	{name: "missing_lane", log: `deadlock in kernel missing_lane`},
	{name: "wrong_mask", log: `kernel wrong_mask, .*: the mask 0x00000001 of a warp operation lacks the calling lane`},
	{name: "overrun", log: `kernel overrun, block \(3,0,0\), thread \(232,0,0\): invalid write of 4 bytes at 0x[0-9a-f]+: 4000 bytes into an allocation of 4000 bytes`},
	{name: "use_after_free", log: `kernel fill, .*: invalid write of 4 bytes at .*: \d+ bytes into memory of 4000 bytes that was freed`},
	{name: "misaligned", log: `kernel misaligned, .* not aligned to its size`},
	{name: "null", log: `kernel fill, block \(0,0,0\), thread \(0,0,0\): invalid write of 4 bytes at .*: a null pointer`},
	{name: "wait_for_ever", log: `deadlock in kernel wait_for_ever: no thread gets on; block \(0,0,0\) has 64 threads that spin, 0 at a barrier, 0 ended`},
	{name: "in_order", log: `deadlock in kernel in_order`, seeds: []string{"1", "2", "77"}},
	{name: "divide", log: `kernel divide, .*: integer division by zero`},
	{name: "poison", log: `copy from the device of 101 bytes`},
	{name: "limits"},
	{name: "failures"},
	{name: "streams", log: `fill of 4000 bytes at .* freed`},
	{name: "peers", log: `Missing .version`},
	{name: "no_peer", log: `invalid write of 4 bytes`},
	{name: "modules", log: `no host-compiled kernel of this name(?s).*parameter 1 has 8 bytes`},
	{name: "ending"},
	{name: "cycles"},
}

// TestSelf breaks barriers and bounds on purpose, among other things, and wants
// each found, with several orders of threads and blocks.
func TestSelf(t *testing.T) {
	if why := Missing(); why != "" {
		// scripts/test.sh installs g++ and fails where this is not run; elsewhere there is no emulator to test.
		t.Log("no emulator: " + why)
		return
	}
	cache, err := Cache()
	if err != nil {
		t.Fatal(err)
	}
	lib, err := BuildLibrary(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "selftest")
	folder := filepath.Join("src", "selftest")
	err = compile(t.Context(), "-o", program, filepath.Join(folder, "selftest.cpp"), lib.Driver, lib.NVRTC, "-Wl,-rpath,"+lib.Home)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range checks {
		seeds := check.seeds
		if len(seeds) == 0 {
			seeds = []string{"0", "1", "2", "77"}
		}
		for _, seed := range seeds {
			t.Run(check.name+"/"+seed, func(t *testing.T) {
				log := filepath.Join(t.TempDir(), "log")
				cmd := exec.CommandContext(t.Context(), program, filepath.Join(folder, "kernels.cu"), check.name)
				cmd.Env = append(os.Environ(), "CUEMU_SEED="+seed, "CUEMU_DEVICES=2", "CUEMU_MEMORY=100000000", "CUEMU_LOG="+log)
				cmd.WaitDelay = time.Second
				out, err := cmd.CombinedOutput()
				said, _ := os.ReadFile(log)
				if err != nil {
					t.Fatalf("%v\n%s\nlog:\n%s", err, out, said)
				}
				switch {
				case check.log == "" && len(said) > 0:
					t.Errorf("log not empty: %s", said)
				case check.log != "" && !regexp.MustCompile(check.log).Match(said):
					t.Errorf("log is\n%s\nwant %s", strings.TrimSpace(string(said)), check.log)
				}
			})
		}
	}
}
