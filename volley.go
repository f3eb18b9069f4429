// Package volley opens the processors of this machine for columnar work: Open
// gives a backend, a device with its kernels, that package table runs queries on
// and package expr evaluates expressions on.
//
//	dev, err := volley.Open("auto")
//	if err != nil {
//		return err
//	}
//	defer dev.Close()
//	late, err := storage.ScanParquet("flights.parquet").On(dev).
//		Filter("distance >= 500").
//		GroupBy("origin").Agg(table.Count(), table.Mean("delay")).
//		Sort(table.Desc("mean_delay")).
//		Collect(ctx)
package volley

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// Release is the version of this source: that of the C header, of what pkg-config
// and CMake find, and of the Python package.
const Release = "0.1.0"

// Version is the version of this library: that of the module where the program
// was built with it as a dependency, else "devel", with the revision if known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	const path = "github.com/volley-go/volley"
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == path && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	if info.Main.Path == path {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}

// Open opens a device by name: "cpu", "cuda:0", "opencl:1", or "auto" for the best
// that there is: the first CUDA device, else the first graphics card of OpenCL,
// else the CPU. A device that a CPU stands in for (Info.Emulated) is opened by
// its name only, and so is one whose backend lacks kernels. The caller closes the backend. A device that is not there, or a
// name that no backend of this build knows, is a device.ErrUnavailable that says
// why.
func Open(name string) (*kernels.Backend, error) {
	if name == "auto" {
		return openAuto()
	}
	for _, b := range backends {
		if name == b.prefix || strings.HasPrefix(name, b.prefix+":") {
			return b.open(name)
		}
	}
	return nil, device.Errorf(device.ErrUnavailable, name, "open", "no backend of that name; this build has auto, %s", strings.Join(prefixes(), ", "))
}

// openAuto opens the first device that is there, the preferred kinds first.
func openAuto() (*kernels.Backend, error) {
	var reasons []string
	for _, b := range backends {
		for _, d := range b.list() {
			if d.Err != nil {
				reasons = append(reasons, fmt.Sprintf("%s: %v", b.prefix, d.Err))
				continue
			}
			if d.Info.Emulated { // slower than the CPU itself
				continue
			}
			k, err := b.open(d.Info.Name)
			if err != nil {
				reasons = append(reasons, err.Error())
				continue
			}
			missing := k.Set.Missing()
			if len(missing) == 0 {
				return k, nil
			}
			reasons = append(reasons, fmt.Sprintf("%s has no kernels %s", d.Info.Name, strings.Join(missing, ", ")))
			if err := k.Close(); err != nil {
				reasons = append(reasons, err.Error())
			}
		}
	}
	return nil, device.Errorf(device.ErrUnavailable, "auto", "open", "%s", strings.Join(reasons, "; "))
}

// Found is a device of this machine, or why a kind of device is not there.
type Found struct {
	// Kind is the kind of device: "cuda", "opencl", "cpu".
	Kind string
	// Info describes the device; Info.Name opens it.
	Info device.Info
	// Err says why there is no device of the kind, or why one cannot be used. It
	// is a device.ErrUnavailable.
	Err error
}

// Devices lists the devices of every backend of this build, the preferred ones
// first, and for a backend without a device the reason.
func Devices() []Found {
	var all []Found
	for _, b := range backends {
		for _, f := range b.list() {
			f.Kind = b.prefix
			all = append(all, f)
		}
	}
	return all
}

func prefixes() []string {
	var names []string
	for _, b := range backends {
		names = append(names, b.prefix)
	}
	return names
}
