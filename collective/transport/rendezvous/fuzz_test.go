package rendezvous

import (
	"bytes"
	"encoding/json"
	"testing"
)

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// FuzzMessage reads any bytes as a message: nothing past the bound is read, and what is
// accepted is admitted only as the rank that it may be.
func FuzzMessage(f *testing.F) {
	var good bytes.Buffer
	if err := send(&good, &message{Kind: "join", Rank: 1, Size: 2, Card: []byte("x")}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add([]byte{255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		var m message
		err := receive(r, &m, 1000)
		if read := len(b) - r.Len(); read > 1004 {
			t.Errorf("%d bytes are read, at most 1000 are allowed", read)
		}
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := send(&again, &m); err != nil {
			t.Errorf("%+v is accepted and cannot be sent: %v", m, err)
		}
	})
}

// FuzzHosts takes any text for a list of hosts.
func FuzzHosts(f *testing.F) {
	f.Add("node[003-010,012],other")
	f.Fuzz(func(t *testing.T, list string) {
		host, err := firstHost(list)
		if (host == "") != (err != nil) || len(host) > len(list) {
			t.Errorf("%q: %q, %v", list, host, err)
		}
	})
}
