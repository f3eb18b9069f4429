// Package pastcopy copies to memory that nobody reads soon, by stores past the caches: lines that are stored so are
// not read before they are written, and push nothing out.
package pastcopy

import "unsafe"

// Line is how many bytes are stored at once.
const Line = 64

// Copy is copy(dst, src), of the same length. The ends of dst that are parts of lines are stored as ever. What
// others do with dst is to come after Fence.
func Copy(dst, src []byte) {
	if len(dst) < Line {
		copy(dst, src)
		return
	}
	head := int(-uintptr(unsafe.Pointer(&dst[0])) & (Line - 1))
	copy(dst[:head], src)
	dst, src = dst[head:], src[head:]
	whole := len(dst) &^ (Line - 1)
	Lines(dst[:whole], src)
	copy(dst[whole:], src[whole:])
}
