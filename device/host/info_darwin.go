package host

import "golang.org/x/sys/unix"

// systemModel reads the processor's name where it has no way to tell itself.
func systemModel() string {
	model, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return model
}
