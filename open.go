package volley

import (
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
)

// backend is one kind of device.
type backend struct {
	prefix string // of its devices' names
	open   func(name string) (*kernels.Backend, error)
	list   func() []Found
}

// backends is the one list of backends, the preferred ones first.
var backends = []backend{
	{prefix: "cpu", open: openCPU, list: listCPU},
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
