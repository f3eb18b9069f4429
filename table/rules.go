package table

import (
	"os"
	"strings"
)

// The rules that VOLLEY_OPTIMISER can switch off, by name.
const (
	ruleJoinOrder  = "joinorder"  // joins in the order that costs least, the smaller side built
	ruleTies       = "ties"       // also below sorts that are only likely to tell rows apart
	ruleImplied    = "implied"    // what the branches of an or have in common, for each side of a join
	ruleShared     = "shared"     // equal parts of a plan run once
	ruleReduce     = "reduce"     // rows that the smaller side of a join has no key for are left out early
	ruleJoinFilter = "joinfilter" // keys of a build side leave rows of the other side out where they come from
	ruleMask       = "mask"       // groups take a mask for a key where a filter keeps most rows
	ruleDependence = "dependence" // keys of groups that other keys determine are not compared
)

// rules are the names of all of them.
var rules = []string{ruleJoinOrder, ruleTies, ruleImplied, ruleShared, ruleReduce, ruleJoinFilter, ruleMask, ruleDependence}

// switches are the rules that are off.
type switches map[string]bool

// switchesOf reads "-name,-name"; "-all" is every rule.
func switchesOf(text string) switches {
	off := switches{}
	for _, s := range strings.Split(text, ",") {
		name := strings.TrimPrefix(strings.TrimSpace(s), "-")
		if name == "all" {
			for _, r := range rules {
				off[r] = true
			}
		}
		off[name] = true
	}
	return off
}

func newOptimiser() *optimiser {
	return &optimiser{off: switchesOf(os.Getenv("VOLLEY_OPTIMISER")), guess: newEstimates(), bySignature: map[string][]*shared{}}
}

// isOff reports whether a rule is switched off.
func isOff(rule string) bool { return switchesOf(os.Getenv("VOLLEY_OPTIMISER"))[rule] }
