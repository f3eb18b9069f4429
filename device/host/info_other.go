//go:build !linux && !darwin

package host

import "os"

// systemModel reads the processor's name where it has no way to tell itself.
func systemModel() string { return os.Getenv("PROCESSOR_IDENTIFIER") }
