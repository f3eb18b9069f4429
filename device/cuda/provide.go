//go:build !gorgonia_cu

package cuda

// provide gives the driver at path, or with "" that of this machine.
func provide(path string) (*driver, error) { return loadDriver(path) }
