package cuda

import "github.com/volley-go/volley/device"

// peerContext is the context of a GPU that a copy goes to or comes from.
func (d *Device) peerContext(call string, ordinal int) (handle, error) {
	ctx, ok := d.lib.context(ordinal)
	if !ok {
		return 0, d.mismatch(call, "a buffer on cuda:%d, which is not open", ordinal)
	}
	if e := ctx.lost.Load(); e != nil {
		return 0, e
	}
	return ctx.handle, nil
}

// EnablePeer lets kernels of this GPU use the memory of another, and copies
// between the two go the direct way. Where the hardware cannot the error is an
// ErrUnsupported. Enabling twice is allowed.
func (d *Device) EnablePeer(other *Device) error {
	const call = "enable peer"
	if err := d.alive(call); err != nil {
		return err
	}
	if other == nil || other.lib != d.lib {
		return d.mismatch(call, "a device of another driver")
	}
	if err := other.alive(call); err != nil {
		return err
	}
	if other.context == d.context {
		return nil
	}
	drv := d.lib.driver
	if drv.canAccessPeer == nil {
		return device.Errorf(device.ErrUnsupported, d.name, call, "the driver has no peer access")
	}
	can, c := drv.canAccessPeer(d.context.dev, other.context.dev)
	if err := d.check(call, c); err != nil {
		return err
	}
	if !can {
		return device.Errorf(device.ErrUnsupported, d.name, call, "there is no way to the memory of %s", other.name)
	}
	c = d.in(func() code { return drv.enablePeer(other.context.handle) })
	if c != errorPeerEnabled && c != success {
		return d.check(call, c)
	}
	if other.blocks.pool != 0 { // memory of a pool is shared by the pool, not by the context
		c = other.in(func() code { return drv.poolSetAccess(other.blocks.pool, d.context.dev) })
		if err := other.check(call, c); err != nil {
			return err
		}
	}
	d.mu.Lock()
	d.peers[int32(other.context.ordinal)] = true
	d.mu.Unlock()
	return nil
}

// reaches reports whether kernels of this GPU may use the memory of another.
func (d *Device) reaches(ordinal int32) bool {
	if int(ordinal) == d.context.ordinal {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.peers[ordinal]
}
