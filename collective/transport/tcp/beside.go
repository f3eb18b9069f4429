package tcp

import (
	"crypto/sha256"
	"encoding/hex"
)

// What a transport needs that has another way between some of the ranks.

// Nowhere is the Options.Reach of a rank that would go another way and finds none.
const Nowhere = "-"

// Near numbers, by their first rank, the groups of ranks that are of one machine and said
// the same Options.Reach, which all ranks know of each other; -1 is a rank that said none, or
// Nowhere.
func (e *endpoint) Near() []int {
	type reach struct{ machine, text string }
	number, of := map[reach]int{}, make([]int, len(e.cards))
	for r := range e.cards {
		at := reach{e.cards[r].Machine, e.cards[r].Reach}
		if at.text == "" || at.text == Nowhere {
			of[r] = -1
			continue
		}
		if _, seen := number[at]; !seen {
			number[at] = len(number)
		}
		of[r] = number[at]
	}
	return of
}

// Group is a text that the ranks of this endpoint have in common, and no other group.
func (e *endpoint) Group() string {
	id := sha256.Sum256(e.key[:])
	return hex.EncodeToString(id[:])
}

// HandOver leaves what was posted and not written yet to goroutines: its caller, who
// posts and receives, is about to wait for something else than this endpoint.
func (e *endpoint) HandOver() { e.backlog.handOver() }
