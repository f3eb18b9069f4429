package report

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Machine describes where and with what a measurement was made. What the
// operating system does not tell is left empty or zero, and out of the JSON.
type Machine struct {
	CPU         string `json:"cpu,omitempty"`          // the processor's own name
	Cores       int    `json:"cores,omitempty"`        // physical cores
	Threads     int    `json:"threads"`                // hardware threads this process may use
	GOMAXPROCS  int    `json:"gomaxprocs"`             // threads that Go runs at once
	MemoryBytes int64  `json:"memory_bytes,omitempty"` // main memory
	CacheBytes  int64  `json:"cache_bytes,omitempty"`  // the largest cache
	OS          string `json:"os"`                     // such as "linux" or "Debian GNU/Linux 12 (bookworm)"
	Arch        string `json:"arch"`                   // such as "amd64"
	Go          string `json:"go"`                     // such as "go1.25.0"
	Version     string `json:"version"`                // volley's version, see [Version]
}

// ThisMachine describes the machine this process runs on. It reads what the
// operating system says at each call and never fails: what cannot be read is
// left empty.
func ThisMachine() Machine {
	m := Machine{
		Threads:    runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		Go:         runtime.Version(),
		Version:    Version(),
	}
	m.detect()
	return m
}

// Grid lists the description as two columns, what is not known left out.
func (m Machine) Grid() Grid {
	g := Grid{Title: "Machine", Header: []string{"what", "value"}, Left: []bool{true, true}}
	add := func(name, value string, known bool) {
		if known {
			g.Add(name, value)
		}
	}
	add("processor", m.CPU, m.CPU != "")
	add("cores", fmt.Sprint(m.Cores), m.Cores > 0)
	add("hardware threads", fmt.Sprint(m.Threads), true)
	add("GOMAXPROCS", fmt.Sprint(m.GOMAXPROCS), true)
	add("memory", Bytes(m.MemoryBytes), m.MemoryBytes > 0)
	add("largest cache", Bytes(m.CacheBytes), m.CacheBytes > 0)
	add("system", m.OS+", "+m.Arch, true)
	add("Go", m.Go, true)
	add("volley", m.Version, true)
	return g
}

const modulePath = "github.com/volley-go/volley"

// Version returns the version of volley in this binary as the module system
// knows it: a tag such as "v0.3.1" or a pseudo-version; "devel" with the
// revision, and "+dirty" for a changed work tree, when it was built inside the
// repository without one; plain "devel" when nothing is known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	for _, d := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if d.Path != modulePath {
			continue
		}
		if d.Replace != nil {
			d = d.Replace
		}
		if d.Version != "" && d.Version != "(devel)" {
			return d.Version
		}
		if d != &info.Main {
			return "devel" // the settings below speak of another module
		}
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if info.Main.Path != modulePath || revision == "" {
		return "devel"
	}
	return "devel-" + revision[:min(12, len(revision))] + dirty
}
