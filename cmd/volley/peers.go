package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// peersPython is where scripts/peers.sh puts the interpreter that has the peers.
var peersPython = filepath.Join("out", "venv", "peers", "bin", "python")

// peerFlags are the flags of a race against other libraries.
type peerFlags struct {
	on      bool
	python  string
	against []string
}

func (v *peerFlags) add(cmd *cobra.Command, names []string) {
	cmd.Flags().BoolVar(&v.on, "peers", false, "race against other libraries on the same data, on the CPU: bash scripts/peers.sh installs them")
	cmd.Flags().StringVar(&v.python, "python", peersPython, "`interpreter` that has the libraries")
	cmd.Flags().StringSliceVar(&v.against, "against", names, "`libraries` to race against")
}

// beside finds flags of a race that is not on.
func (v *peerFlags) beside(cmd *cobra.Command) error {
	for _, name := range []string{"against", "python"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && !v.on {
			return usagef("--%s: of a race against other libraries: --peers goes with it", name)
		}
	}
	return nil
}

// check finds what is wrong before any work begins.
func (v *peerFlags) check(f *benchFlags, names []string) error {
	for _, d := range f.devices {
		if d != "cpu" {
			return usagef("--device %s: peers run on the CPU", d)
		}
	}
	if len(v.against) == 0 {
		return usagef("--against has no library, known are %s", strings.Join(names, ", "))
	}
	for i, name := range v.against {
		if !slices.Contains(names, name) || slices.Contains(v.against[:i], name) {
			return usagef("--against: unknown or repeated library %q, known are %s", name, strings.Join(names, ", "))
		}
	}
	if _, err := exec.LookPath(v.python); err != nil {
		return usagef("--python %s: there is no such interpreter: make it with bash scripts/peers.sh, which installs the libraries, or name another", v.python)
	}
	return nil
}
