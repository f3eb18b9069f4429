package dl

// OpenCL are the names of the OpenCL loader on the system called goos.
func OpenCL(goos string) []string {
	switch goos {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL", "libOpenCL.dylib"}
	default:
		return []string{"libOpenCL.so.1", "libOpenCL.so"}
	}
}

// CUDA are the names of NVIDIA's driver on the system called goos.
func CUDA(goos string) []string {
	switch goos {
	case "windows":
		return []string{"nvcuda.dll"}
	case "darwin":
		return []string{"/usr/local/cuda/lib/libcuda.dylib"}
	default:
		return []string{"libcuda.so.1", "libcuda.so"}
	}
}
