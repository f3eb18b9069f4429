package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
)

// Serve makes this process a worker of ours, with the protocol of the programs of Python: it says its version, and answers
// each line of in, a command of type C, with what do gives, until in ends. An error of do is an answer too.
func Serve[C any](in io.Reader, out io.Writer, do func(C) (any, error)) error {
	say := func(v any) error {
		line, err := json.Marshal(v)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", line)
		}
		return err
	}
	if err := say(map[string]string{"version": report.Version()}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c C
		var a any
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			a, err = do(c)
		}
		if err != nil {
			a = map[string]string{"error": err.Error()}
		}
		if err := say(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Resident is this process's resident memory in bytes once garbage is collected and what the backend's pool keeps for reuse
// is given back. The peak of [report.PeakRSS] begins there.
func Resident(b *kernels.Backend) (int64, error) {
	if pool, ok := b.Device.Memory().(interface{ Trim() int64 }); ok {
		pool.Trim()
	}
	runtime.GC()
	debug.FreeOSMemory()
	if err := report.ResetPeakRSS(); err != nil {
		return 0, err
	}
	return report.PeakRSS()
}
