package gang

import (
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/volley-go/volley/device"
)

// Variable is that of the environment by which a worker knows its place: rank, number of workers, where they meet, and generation.
const Variable = "VOLLEY_GANG"

// invitation is what the variable says.
type invitation struct {
	host       string // tcp, host:port
	run        [16]byte
	generation uint64
	rank, size int
	key        []byte
	lease      time.Duration
	folder     string // of the generation's files, on the start's machine
}

var letters = base32.HexEncoding.WithPadding(base32.NoPadding)

// String is the variable's text. Whoever has it can join the gang.
func (v *invitation) String() string {
	q := url.Values{}
	q.Set("run", hex.EncodeToString(v.run[:]))
	q.Set("generation", strconv.FormatUint(v.generation, 10))
	q.Set("rank", strconv.Itoa(v.rank))
	q.Set("size", strconv.Itoa(v.size))
	q.Set("key", letters.EncodeToString(v.key))
	q.Set("lease", v.lease.String())
	if v.folder != "" {
		q.Set("folder", v.folder)
	}
	return (&url.URL{Scheme: "tcp", Host: v.host, RawQuery: q.Encode()}).String()
}

func invited(text string) (*invitation, error) {
	wrong := func(what string) (*invitation, error) {
		return nil, device.Errorf(device.ErrMismatch, "", "gang.Enter", "%s: %s is not that of a gang", Variable, what)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "tcp" || u.Port() == "" {
		return wrong("the address")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return wrong("what follows the address")
	}
	v := &invitation{host: u.Host, folder: q.Get("folder")}
	run, err := hex.DecodeString(q.Get("run"))
	if err != nil || len(run) != len(v.run) {
		return wrong("run")
	}
	copy(v.run[:], run)
	if v.generation, err = strconv.ParseUint(q.Get("generation"), 10, 64); err != nil {
		return wrong("generation")
	}
	if v.size, err = strconv.Atoi(q.Get("size")); err != nil || v.size < 1 || v.size > mostWorkers {
		return wrong("size")
	}
	if v.rank, err = strconv.Atoi(q.Get("rank")); err != nil || v.rank < 0 || v.rank >= v.size {
		return wrong("rank")
	}
	if v.key, err = letters.DecodeString(q.Get("key")); err != nil || len(v.key) < 16 {
		return wrong("key")
	}
	if v.lease, err = time.ParseDuration(q.Get("lease")); err != nil || v.lease <= 0 {
		return wrong("lease")
	}
	return v, nil
}

// near says whether the meeting point is on the loopback device.
func (v *invitation) near() bool {
	host, _, err := net.SplitHostPort(v.host)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// secret is what encrypts connections: between machines the key.
func (v *invitation) secret() []byte {
	if v.near() {
		return nil
	}
	return v.key
}

func (v *invitation) name() string { return fmt.Sprintf("%x.%d", v.run, v.generation) }
