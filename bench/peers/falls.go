package peers

import (
	"fmt"
	"strings"
)

// falls gathers the rounds beside which the machine gave less.
type falls struct {
	retaken  int
	unsteady []string
}

func (f *falls) add(what string, rounds, retaken, unsteady int) {
	f.retaken += retaken
	if unsteady > 0 {
		f.unsteady = append(f.unsteady, fmt.Sprintf("%s %d of %d", what, unsteady, rounds))
	}
}

// notes are what stands below a table whose rows are starred.
func (f *falls) notes() (notes []string) {
	if f.retaken > 0 {
		notes = append(notes, fmt.Sprintf("%d rounds were run again because the machine gave less than %.0f %% of its best beside them.", f.retaken, 100*fell))
	}
	if len(f.unsteady) > 0 {
		notes = append(notes, fmt.Sprintf("* Rounds that count although the machine gave less, after %d for each round were run again, or %.0f s of them: %s.",
			retakes, retakeTime.Seconds(), strings.Join(f.unsteady, ", ")))
	}
	return notes
}

// starred marks a figure of which rounds count although the machine gave less.
func starred(figure string, unsteady int) string {
	if unsteady > 0 {
		return figure + "*"
	}
	return figure
}
