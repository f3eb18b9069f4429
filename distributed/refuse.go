package distributed

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
)

// Refuse is this rank's part of an operation whose arguments it cannot even read: those of a call from another language, of a configuration, of a request. The other
// ranks call the operation of that name, such as "Join" or "Scan", and get the reason why as the one error that all have; without it they would wait for this
// rank. The Comm goes on. Refuse returns that error, which is also why on this rank.
func Refuse(ctx context.Context, comm *collective.Comm, operation string, why error) error {
	if comm == nil {
		return fmt.Errorf("%w: %s is refused without a Comm", device.ErrMismatch, operation)
	}
	if why == nil {
		why = fmt.Errorf("%w: refused without a reason", device.ErrMismatch)
	}
	o := start(ctx, comm, operation, "")
	o.call.Refused = true
	o.fail(why)
	return o.meet()
}
