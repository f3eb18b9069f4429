package gpu

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/volley-go/volley/device"
)

// recorder is a device that notes which entries its modules were asked for,
// which Engine does right before it launches one for the first time.
type recorder struct {
	device.Device
	mu       sync.Mutex
	launched map[string]bool // "module entry"
}

type recordedModule struct {
	device.Module
	name string
	to   *recorder
}

func (r *recorder) LoadModule(ctx context.Context, src device.Source) (device.Module, error) {
	m, err := r.Device.LoadModule(ctx, src)
	if err != nil {
		return nil, err
	}
	return &recordedModule{m, src.Name, r}, nil
}

func (m *recordedModule) Function(entry string) (device.Function, error) {
	f, err := m.Module.Function(entry)
	if err == nil {
		m.to.mu.Lock()
		defer m.to.mu.Unlock()
		m.to.launched[m.name+" "+entry] = true
	}
	return f, err
}

// entryNames are the names in a text: of KERNEL itself, and of macros that
// hold one, which are defined with the parameter `name`.
var entryNames = regexp.MustCompile(`(?m)^\s*(?:KERNEL(?:2|_BLOCKS)?\([^)]*\) (?:K\((\w+)\)|(\w+))\(|([A-Z_]+)\((\w+)[,)])`)

// entriesOf are the entries of a module as the device has built it: of the
// names in its text those that it has, since variants leave some out.
func entriesOf(t *testing.T, d device.Device, dialect Dialect, name string) []string {
	t.Helper()
	src, err := dialect.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.LoadModule(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, variant, _ := strings.Cut(name, ".")
	var all []string
	for _, found := range entryNames.FindAllStringSubmatch(src.Text, -1) {
		entry := found[1] + found[2] + found[4]
		if variant != "" && found[2] == "" {
			entry += "_" + variant
		}
		switch _, err := m.Function(entry); {
		case err == nil:
			all = append(all, entry)
		case !errors.Is(err, device.ErrUnavailable):
			t.Fatal(err)
		}
	}
	if len(all) == 0 {
		t.Errorf("module %s: its text shows no entry", name)
	}
	return all
}

// holdEntries fails for every entry of every module that was not launched, and
// for one that was launched though its text does not show it.
func (r *recorder) holdEntries(t *testing.T, dialect Dialect) {
	shown := map[string]bool{}
	for _, name := range Modules() {
		for _, e := range entriesOf(t, r.Device, dialect, name) {
			if shown[name+" "+e] = true; !r.launched[name+" "+e] {
				t.Errorf("module %s: %s was never launched", name, e)
			}
		}
	}
	for e := range r.launched {
		if module, _, _ := strings.Cut(e, " "); !shown[e] && slices.Contains(Modules(), module) {
			t.Errorf("%s was launched, but the text of its module does not show it", e)
		}
	}
	t.Logf("%d entries of %d modules", len(shown), len(Modules()))
}
