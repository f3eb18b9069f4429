package direct

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
)

// Equipment is what a rank brings: its GPU and the library.
type Equipment struct {
	gpu     *cuda.Device
	library *nccl.Library
	ID      int64 // of the GPU, the same wherever it is open, and not 0
}

// Find is the equipment of a device, or why there is none.
func Find(d device.Device) (Equipment, error) {
	own := d
	if w, ok := own.(interface{ Unwrap() device.Device }); ok {
		own = w.Unwrap()
	}
	gpu, ok := own.(*cuda.Device)
	if !ok {
		return Equipment{}, fmt.Errorf("%s is no GPU of CUDA", d.Name())
	}
	lib, err := nccl.Load()
	if err != nil {
		return Equipment{}, err
	}
	uuid, err := gpu.UUID()
	if err != nil {
		return Equipment{}, err
	}
	digest := sha256.Sum256(uuid[:])
	return Equipment{gpu, lib, int64(binary.LittleEndian.Uint64(digest[:])>>1) + 1}, nil
}
