//go:build !linux

package shm

import (
	"context"
	"errors"
	"runtime"

	"github.com/volley-go/volley/collective/transport"
)

// The errors of groups that cannot share memory; see the files for Linux.
var (
	ErrRoom   = errors.New("too little shared memory")
	ErrApart  = errors.New("the ranks have no memory that all of them can reach")
	ErrUnable = errors.New("shared memory cannot be had")
)

// errNotHere is the error of this system.
var errNotHere = errors.New("shm: shared memory between ranks is not there on " + runtime.GOOS)

// Join is an error here: this transport is for Linux.
func Join(context.Context, string, int, int) (transport.Endpoint, error) { return nil, errNotHere }

// Reach is empty: no process can Join another.
func Reach() string { return "" }

// Offer is what a rank brings to a meeting: here, that it cannot share memory.
type Offer struct{}

// NewOffer is the offer of a rank.
func NewOffer(int, int) *Offer { return &Offer{} }

// Card says that the rank reaches no memory.
func (*Offer) Card() []byte { return []byte(`shm {}`) }

// Join fails with ErrApart.
func (*Offer) Join(context.Context, [][]byte) (transport.Endpoint, error) {
	return nil, errors.Join(ErrApart, errNotHere)
}

// Withdraw does nothing.
func (*Offer) Withdraw() {}
