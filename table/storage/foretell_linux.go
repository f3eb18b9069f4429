package storage

import (
	"time"

	"golang.org/x/sys/unix"
)

// foretell has the system read a stretch of the file into its own memory, without
// waiting for it: a hint, whose failure changes nothing.
func (in *input) foretell(s span) {
	begin := time.Now()
	_ = unix.Fadvise(int(in.file.Fd()), s.at, s.size, unix.FADV_WILLNEED)
	in.busy.Add(int64(time.Since(begin)))
}
