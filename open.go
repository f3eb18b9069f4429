package volley

import (
	"strconv"
	"strings"

	"github.com/volley-go/volley/device"
	cudadevice "github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/device/host"
	opencldevice "github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/cuda"
	"github.com/volley-go/volley/kernels/opencl"
)

// backend is one kind of device.
type backend struct {
	prefix string // of its devices' names
	open   func(name string) (*kernels.Backend, error)
	list   func() []Found
}

// backends is the one list of backends, the preferred ones first.
var backends = []backend{
	{
		prefix: "cuda",
		open: numbered("cuda", func(index int) (*kernels.Backend, error) {
			d, err := cudadevice.Open(index)
			if err != nil {
				return nil, err
			}
			return cuda.New(d), nil
		}),
		list: found(func() ([]device.Info, error) { return cudadevice.List() }),
	},
	{
		prefix: "opencl",
		open: numbered("opencl", func(index int) (*kernels.Backend, error) {
			d, err := opencldevice.Open(index)
			if err != nil {
				return nil, err
			}
			return opencl.New(d), nil
		}),
		list: found(opencldevice.List),
	},
	{prefix: "cpu", open: openCPU, list: listCPU},
}

// numbered opens devices of names such as "cuda:1" by their number; "cuda" alone
// is number 0.
func numbered(prefix string, open func(index int) (*kernels.Backend, error)) func(string) (*kernels.Backend, error) {
	return func(name string) (*kernels.Backend, error) {
		digits, given := strings.CutPrefix(name, prefix+":")
		if !given {
			return open(0)
		}
		index, err := strconv.Atoi(digits)
		if err != nil || index < 0 || strconv.Itoa(index) != digits {
			return nil, device.Errorf(device.ErrUnavailable, name, "open", "the names of such devices are %s:0, %s:1 and so on", prefix, prefix)
		}
		return open(index)
	}
}

// found lists the devices that a driver knows, or why there is none.
func found(list func() ([]device.Info, error)) func() []Found {
	return func() []Found {
		infos, err := list()
		if err != nil {
			return []Found{{Err: err}}
		}
		var all []Found
		for _, i := range infos {
			all = append(all, Found{Info: i})
		}
		return all
	}
}

func openCPU(name string) (*kernels.Backend, error) {
	if name != "cpu" {
		return nil, device.Errorf(device.ErrUnavailable, name, "open", "there is one host: its name is cpu")
	}
	dev := host.New()
	b, err := cpu.New(dev)
	if err != nil {
		_ = dev.Close() // nothing ran on it
		return nil, err
	}
	return b, nil
}

func listCPU() []Found {
	b, err := openCPU("cpu")
	if err != nil {
		return []Found{{Err: err}}
	}
	info := b.Device.Info()
	info.Tier = b.Set.Name
	if err := b.Close(); err != nil {
		return []Found{{Info: info, Err: err}}
	}
	return []Found{{Info: info}}
}
