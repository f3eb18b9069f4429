package collective

import (
	"unsafe"

	"github.com/volley-go/volley/device"
)

// Raw is bytes as a vector of a type: whole elements, aligned as they must be.
func Raw(t Type, bytes []byte) (Vector, error) {
	w := t.Width()
	if w == 0 || len(bytes)%w != 0 || len(bytes) > 0 && uintptr(unsafe.Pointer(&bytes[0]))%uintptr(w) != 0 {
		return Vector{}, device.Errorf(device.ErrMismatch, "", "collective.Raw", "%d bytes are no %s elements, or not aligned", len(bytes), t)
	}
	return Vector{t, bytes}, nil
}
