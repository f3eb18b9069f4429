package collective

import (
	"fmt"

	"github.com/volley-go/volley/collective/transport"
)

var opCodes = map[uint8]Op{Sum.code: Sum, Prod.code: Prod, Min.code: Min, Max.code: Max, Avg.code: Avg, And.code: And, Or.code: Or, Xor.code: Xor}

// describe names the call that a header belongs to, for people.
func describe(rank int, h *transport.Header) string {
	return describeCall(rank, h.Seq, &h.Call) + fmt.Sprintf(", message %d of %d bytes)", h.Step, h.Len)
}
