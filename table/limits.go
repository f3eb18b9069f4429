package table

import (
	"fmt"
	"os"
	"strconv"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow/exec"
)

// morselVariable sets the rows of a morsel. All limits of queries that are numbers of
// rows keep their ratio to it, so that tests of small tables go every way.
const morselVariable = "VOLLEY_MORSEL_ROWS"

// morselRows is the number of rows of a morsel.
func morselRows() (int64, error) {
	text := os.Getenv(morselVariable)
	if text == "" {
		return exec.MorselRows, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > exec.MorselRows {
		return 0, fmt.Errorf("%w: %s=%q is no number from 1 to %d", device.ErrMismatch, morselVariable, text, exec.MorselRows)
	}
	return n, nil
}

// limit is a number of rows for morsels of exec.MorselRows, for those that there are.
func (r *runner) limit(rows int64) int64 {
	if r.morsel == 0 {
		return rows
	}
	return max(1, rows/exec.MorselRows*r.morsel+rows%exec.MorselRows*r.morsel/exec.MorselRows)
}
