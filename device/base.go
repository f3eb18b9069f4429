package device

import "github.com/volley-go/volley/memory"

// Base is a launch argument: the start of the allocation that Buffer is a part
// of, whatever the buffer's own offset. A kernel that takes the offset as an
// argument of its own works on every part of an allocation, which not every
// driver can address otherwise (an OpenCL sub-buffer must start at a multiple of
// 128 to 512 bytes). The buffer is kept alive until the launch is done. A nil
// Buffer is a null pointer.
type Base struct{ Buffer *memory.Buffer }
