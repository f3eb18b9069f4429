package report

import (
	"bytes"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestThisMachine(t *testing.T) {
	m := ThisMachine()
	if m.GOMAXPROCS < 1 || m.Threads < 1 || m.Go != runtime.Version() || m.Arch != runtime.GOARCH || m.OS == "" || m.Version == "" {
		t.Errorf("%+v", m)
	}
	if runtime.GOOS == "linux" && m.MemoryBytes < 1<<20 {
		t.Errorf("%d bytes of memory", m.MemoryBytes)
	}
	var b bytes.Buffer
	g := (Machine{Threads: 4, GOMAXPROCS: 2, OS: "linux", Arch: "arm64", Go: "go1.25", Version: "v1"}).Grid()
	if err := g.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "processor") || !strings.Contains(b.String(), "linux, arm64") {
		t.Errorf("%s", b.String())
	}
}

func TestVersionOf(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}
	other := debug.Module{Path: "example.com/app", Version: "v9.9.9"}
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"installed":    {debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3"}}, "v1.2.3"},
		"in its tree":  {debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}, Settings: vcs}, "devel-0123456789ab+dirty"},
		"no revision":  {debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}}, "devel"},
		"a dependency": {debug.BuildInfo{Main: other, Deps: []*debug.Module{{Path: modulePath, Version: "v0.4.0"}}, Settings: vcs}, "v0.4.0"},
		"replaced":     {debug.BuildInfo{Main: other, Deps: []*debug.Module{{Path: modulePath, Version: "v0.4.0", Replace: &debug.Module{Path: "../volley"}}}, Settings: vcs}, "devel"},
		"not there":    {debug.BuildInfo{Main: other, Settings: vcs}, "devel"},
	} {
		if got := versionOf(&c.info); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestPeakRSS(t *testing.T) {
	before, err := PeakRSS()
	if runtime.GOOS != "linux" {
		if err != nil && !errors.Is(err, ErrNotKnown) {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 64<<20)
	for i := 0; i < len(big); i += 4096 {
		big[i] = 1
	}
	after, err := PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(big)
	if after < 64<<20 || after < before {
		t.Errorf("peak %d after 64 MiB were touched, %d before", after, before)
	}
	big = nil
	if err := ResetPeakRSS(); err != nil {
		t.Fatal(err)
	}
	if again, err := PeakRSS(); err != nil || again > after-32<<20 {
		t.Errorf("peak %d after a reset, %d before it: %v", again, after, err)
	}
}
