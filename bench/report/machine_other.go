//go:build !linux && !darwin

package report

import "os"

// detect fills what an environment variable tells; Windows sets this one.
func (m *Machine) detect() { m.CPU = os.Getenv("PROCESSOR_IDENTIFIER") }
