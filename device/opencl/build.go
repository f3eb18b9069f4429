package opencl

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/volley-go/volley/device"
)

// buildTries is how often a build is tried that fails without an error in its
// log: PoCL does so where two processes put the same program into its cache at
// once and one finds the other's file in the way.
const buildTries = 3

// buildOptions are the options of a build, in an order that does not change: the
// cache takes programs by them.
func buildOptions(standard string, defines map[string]string) string {
	options := []string{standard}
	for _, name := range slices.Sorted(maps.Keys(defines)) {
		if value := defines[name]; value != "" {
			name += "=" + value
		}
		options = append(options, "-D", name)
	}
	return strings.Join(options, " ")
}

// build makes a program of src, or stops waiting for it when ctx ends: drivers
// cannot be told to stop, so the build ends beside the caller and is given
// back, but what it gave stays in the cache.
func (c *core) build(ctx context.Context, src device.Source) (handle, error) {
	type result struct {
		program handle
		err     error
	}
	done := make(chan result, 1)
	c.retain()
	go func() {
		var r result
		r.program, r.err = c.compile(src.Name, src.Text, buildOptions(c.proc.standard, src.Defines))
		done <- r
	}()
	select {
	case r := <-done:
		c.release()
		return r.program, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				c.drv.releaseProgram(r.program)
			}
			c.release()
		}()
		return 0, device.Canceled(ctx, c.proc.name, "build "+src.Name)
	}
}

// pocl is the name of PoCL's platform.
const pocl = "Portable Computing Language"

// store is the cache of programs of a device. PoCL has one of its own, and compiles
// an entry when it is first launched, for the size of its groups; asked for a program's
// binary, it would compile all entries for groups of any size as well.
func (p *processor) store() *cache {
	if p.platformText == pocl {
		return &cache{}
	}
	return openCache()
}

// compile takes a program from the cache or builds it and keeps it there. What
// the cache has may be of no use after all, as for a driver that was changed
// without a change of its version: then it is built like any other.
func (c *core) compile(name, text, options string) (handle, error) {
	p, store := c.proc, c.proc.store()
	key := cacheKey(p.platformText, p.info.Vendor, p.info.Model, p.info.Driver, options, text)
	if image := store.read(key); image != nil {
		if program := c.load(image, options); program != 0 {
			return program, nil
		}
		store.remove(key)
	}
	program, st := c.drv.createProgramWithSource(c.context, text)
	if st != success {
		return 0, c.failed("clCreateProgramWithSource", st)
	}
	defer restoreSignals(c.drv)()
	for try := 1; ; try++ {
		st := c.drv.buildProgram(program, p.id, options)
		if st == success {
			break
		}
		log := c.drv.getProgramBuildLog(program, p.id)
		if try < buildTries && st == buildProgramFailure && !strings.Contains(log, "error") {
			continue
		}
		c.drv.releaseProgram(program)
		return 0, c.buildFailed(name, st, log)
	}
	if store.folder == "" {
		return program, nil
	}
	if image, st := c.drv.getProgramBinary(program); st == success && len(image) > 0 {
		_ = store.write(key, image) // the program is there with or without it
	}
	return program, nil
}

// load is a program of an image, or 0 where the driver does not take it.
func (c *core) load(image []byte, options string) handle {
	defer restoreSignals(c.drv)()
	program, st := c.drv.createProgramWithBinary(c.context, c.proc.id, image)
	if st != success {
		if program != 0 {
			c.drv.releaseProgram(program)
		}
		return 0
	}
	if c.drv.buildProgram(program, c.proc.id, options) != success {
		c.drv.releaseProgram(program)
		return 0
	}
	return program
}

// buildFailed is the error of a build: its text is the compiler's log.
func (c *core) buildFailed(name string, st status, log string) error {
	kind := st.kind()
	if kind == nil {
		kind = device.ErrUnsupported
	}
	text := st.String()
	if log != "" {
		text += "\n" + log
	}
	if kind == device.ErrLost {
		return c.failed("build "+name, st)
	}
	return &device.Error{Device: c.proc.name, Call: "build " + name, Code: int(st), Text: text, Kind: kind}
}
