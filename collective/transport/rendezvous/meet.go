package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/volley-go/volley/collective/transport/secret"
)

// maxCard is the longest card, in bytes.
const maxCard = 32 << 10

// Table is what a meeting ends with: the same on all ranks.
type Table struct {
	Key   [16]byte // random, of this meeting only
	Cards [][]byte // by rank
}

// Meet gives the table of all ranks' cards when the last rank has come. Every rank of
// the world calls it. A world of one has nobody to meet. The guard keeps strangers out
// of a meeting at tcp://; a meeting at file:// is guarded by the file's permissions, one at
// pmix:// or pmi:// by the launcher's server.
func Meet(ctx context.Context, w World, g *secret.Guard, card []byte) (*Table, error) {
	if err := w.check("meeting"); err != nil {
		return nil, err
	}
	if len(card) > maxCard {
		return nil, fmt.Errorf("meeting: card of %d bytes, at most %d are allowed", len(card), maxCard)
	}
	if w.Size == 1 {
		return &Table{Cards: [][]byte{card}}, nil
	}
	var table *Table
	var err error
	host, isTCP := strings.CutPrefix(w.Address, "tcp://")
	path, isFile := strings.CutPrefix(w.Address, "file://")
	switch {
	case isTCP && w.Rank == 0:
		table, err = host0(ctx, w, host, g, card)
	case isTCP:
		table, err = visit(ctx, w, host, g, card)
	case isFile:
		table, err = meetInFile(ctx, w, path, card)
	case w.Address == PMIx:
		table, err = meetByPMIx(ctx, w, card)
	case w.Address == PMI:
		table, err = meetByPMI(ctx, w, card)
	case w.Address == MPI:
		err = errors.New("there is nothing to meet at: it is the address of package mpi's Join")
	default:
		err = fmt.Errorf("address %q is neither tcp://host:port nor file:///path", w.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("meeting of %d ranks at %s: rank %d: %w", w.Size, w.Address, w.Rank, err)
	}
	return table, nil
}

// others are all ranks but 0.
func others(size int) []int {
	ranks := make([]int, size-1)
	for i := range ranks {
		ranks[i] = i + 1
	}
	return ranks
}

// absent is the error of a meeting whose context ended before the ranks named came.
func absent(ctx context.Context, missing []int, besides string) error {
	if besides != "" {
		besides = " (" + besides + ")"
	}
	return fmt.Errorf("%s did not come%s: %w", named(missing), besides, context.Cause(ctx))
}

// named is ranks as a message has them.
func named(missing []int) string {
	text := make([]string, 0, len(missing))
	for i, r := range missing {
		if i == 32 {
			text = append(text, fmt.Sprintf("and %d more", len(missing)-i))
			break
		}
		text = append(text, fmt.Sprint(r))
	}
	if len(missing) == 1 {
		return "rank " + text[0]
	}
	return "ranks " + strings.Join(text, ", ")
}
