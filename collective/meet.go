package collective

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/device"
)

// MeetAt is a Meeting, for Grow and Enter, at an address that all ranks give alike: tcp://host:port of rank 0, or file:///path. What
// carries the messages is what Init would take, by the variables that getenv has (VOLLEY_TRANSPORT, VOLLEY_SECRET_FILE and others).
// The address may be the one where an earlier group met.
func MeetAt(address string, getenv func(string) string) (Meeting, error) {
	if _, err := rendezvous.Parse(address + "?rank=0&size=1"); err != nil {
		return nil, &device.Error{Call: "MeetAt", Kind: device.ErrMismatch, Cause: err}
	}
	return func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		w, err := rendezvous.Parse(fmt.Sprintf("%s?rank=%d&size=%d", address, rank, size))
		if err != nil {
			return nil, err
		}
		return joinAs(ctx, w, getenv)
	}, nil
}
