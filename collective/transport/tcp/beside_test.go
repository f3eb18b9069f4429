package tcp

import (
	"slices"
	"testing"
)

// Ranks are near each other that said the same machine and the same reach.
func TestNearGroups(t *testing.T) {
	e := &endpoint{cards: []card{{Machine: "a", Reach: "x"}, {Machine: "b", Reach: "x"}, {Machine: "a"}, {Machine: "a", Reach: "y"},
		{Machine: "b", Reach: "x"}, {Machine: "a", Reach: Nowhere}, {Machine: "a", Reach: Nowhere}, {Machine: "a", Reach: "x"}}}
	if got, want := e.Near(), []int{0, 1, -1, 2, 1, -1, -1, 0}; !slices.Equal(got, want) {
		t.Errorf("the groups are %v, want %v", got, want)
	}
}

// The ranks of a group have a text in common that no other group has, not one of the same ranks either.
func TestGroup(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		ends := open(t, 2, Options{})
		split := make([]*endpoint, len(ends))
		each := make(chan error, len(ends))
		for r, e := range ends {
			go func() {
				s, err := e.Split(within(t, limit), "all", []int{0, 1})
				if err == nil {
					split[r] = s.(*endpoint)
				}
				each <- err
			}()
		}
		for range ends {
			if err := <-each; err != nil {
				t.Fatal(err)
			}
		}
		for _, group := range [][]*endpoint{ends, split} {
			if own := group[0].Group(); own != group[1].Group() || seen[own] || len(own) != 64 {
				t.Errorf("the ranks' texts are %s and %s", own, group[1].Group())
			}
			seen[group[0].Group()] = true
		}
		for _, s := range split {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
