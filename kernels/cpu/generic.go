package cpu

import "github.com/volley-go/volley/kernels"

// Generic is the tier in plain Go, which every processor runs.
func Generic() *kernels.Set { return goLoops().set("generic") }
