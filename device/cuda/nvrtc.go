package cuda

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/dl"
)

// compiler is NVRTC: that of the machine, or a literal in a test.
type compiler struct {
	library string
	version int   // as a driver's: 12090
	archs   []int // compute capabilities it compiles for, the least first
	// compile gives PTX, and for an sm_ architecture a binary too. A text that
	// does not compile is an error; log is what the compiler wrote either way.
	compile func(name, text string, options []string) (ptx, binary []byte, log string, err error)
}

// nvrtcNames are the names that NVRTC may have, the newest first; those of the
// folder of a toolkit come after what the system's search finds.
func nvrtcNames(goos string, env func(string) string) []string {
	names := []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.11.1", "libnvrtc.so.11.0", "libnvrtc.so"}
	folder := "lib64"
	switch goos {
	case "windows":
		names = []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll", "nvrtc64_111_0.dll", "nvrtc64_110_0.dll"}
		folder = "bin"
	case "darwin":
		return []string{"/usr/local/cuda/lib/libnvrtc.dylib"}
	}
	var folders []string
	for _, name := range []string{"CUDA_PATH", "CUDA_HOME"} {
		if home := env(name); home != "" && !slices.Contains(folders, filepath.Join(home, folder)) {
			folders = append(folders, filepath.Join(home, folder))
		}
	}
	if goos != "windows" {
		folders = append(folders, "/usr/local/cuda/lib64")
	}
	all := slices.Clone(names)
	for _, f := range folders {
		for _, n := range names {
			all = append(all, filepath.Join(f, n))
		}
	}
	return all
}

// compilers are those that were loaded, by what was asked for.
var compilers struct {
	sync.Mutex
	loaded map[string]*compiler
}

// loadCompiler finds NVRTC: the first that is no newer than the driver, whose
// PTX the driver is sure to take, else the first that there is.
func loadCompiler(path string, driverVersion int) (*compiler, error) {
	key := fmt.Sprint(path, " ", driverVersion)
	compilers.Lock()
	defer compilers.Unlock()
	if c := compilers.loaded[key]; c != nil {
		return c, nil
	}
	names := []string{path}
	if path == "" {
		names = nvrtcNames(runtime.GOOS, os.Getenv)
	}
	var newer *compiler
	var reasons []error
	for _, name := range names {
		c, err := openCompiler(name)
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		if c.version <= driverVersion {
			newer = c
			break
		}
		if newer == nil {
			newer = c
		}
	}
	if newer == nil {
		return nil, errors.Join(reasons...)
	}
	if compilers.loaded == nil {
		compilers.loaded = map[string]*compiler{}
	}
	compilers.loaded[key] = newer
	return newer, nil
}

// openCompiler loads one library.
func openCompiler(path string) (*compiler, error) {
	if filepath.IsAbs(path) {
		// The library opens its builtins by name, which the system finds once
		// they are loaded. Older versions have none beside them.
		parts, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "libnvrtc-builtins.so.*"))
		for _, p := range parts {
			if !strings.Contains(filepath.Base(p), ".alt.") {
				_, _ = dl.Open(p)
			}
		}
	}
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	c, err := bindCompiler(lib)
	if err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return c, nil
}

// nvrtc is the device's compiler.
func (d *Device) nvrtc(call, name string) (*compiler, error) {
	get := d.options.compile
	if get == nil {
		get = func() (*compiler, error) { return loadCompiler(d.options.nvrtc, d.lib.version) }
	}
	c, err := get()
	if err != nil {
		return nil, &device.Error{Device: d.name, Call: call, Kind: device.ErrUnsupported, Cause: err,
			Text: fmt.Sprintf("%q is CUDA C, and NVRTC, which compiles it, is not here: %v", name, err)}
	}
	return c, nil
}

// compile makes code for the device from CUDA C: PTX where the driver is sure
// to take it, else a binary for this very GPU, which a driver takes from any
// NVRTC of its own major version. ptx tells the kernels' parameters.
func (d *Device) compile(src device.Source) (image, ptx []byte, err error) {
	const call = "compile"
	c, err := d.nvrtc(call, src.Name)
	if err != nil {
		return nil, nil, err
	}
	arch, binary, err := c.target(d.limits.capability(), d.lib.version)
	if err != nil {
		return nil, nil, device.Errorf(device.ErrUnsupported, d.name, call, "%q: %v", src.Name, err)
	}
	options := []string{"--gpu-architecture=" + arch, "--fmad=false"} // a product is rounded before it is added to, as on every other backend
	for _, k := range slices.Sorted(maps.Keys(src.Defines)) {
		options = append(options, "-D"+k+"="+src.Defines[k])
	}
	cache := openCache()
	key := cacheKey(append([]string{c.library, fmt.Sprint(c.version), src.Name, src.Text}, options...))
	if image, ptx, ok := cache.get(key); ok {
		return image, ptx, nil
	}
	ptx, object, log, err := c.compile(src.Name, src.Text, options)
	if err != nil {
		return nil, nil, &device.Error{Device: d.name, Call: call, Kind: device.ErrUnsupported, Cause: err,
			Text: strings.TrimSpace(fmt.Sprintf("%q does not compile: %v\n%s", src.Name, err, log))}
	}
	image = ptx
	if binary {
		image = object
	}
	cache.put(key, image, ptx)
	return image, ptx, nil
}

// target is the architecture to compile for: the greatest that the compiler
// knows and the GPU runs.
func (c *compiler) target(capability, driverVersion int) (arch string, binary bool, err error) {
	best := 0
	for _, a := range c.archs {
		if a <= capability {
			best = max(best, a)
		}
	}
	what := fmt.Sprintf("NVRTC %s (%s)", versionText(c.version), c.library)
	switch {
	case best == 0:
		return "", false, fmt.Errorf("%s does not compile for compute capability %d.%d", what, capability/10, capability%10)
	case c.version <= driverVersion:
		return fmt.Sprintf("compute_%d", best), false, nil
	case c.version/1000 > driverVersion/1000:
		return "", false, fmt.Errorf("%s is of a later major version than the driver (CUDA %s), which takes no code of it", what, versionText(driverVersion))
	case best/10 != capability/10:
		return "", false, fmt.Errorf("%s is newer than the driver (CUDA %s) and makes no binary for compute capability %d.%d",
			what, versionText(driverVersion), capability/10, capability%10)
	}
	return fmt.Sprintf("sm_%d", best), true, nil
}
