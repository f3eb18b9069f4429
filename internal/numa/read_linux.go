package numa

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Nodes are the machine's nodes that have processors this process may use, by
// rising numbers. Where the system does not say, there are none.
func Nodes() []Node {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil
	}
	nodes, err := read(os.DirFS("/sys/devices/system/node"), may.IsSet)
	if err != nil {
		return nil
	}
	return nodes
}

// read makes nodes of the folder in which Linux describes them.
func read(folder fs.FS, may func(cpu int) bool) ([]Node, error) {
	names, err := fs.Glob(folder, "node[0-9]*")
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for _, name := range names {
		id, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if err != nil {
			return nil, fmt.Errorf("%s: no number of a node", name)
		}
		text, err := fs.ReadFile(folder, name+"/cpulist")
		if err != nil {
			return nil, err
		}
		cpus, err := list(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("%s/cpulist: %w", name, err)
		}
		cpus = slices.DeleteFunc(cpus, func(cpu int) bool { return !may(cpu) })
		if len(cpus) > 0 { // a node may have memory only
			nodes = append(nodes, Node{ID: id, CPUs: cpus})
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int { return a.ID - b.ID })
	return nodes, nil
}

// mostCPUs bounds what a list may name: Linux itself is built for 8192 at most.
const mostCPUs = 1 << 16

// list reads ranges such as 0-3,8,10-11.
func list(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from || to >= mostCPUs {
			return nil, fmt.Errorf("%q is no range of processors", part)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}
