// Package processors counts the machine's processors for transports whose ranks wait
// in another way where ranks are more than those.
package processors

import (
	"runtime"
	"strconv"
	"strings"
)

// Count is how many processors the machine has. Ranks are mostly pinned, each to
// others of them, so those of this process alone say nothing.
var Count = max(runtime.NumCPU(), counted(online()))

// counted is the length of a list such as "0-3,8", 0 where it is none.
func counted(list string) int {
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		from, to, is := strings.Cut(part, "-")
		if !is {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || b < a {
			return 0
		}
		n += b - a + 1
	}
	return n
}
