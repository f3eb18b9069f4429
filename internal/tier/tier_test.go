package tier

import (
	"slices"
	"strings"
	"testing"
)

// A name chooses a tier, none the best, and one that there is not Generic with an error.
func TestChoose(t *testing.T) {
	here := Here()
	if here[0] != Generic || !slices.Contains(here, Chosen()) {
		t.Fatalf("%q of %q", Chosen(), here)
	}
	for _, name := range here {
		if got, err := choose(here, name); got != name || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got, err := choose(here, ""); got != here[len(here)-1] || err != nil {
		t.Errorf("the best is %s, %v", got, err)
	}
	if got, err := choose(here, "x"); got != Generic || err == nil || !strings.Contains(err.Error(), "VOLLEY_CPU=x: the tiers here are generic") {
		t.Errorf("a tier that there is not: %s, %v", got, err)
	}
}
