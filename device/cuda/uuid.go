package cuda

import "github.com/volley-go/volley/device"

// UUID names the GPU, whoever opens it and under whatever number, on this machine and
// on others. A driver that cannot tell it is an ErrUnsupported.
func (d *Device) UUID() ([16]byte, error) {
	const call = "cuDeviceGetUuid"
	get := d.lib.driver.deviceUUID
	if get == nil {
		return [16]byte{}, device.Errorf(device.ErrUnsupported, d.name, call, "the driver has no such function")
	}
	id, c := get(d.context.dev)
	return id, d.lib.driver.failure(d.name, call, c)
}
