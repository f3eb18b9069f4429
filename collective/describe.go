package collective

import (
	"fmt"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
)

var opCodes = map[uint8]Op{Sum.code: Sum, Prod.code: Prod, Min.code: Min, Max.code: Max, Avg.code: Avg, And.code: And, Or.code: Or, Xor.code: Xor}

// describe names the call that a header belongs to, for people.
func describe(rank int, h *transport.Header) string {
	call := h.Call
	text := fmt.Sprintf("%s #%d of rank %d (%d %s", opName(algorithm.Op(call.Op)), h.Seq, rank, call.Count, Type(call.Type))
	if call.Reduce != 0 {
		name := opCodes[call.Reduce].name
		if name == "" {
			name = "a user's reduction"
		}
		text += ", " + name
	}
	if call.Root != 0 {
		text += fmt.Sprintf(", root %d", call.Root)
	}
	if n := int(call.Algorithm); n > 0 && n <= len(algorithm.All) {
		text += ", " + algorithm.All[n-1].Name
	}
	return text + fmt.Sprintf(", message %d of %d bytes)", h.Step, h.Len)
}
