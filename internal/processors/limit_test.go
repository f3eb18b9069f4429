package processors

import (
	"strings"
	"testing"
)

// The environment's limit is a number from 1 on; what is none is an error that names the variable.
func TestLimited(t *testing.T) {
	for text, want := range map[string]int{"": 0, "1": 1, "12": 12} {
		if n, err := limited(text); n != want || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"0", "-1", "many", "1.5", " 2"} {
		if n, err := limited(text); n != 0 || err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for _, c := range []struct{ n, most, want int }{{8, 0, 8}, {8, 3, 3}, {2, 3, 2}, {0, 0, 1}, {-1, 5, 1}} {
		if got := within(c.n, c.most); got != c.want {
			t.Errorf("%d, at the most %d: %d", c.n, c.most, got)
		}
	}
}
