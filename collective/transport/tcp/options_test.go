package tcp

import (
	"strings"
	"testing"
)

// How many connections two ranks have is told by options, else by the environment, else two; what cannot be had is refused
// and named.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		told      string
		own, want int
		refused   string
	}{
		{"", 0, 2, ""}, {"5", 0, 5, ""}, {"17", 0, 17, ""}, {"5", 3, 3, ""}, {"many", 3, 3, ""},
		{"many", 0, 0, `VOLLEY_SOCKET_CONNECTIONS is "many"`}, {"1", 0, 0, "from 2 to 17"}, {"18", 0, 0, "from 2 to 17"}, {"", 18, 0, "18 connections"},
	} {
		t.Setenv(connectionsVariable, c.told)
		o := Options{Connections: c.own}
		err := o.complete()
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%q, %d: %v, want %q", c.told, c.own, err, c.refused)
			}
		case err != nil || o.Connections != c.want:
			t.Errorf("%q, %d: %d connections, %v, want %d", c.told, c.own, o.Connections, err, c.want)
		}
	}
}
